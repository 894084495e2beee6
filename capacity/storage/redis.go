package storage

import (
	"fmt"
	"math"
)

// RedisOptions describe what a row is in Redis.
type RedisOptions struct {
	// Structure: "string" (a key a row), "hash" (a field a row), "set", "zset"
	// (a member a row) or "stream" (an entry a row). "" = string.
	Structure string
	// Key is the bytes of the key, field, member or stream value that
	// identifies the row; Value the bytes of its value.
	Key, Value float64
	// TTL: keys expire (strings only).
	TTL bool
	// Per is the number of rows in one hash, set, zset; 0 = all in one.
	Per int64
	// Quantum of jemalloc: 8 for the bundled build (official images), 16 for the
	// system jemalloc of Debian and Ubuntu packages. 0 = 8.
	Quantum int
	// Fields are the names of stream fields, for their lengths; nil = two names
	// of two bytes.
	Fields []string
}

// Redis 7.0 constants (src/dict.h, sds.h, server.h, listpack.c, t_stream.c).
const (
	redisEntry       = 24 // dictEntry
	redisObject      = 16 // robj
	redisEmbed       = 44 // OBJ_ENCODING_EMBSTR_SIZE_LIMIT
	redisListEntries = 512
	redisListValue   = 64
	redisZsetEntries = 128
	redisStreamNode  = 4096
	redisStreamMax   = 100
)

// JemallocSize returns the bytes jemalloc hands out for n bytes with a quantum
// of 8 or 16: classes of the quantum up to 8 quanta (16: 128), then four classes
// a doubling. Source: jemalloc manual, "SIZE CLASSES".
func JemallocSize(n int, quantum int) int {
	switch {
	case n <= 0:
		return 0
	case n <= 8:
		return 8
	case n <= 8*quantum:
		return alignTo(n, quantum)
	}
	group := 1
	for group < n {
		group <<= 1
	}
	return alignTo(n, max(quantum, group/8))
}

// sds returns the allocation request of a simple dynamic string.
func sds(n int) int {
	switch {
	case n < 32:
		return n + 2
	case n < 256:
		return n + 4
	case n < 65536:
		return n + 6
	default:
		return n + 10
	}
}

// listpackEntry returns the bytes of a string in a listpack.
func listpackEntry(n int) int {
	enc := 1
	if n >= 64 {
		enc = 2
	}
	if n >= 4096 {
		enc = 5
	}
	back := 1
	if n+enc > 127 {
		back = 2
	}
	if n+enc > 16383 {
		back = 3
	}
	return n + enc + back
}

type redisSizer struct {
	o RedisOptions
	n float64
	s *Size
}

// estimateRedis sizes used_memory over an empty server.
func estimateRedis(in Input) (Size, error) {
	o := RedisOptions{}
	if in.Redis != nil {
		o = *in.Redis
	}
	if o.Quantum == 0 {
		o.Quantum = 8
	}
	if o.Quantum != 8 && o.Quantum != 16 {
		return Size{}, fmt.Errorf("allocator quantum %d: jemalloc has 8 (bundled) or 16 (system)", o.Quantum)
	}
	if !(o.Key > 0) || o.Value < 0 {
		return Size{}, fmt.Errorf("redis needs the length of the key in bytes (and of the value)")
	}
	r := &redisSizer{o: o, n: float64(in.Rows), s: &Size{Basis: Arithmetic}}
	if in.Rows == 0 {
		return *r.s, nil
	}
	var err error
	switch o.Structure {
	case "", "string":
		r.strings()
	case "hash", "set", "zset":
		r.collections()
	case "stream":
		r.stream()
	default:
		err = fmt.Errorf("redis structure %q, known: string, hash, set, zset, stream", o.Structure)
	}
	r.s.Total = r.s.Table
	return *r.s, err
}

// je rounds a request for a possibly fractional length: the mean of the two
// neighbouring lengths.
func (r *redisSizer) je(request func(int) int, length float64) float64 {
	lo := math.Floor(length)
	f := length - lo
	a := float64(JemallocSize(request(int(lo)), r.o.Quantum))
	if f == 0 {
		return a
	}
	return a*(1-f) + f*float64(JemallocSize(request(int(lo)+1), r.o.Quantum))
}

func (r *redisSizer) fixed(n int) float64 { return float64(JemallocSize(n, r.o.Quantum)) }

// Rehashing moves one non-empty bucket (63 % of the old table at load 1) a dict
// operation, so it ends after this growth beyond the power of two: SADD does one
// operation, HSET and ZADD look up first, the keyspace is also rehashed by the
// cron (dict.c, dictRehash).
const (
	rehashKeys = 1.25
	rehashPair = 1.33
	rehashSet  = 1.65
)

// buckets returns the bytes of a hash table of n entries and the bytes of the
// old table while it is being rehashed, up to n = until x a power of two.
func buckets(n, until float64) (table, old float64) {
	size := 4.0
	for size < n {
		size *= 2
	}
	if n > size/2 && n < size/2*until && size > 4 {
		old = size / 2 * 8
	}
	return size * 8, old
}

const srcRedis = "jemalloc size class of the structure (dict.h, sds.h, object.c)"

// put adds bytes a row.
func (r *redisSizer) put(name string, perRow float64, src string) {
	r.s.Table += int64(math.Round(perRow * r.n))
	r.s.term(name, perRow, "B/row", src)
}

// dict adds the bucket arrays of tables of size n each, count of them.
func (r *redisSizer) dict(name string, n, count, until float64) {
	table, old := buckets(n, until)
	r.put(name, table*count/r.n, "8 B x next power of two (dict.c); both tables while rehashing")
	r.s.High += int64(old * count)
}

func (r *redisSizer) strings() {
	o := r.o
	r.put("dictEntry", r.fixed(redisEntry), srcRedis)
	r.put("key", r.je(sds, o.Key), srcRedis)
	if o.Value <= redisEmbed {
		r.put("value (embstr)", r.je(func(n int) int { return redisObject + 3 + n + 1 }, o.Value), srcRedis)
	} else {
		r.put("value", r.fixed(redisObject)+r.je(sds, o.Value), srcRedis)
	}
	r.dict("buckets", r.n, 1, rehashKeys)
	if o.TTL {
		r.put("expires dictEntry", r.fixed(redisEntry), srcRedis)
		r.dict("expires buckets", r.n, 1, rehashKeys)
	}
	r.rehashRange()
}

// rehashRange turns the bytes of old tables collected in High into a bound.
func (r *redisSizer) rehashRange() {
	if r.s.High > 0 {
		r.s.High += r.s.Table + r.s.Table/100
		r.s.Notes = append(r.s.Notes, "just above a power of two: old and new hash tables coexist until the rehash ends; the upper bound has both")
	}
}

func (r *redisSizer) collections() {
	o := r.o
	per := float64(o.Per)
	if per <= 0 || per > r.n {
		per = r.n
	}
	count := math.Ceil(r.n / per)
	if bytes, ok := r.listpack(per); ok {
		r.put("listpack", float64(JemallocSize(bytes, o.Quantum))/per, "7 B + entries with 1-2 B length and 1-2 B back length (listpack.c)")
	} else {
		r.put("dictEntry", r.fixed(redisEntry), srcRedis)
		r.put("member", r.je(sds, o.Key), srcRedis)
		switch o.Structure {
		case "hash":
			r.put("value", r.je(sds, o.Value), srcRedis)
		case "zset":
			node, p := 0.0, 0.75
			for level := 1; level <= 32; level++ {
				node += p * r.fixed(24+16*level)
				p /= 4
			}
			r.put("skiplist node", node, "24 + 16 B a level, levels with probability 1/4 (t_zset.c)")
		}
		until := rehashPair
		if o.Structure == "set" {
			until = rehashSet
		}
		r.dict("buckets", per, count, until)
	}
	top := r.fixed(redisEntry) + r.fixed(sds(10)) + r.fixed(redisObject)
	r.put("outer key", top*count/r.n, "dictEntry, key, object of each collection")
	r.dict("outer buckets", count, 1, rehashKeys)
	r.rehashRange()
}

// listpack returns the bytes of a compact collection, if it is one.
func (r *redisSizer) listpack(per float64) (int, bool) {
	k, v := int(math.Round(r.o.Key)), int(math.Round(r.o.Value))
	if k > redisListValue || v > redisListValue {
		return 0, false
	}
	switch {
	case r.o.Structure == "hash" && per <= redisListEntries:
		return 7 + int(per)*(listpackEntry(k)+listpackEntry(v)), true
	case r.o.Structure == "zset" && per <= redisZsetEntries:
		return 7 + int(per)*(listpackEntry(k)+10), true // 64-bit integer score: 9 + 1 B
	}
	return 0, false
}

func (r *redisSizer) stream() {
	o := r.o
	fields := o.Fields
	if fields == nil {
		fields = []string{"id", "va"}
	}
	k, v := int(math.Round(o.Key)), int(math.Round(o.Value))
	entry := 2 + 2 + 2 + 2 + listpackEntry(k) // flags, ms and sequence difference, back count, first value
	if len(fields) > 1 {
		entry += listpackEntry(v)
	}
	head := 7 + 2 + 2 + 2 + 2
	for _, f := range fields {
		head += listpackEntry(len(f))
	}
	n := max(1, min(redisStreamMax, (redisStreamNode-head)/entry))
	node := JemallocSize(head+n*entry, o.Quantum)
	r.put("listpack node", float64(node)/float64(n), "nodes of 4,096 B or 100 entries (t_stream.c)")
	r.put("radix tree", 32.0/float64(n), "about 32 B a node (rax.c)")
	r.s.spread(0.02, 0.02)
}
