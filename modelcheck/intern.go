package modelcheck

// interned numbers states in the order of their arrival: the single-threaded
// state set of the searches for histories.
type interned struct {
	width int
	words []uint64 // states by number
	slots []int32  // number+1, open addressing
	n     int
}

// at gives the words of a state; valid until the next add.
func (t *interned) at(v int32) []uint64 {
	return t.words[int(v)*t.width:][:t.width:t.width]
}

// add gives the number of a state, and whether it is new.
func (t *interned) add(st []uint64) (v int32, fresh bool) {
	if 4*t.n >= 3*len(t.slots) {
		t.grow()
	}
	mask := uint64(len(t.slots) - 1)
	for i := fingerprint(st) & mask; ; i = (i + 1) & mask {
		switch s := t.slots[i]; {
		case s == 0:
			t.n++
			t.slots[i] = int32(t.n)
			t.words = append(t.words, st...)
			return int32(t.n - 1), true
		case equalWords(t.at(s-1), st):
			return s - 1, false
		}
	}
}

func (t *interned) grow() {
	t.slots = make([]int32, max(1024, 2*len(t.slots)))
	mask := uint64(len(t.slots) - 1)
	for v := range t.n {
		i := fingerprint(t.at(int32(v))) & mask
		for t.slots[i] != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = int32(v + 1)
	}
}
