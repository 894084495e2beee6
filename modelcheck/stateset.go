package modelcheck

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/relplan/relplan/internal/hugemem"
)

// The state set is an open-addressing table of 64-bit slots with linear
// probing. Slot 0 means empty. Two forms share it:
//
//   - hashed: a slot is the mixed word itself. For states of one word the mix is
//     a bijection, so the set is exact; for longer states in compact mode it is
//     a fingerprint. States have no numbers then.
//   - indexed: a slot is the upper half of the fingerprint (its last bit set, so
//     that no slot is 0) and the number of the state, whose words lie in the
//     queue and are compared in full. Exact.
//
// Insertion is lock-free. The table grows under a lock that inserters hold for
// reading one batch at a time.
type stateSet struct {
	mu      sync.RWMutex
	slots   []uint64
	size    atomic.Int64 // len(slots), for readers without the lock
	used    atomic.Int64
	limit   int64       // used beyond this makes the table grow
	margin  int64       // slots that batches in flight may take beyond limit
	zero    atomic.Bool // the state 0, whose mix is the mark of an empty slot
	touched atomic.Bool
	queue   *queue // the states in order of discovery
	indexed bool
	compact bool
	room    func(bytes int64) bool // claims a size for the table; 0: is there room for a batch
	workers int
}

// tagMask covers the part of an indexed slot that comes from the fingerprint.
// The home of a state follows from the tag alone (its last bit taken as set), so
// that a table can be copied into a larger one without its states.
const tagMask = 0xffffffff_00000000

// batchSize is the number of probes between two looks at the fill of the table.
const batchSize = 128

func newStateSet(q *queue, compact, numbered bool, workers int, room func(int64) bool) *stateSet {
	t := &stateSet{queue: q, compact: compact, indexed: (q.words > 1 || numbered) && !compact, room: room, workers: workers}
	t.margin = int64(batchSize * workers)
	t.setSlots(hugemem.Alloc(int(max(1<<13, 8*t.margin))))
	return t
}

func (t *stateSet) setSlots(s []uint64) {
	t.slots = s
	t.size.Store(int64(len(s)))
	t.limit = int64(len(s))/4*3 - t.margin
}

func (t *stateSet) bytes() int64 { return t.size.Load() * 8 }

// close gives the memory back. The set must not be used any more.
func (t *stateSet) close() {
	hugemem.Free(t.slots)
	t.slots = nil
}

// mix is a bijection of 64-bit words that spreads every bit (the finalizer of
// MurmurHash3 with the constants of SplitMix64, variant 13 by David Stafford).
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// fingerprint spreads the words of a state over 64 bits.
func fingerprint(s []uint64) uint64 {
	h := mix(s[0])
	for _, w := range s[1:] {
		h = mix(h*0x9e3779b97f4a7c15 + w ^ bits.RotateLeft64(w, 32)*0xff51afd7ed558ccd)
	}
	return h
}

// enter waits for room for one batch and returns with the read lock held; false
// when the memory limit does not allow the table to grow.
func (t *stateSet) enter() bool {
	for {
		t.mu.RLock()
		fits := t.room(0)
		if fits && t.used.Load() <= t.limit {
			return true
		}
		t.mu.RUnlock()
		if !fits || !t.grow() {
			return false
		}
	}
}

// addHashed inserts mixed words and appends the positions of the new ones to
// fresh. The caller holds the read lock of enter for at most batchSize words.
func (t *stateSet) addHashed(hs []uint64, base int, fresh []int32) []int32 {
	slots := t.slots
	n := uint64(len(slots))
	var touch uint64
	for _, h := range hs { // start all cache misses before waiting for the first
		i, _ := bits.Mul64(h, n)
		touch += atomic.LoadUint64(&slots[i])
	}
	if touch == 1 { // never in practice; keeps the loads from being dropped
		t.touched.Store(true)
	}
	before := len(fresh)
	for k, h := range hs {
		if h == 0 {
			if t.zero.CompareAndSwap(false, true) {
				fresh = append(fresh, int32(base+k))
			}
			continue
		}
		i, _ := bits.Mul64(h, n)
		for {
			v := atomic.LoadUint64(&slots[i])
			if v == h {
				break
			}
			if v == 0 {
				if t.take(&slots[i], h) {
					fresh = append(fresh, int32(base+k))
					break
				}
				continue // somebody else took the slot: look again
			}
			if i++; i == n {
				i = 0
			}
		}
	}
	if d := len(fresh) - before; d > 0 {
		t.used.Add(int64(d))
	}
	return fresh
}

// take puts v into an empty slot; false when another worker was faster. A locked
// instruction would hold up the loads behind it, so a single worker does without.
func (t *stateSet) take(slot *uint64, v uint64) bool {
	if t.workers == 1 {
		*slot = v
		return true
	}
	return atomic.CompareAndSwapUint64(slot, 0, v)
}

// addIndexed inserts states by fingerprint; states[i*w:] are the words of hs[i].
// New states are put into the worker's end of the queue here, because a slot
// must not be seen before its state can be read. ids receives the number of every
// state.
func (t *stateSet) addIndexed(hs, states []uint64, ids []uint32, out *writer, fresh []int32) []int32 {
	slots, w := t.slots, t.queue.words
	n := uint64(len(slots))
	var touch uint64
	for _, h := range hs {
		i, _ := bits.Mul64(h&tagMask|1<<32, n)
		touch += atomic.LoadUint64(&slots[i])
	}
	if touch == 1 { // never in practice; keeps the loads from being dropped
		t.touched.Store(true)
	}
	before := len(fresh)
	for k, h := range hs {
		s := states[k*w:][:w]
		tag := h&tagMask | 1<<32
		i, _ := bits.Mul64(h&tagMask|1<<32, n)
		written := false
		var id uint32
		for {
			v := atomic.LoadUint64(&slots[i])
			if v == 0 {
				if !written {
					id, written = out.push(s), true
				}
				if t.take(&slots[i], tag|uint64(id)) {
					fresh = append(fresh, int32(k))
					ids[k] = id
					written = false
					break
				}
				continue
			}
			if v&tagMask == tag && t.queue.equal(uint32(v), s) {
				ids[k] = uint32(v)
				break
			}
			if i++; i == n {
				i = 0
			}
		}
		if written {
			out.unpush()
		}
	}
	if d := len(fresh) - before; d > 0 {
		t.used.Add(int64(d))
	}
	return fresh
}

// lookup finds the number of a state in an indexed set.
func (t *stateSet) lookup(s []uint64) (id uint32, ok bool) {
	h := fingerprint(s)
	tag := h&tagMask | 1<<32
	n := uint64(len(t.slots))
	i, _ := bits.Mul64(h&tagMask|1<<32, n)
	for {
		v := t.slots[i]
		if v == 0 {
			return 0, false
		}
		if v&tagMask == tag && t.queue.equal(uint32(v), s) {
			return uint32(v), true
		}
		if i++; i == n {
			i = 0
		}
	}
}

// grow copies the table into a larger one. A slot's home follows from its value
// and is monotone in it, so both tables are walked once from end to end, by each
// worker in its own part.
func (t *stateSet) grow() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.used.Load() <= t.limit {
		return true // somebody else did it
	}
	old := t.slots
	size := 2 * len(old)
	if size*8 < 1<<24 {
		size = 4 * len(old)
	}
	for !t.room(int64(size) * 8) {
		size -= size / 8
		if size < len(old)+len(old)/8 {
			return false
		}
	}
	t.setSlots(hugemem.Alloc(size))
	parts := t.workers
	if len(old) < 1<<16 {
		parts = 1
	}
	rest := make([][]uint64, parts)
	var wg sync.WaitGroup
	for p := range parts {
		wg.Go(func() { rest[p] = t.refill(old, p, parts) })
	}
	wg.Wait()
	hugemem.Free(old)
	for _, r := range rest {
		for _, v := range r {
			t.place(v)
		}
	}
	return true
}

// home is the first slot of a value.
func (t *stateSet) home(v uint64) uint64 {
	if t.indexed {
		v &= tagMask
	}
	i, _ := bits.Mul64(v, uint64(len(t.slots)))
	return i
}

// refill moves part p of the old table into part p of the new one and gives the
// values that do not belong or do not fit there. The old slots are given back as
// the walk passes them.
func (t *stateSet) refill(old []uint64, p, parts int) (rest []uint64) {
	const piece = 1 << 18
	from, to := len(old)/parts*p, len(old)/parts*(p+1)
	lo, hi := uint64(len(t.slots)/parts*p), uint64(len(t.slots)/parts*(p+1))
	if p == parts-1 {
		to, hi = len(old), uint64(len(t.slots))
	}
	for ; from < to; from += piece {
		run := old[from:min(from+piece, to)]
		for _, v := range run {
			if v == 0 {
				continue
			}
			i := t.home(v)
			if i < lo || i >= hi {
				rest = append(rest, v)
				continue
			}
			for i < hi && t.slots[i] != 0 {
				i++
			}
			if i == hi {
				rest = append(rest, v)
				continue
			}
			t.slots[i] = v
		}
		hugemem.Drop(run)
	}
	return rest
}

// place puts a value that is not in the table yet; the caller is alone.
func (t *stateSet) place(v uint64) {
	i := t.home(v)
	for t.slots[i] != 0 {
		if i++; i == uint64(len(t.slots)) {
			i = 0
		}
	}
	t.slots[i] = v
}
