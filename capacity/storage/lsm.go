package storage

import (
	"fmt"
	"math"
)

// LSMOptions describe an entry of a Pebble or RocksDB store.
type LSMOptions struct {
	Key, Value float64
	// Prefix is the bytes at the start of all keys that are the same.
	Prefix float64
	// Text: the rest of the key is hexadecimal text, not binary.
	Text bool
	// Compression is "none", "snappy" or "zstd"; "" = snappy.
	Compression string
	// BloomBits a key; 0 = 10.
	BloomBits float64
	// Incompressible share of the value, 0..1; for zstd.
	Incompressible float64
}

// LSM table constants (Pebble and LevelDB block format, defaults).
const (
	lsmTrailer   = 8 // sequence number and kind
	lsmVarints   = 3
	lsmRestart   = 16
	lsmBlock     = 4096
	lsmMinSaving = 0.125 // a block is stored compressed only if it saves 1/8
)

func estimateLSM(in Input) (Size, error) {
	o := LSMOptions{}
	if in.LSM != nil {
		o = *in.LSM
	}
	if o.BloomBits == 0 {
		o.BloomBits = 10
	}
	if !(o.Key > 0) || o.Value < 0 || o.Prefix < 0 || o.Prefix > o.Key {
		return Size{}, fmt.Errorf("lsm needs the length of the key in bytes, of the value, and a common prefix no longer than the key")
	}
	s := Size{Basis: Measured}
	n := math.Max(1, float64(in.Rows))
	shared := math.Min(o.Key, o.Prefix+lsmShared(o, in.Order, n))
	entry := lsmVarints + (o.Key - shared) + lsmTrailer + o.Value + (shared+4)/lsmRestart
	index := (o.Key + lsmTrailer + 6) * entry / lsmBlock
	bloom := o.BloomBits / 8
	raw := entry + index + bloom
	ratio, err := lsmCompression(o, entry, shared)
	if err != nil {
		return Size{}, err
	}
	per := entry*ratio + index + bloom
	s.Table = int64(math.Round(per * float64(in.Rows)))
	s.Total = s.Table
	s.term("key bytes shared with the neighbour", shared, "B", "common prefix + log(n) for random, more for time-ordered keys; prefix compression, restart each 16")
	s.term("entry", entry, "B", "3 varints + rest of the key + 8-byte trailer + value + restart share (block format)")
	s.term("index and filter", index+bloom, "B", "separator a 4 KiB block; bits a key / 8")
	s.term("compression ratio", ratio, "", "blocks are kept compressed only if they save 1/8; ratio from measured Pebble 1.1.5 runs")
	s.term("uncompressed", raw, "B/row", "entry + index + filter")
	s.spread(0.06, 0.22)
	s.Notes = append(s.Notes,
		"LSM: size after full compaction; the upper bound has 15 % of not yet compacted data (leveled), deletes add tombstones until compaction",
		"write amplification: 0 for time-ordered keys (trivial moves), 2.7-3.8 measured for random keys at 500k rows, 10-30 at scale")
	return s, nil
}

// lsmShared is the expected common prefix of neighbours beyond the constant one.
func lsmShared(o LSMOptions, ord Order, n float64) float64 {
	perSymbol := 8.0
	if o.Text {
		perSymbol = 4
	}
	if ord.Kind == Random {
		return math.Log2(n)/perSymbol + 0.3
	}
	// the time part: 48 bits and a version, then the unordered rest of J ids
	time := 52 / perSymbol
	if o.Text {
		time += 2 // hyphens
	}
	return time + math.Log2(math.Max(1, float64(ord.J)))/perSymbol
}

func lsmCompression(o LSMOptions, entry, shared float64) (float64, error) {
	saved := 0.0
	switch o.Compression {
	case "none":
		return 1, nil
	case "", "snappy":
		saved = 5 // repeated zeros of the trailer
		if o.Value == 0 {
			saved = 6 // and of the value lengths
		}
	case "zstd":
		saved = 6 + (shared+4)/lsmRestart
		if o.Text {
			saved += 0.48*(o.Key-shared) + 0.48*o.Value*(1-o.Incompressible)
		} else {
			saved += 0.3 * o.Value * (1 - o.Incompressible)
		}
	default:
		return 0, fmt.Errorf("lsm compression %q, known: none, snappy, zstd", o.Compression)
	}
	if saved/entry < lsmMinSaving {
		return 1, nil
	}
	return 1 - saved/entry, nil
}
