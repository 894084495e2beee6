package modelcheck

// Canonical gives the representative of a state, for tests.
func Canonical(sh *Shape, st []uint64) []uint64 {
	y := newSymmetry(sh, nil, false)
	c := append([]uint64(nil), st...)
	y.canonical(c)
	return c
}

// CanonicalWord is the fast form; ok is false when the shape has none.
func CanonicalWord(sh *Shape, st uint64) (rep uint64, ok bool) {
	y := newSymmetry(sh, nil, false)
	if y.word == nil {
		return 0, false
	}
	return y.canonicalWord(st), true
}
