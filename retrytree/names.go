package retrytree

import "hash/maphash"

// names finds services by name. It is a hash table of node numbers: for graphs of
// 10^5 services it stays in the cache where a map of strings does not, and
// building the graph is most of the work of the worst case.
type names struct {
	seed   maphash.Seed
	slots  []int32  // number of the service + 1; 0: free; a power of two long
	hashes []uint32 // by number
	list   []string // by number
}

func newNames(n int) *names {
	size := 16
	for size < 2*n {
		size *= 2
	}
	return &names{seed: maphash.MakeSeed(), slots: make([]int32, size), hashes: make([]uint32, 0, n), list: make([]string, 0, n)}
}

// find returns the number of a service.
func (t *names) find(name string) (int32, bool) {
	i, _ := t.probe(name)
	return t.slots[i] - 1, t.slots[i] != 0
}

// probe returns the slot of a name, or the free one where it belongs.
func (t *names) probe(name string) (slot, hash uint32) {
	hash = uint32(maphash.String(t.seed, name))
	mask := uint32(len(t.slots) - 1)
	for slot = hash & mask; ; slot = (slot + 1) & mask {
		n := t.slots[slot]
		if n == 0 || t.hashes[n-1] == hash && t.list[n-1] == name {
			return slot, hash
		}
	}
}

// add numbers a new name; it returns the number, and false for a name that has
// one already.
func (t *names) add(name string) (int32, bool) {
	if 2*len(t.list) >= len(t.slots) {
		t.grow()
	}
	slot, hash := t.probe(name)
	if n := t.slots[slot]; n != 0 {
		return n - 1, false
	}
	t.list, t.hashes = append(t.list, name), append(t.hashes, hash)
	t.slots[slot] = int32(len(t.list))
	return int32(len(t.list)) - 1, true
}

func (t *names) grow() {
	t.slots = make([]int32, 2*len(t.slots))
	mask := uint32(len(t.slots) - 1)
	for n, hash := range t.hashes {
		slot := hash & mask
		for t.slots[slot] != 0 {
			slot = (slot + 1) & mask
		}
		t.slots[slot] = int32(n) + 1
	}
}
