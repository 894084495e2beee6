package storage

import (
	"fmt"
	"strconv"
	"strings"
)

// OrderKind says how a new key compares with the keys before it.
type OrderKind uint8

const (
	// Increasing: every key is larger than all before it (of its stream).
	Increasing OrderKind = iota
	// Random: a new key falls anywhere (uuid4, a hash).
	Random
	// TimeOrdered: keys grow with time but J of them at a time are unordered
	// (UUIDv7 with J ids in a millisecond, or J producers in flight).
	TimeOrdered
)

// Order is the arrival order of the keys of one index. The zero value is
// strictly increasing.
type Order struct {
	Kind OrderKind
	// J is the number of unordered ids in flight, for TimeOrdered; 1 is
	// Increasing.
	J int
	// Streams is K, the number of interleaved key ranges, each with this order
	// (consumers in one primary key); 0 or 1 = one.
	Streams int
}

// ParseOrder reads "increasing", "uuid4" (or "random"), "uuid7:J", "streams:K",
// or two of them joined by a comma: "streams:8,uuid7:100".
func ParseOrder(s string) (Order, error) {
	var o Order
	seen := map[string]bool{}
	for _, part := range strings.Split(s, ",") {
		name, arg, hasArg := strings.Cut(strings.TrimSpace(part), ":")
		n := 0
		if hasArg {
			v, err := strconv.Atoi(arg)
			if err != nil || v < 1 || v > 1<<30 {
				return Order{}, fmt.Errorf("key order %q: %q is not a whole number from 1 to 2^30", s, arg)
			}
			n = v
		}
		group := "kind"
		switch {
		case name == "increasing" && !hasArg:
			o.Kind = Increasing
		case (name == "uuid4" || name == "random") && !hasArg:
			o.Kind = Random
		case name == "uuid7" && hasArg:
			if o.Kind, o.J = TimeOrdered, n; n == 1 {
				o.Kind, o.J = Increasing, 0
			}
		case name == "streams" && hasArg:
			group, o.Streams = "streams", n
		default:
			return Order{}, fmt.Errorf("key order %q: found %q, expected increasing, uuid4, uuid7:J or streams:K", s, part)
		}
		if seen[group] {
			return Order{}, fmt.Errorf("key order %q: %q contradicts what stands before it", s, part)
		}
		seen[group] = true
	}
	return o, nil
}

// String prints what ParseOrder reads.
func (o Order) String() string {
	kind := "increasing"
	switch {
	case o.Kind == Random:
		kind = "uuid4"
	case o.Kind == TimeOrdered && o.J > 1:
		kind = fmt.Sprintf("uuid7:%d", o.J)
	}
	if o.Streams <= 1 {
		return kind
	}
	if kind == "increasing" {
		return fmt.Sprintf("streams:%d", o.Streams)
	}
	return fmt.Sprintf("streams:%d,%s", o.Streams, kind)
}

// streams returns K, at least 1.
func (o Order) streams() int { return max(1, o.Streams) }

// sorted says that all keys of the index arrive in increasing order.
func (o Order) sorted() bool {
	return o.streams() == 1 && (o.Kind == Increasing || (o.Kind == TimeOrdered && o.J <= 1))
}

// splitmix64 is a counter-based generator: same seed, same keys, on every
// machine. Source: Steele, Lea, Flood 2014, "Fast splittable pseudorandom number
// generators".
func splitmix64(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb
	return x ^ (x >> 31)
}

// keyStream produces the keys of rows 0, 1, 2... of an order as 64-bit numbers
// that compare like the keys: the stream in the top bits, then time and noise.
type keyStream struct {
	o    Order
	seed uint64
	bits uint // bits of the stream number
}

func newKeyStream(o Order, seed uint64) keyStream {
	b := uint(0)
	for 1<<b < o.streams() {
		b++
	}
	return keyStream{o: o, seed: splitmix64(seed), bits: b}
}

// key returns the key of row i.
func (s keyStream) key(i uint64) uint64 {
	var k uint64
	r := splitmix64(s.seed ^ i*0x9e3779b97f4a7c15)
	switch {
	case s.o.Kind == Random:
		k = r
	case s.o.Kind == TimeOrdered && s.o.J > 1:
		k = (i/uint64(s.o.J))<<24 | r>>40
	default:
		k = i << 24
	}
	if s.bits == 0 {
		return k
	}
	st := splitmix64(s.seed+0x5bf03635^i) % uint64(s.o.streams())
	if s.o.Kind == Random {
		k >>= s.bits
	}
	return st<<(64-s.bits) | k&(1<<(64-s.bits)-1)
}

// stream returns the stream a key belongs to.
func (s keyStream) stream(key uint64) uint64 {
	if s.bits == 0 {
		return 0
	}
	return key >> (64 - s.bits)
}
