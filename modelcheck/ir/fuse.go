package ir

// fuse merges neighbouring ops that only change one word, depending on few bits
// of it, into one table: sequences of constant and table writes, and Ifs
// between them.
func fuse(ops []op, words int) []op {
	var out []op
	for i := 0; i < len(ops); {
		n := 1
		best := ops[i]
		for j := i + 1; j <= len(ops); j++ {
			o, ok := fused(ops[i:j], words)
			if !ok {
				if j > i+1 {
					break
				}
				continue
			}
			best, n = o, j-i
		}
		out = append(out, best)
		i += n
	}
	return joinMasks(out)
}

// joinMasks merges constant writes to one word that nothing separates.
func joinMasks(ops []op) []op {
	var out []op
next:
	for _, o := range ops {
		if o.kind == oMask {
			for i := len(out) - 1; i >= 0 && out[i].kind == oMask; i-- {
				if out[i].word == o.word {
					out[i].write = out[i].write.then(o.write)
					continue next
				}
			}
		}
		out = append(out, o)
	}
	return out
}

// flattenRare turns rare Ifs into skips, so that a body is one list.
func flattenRare(ops []op) []op {
	var out []op
	for _, o := range ops {
		if o.kind != oMore || !o.more.rare {
			out = append(out, o)
			continue
		}
		then, c := flattenRare(o.more.then), o.more.cond[0]
		out = append(out, op{kind: oSkip, word: c.word, src: uint16(len(then)), write: write{c.mask, c.val}})
		out = append(out, then...)
	}
	return out
}

// footprint is what a list of ops reads and where it writes.
type footprint struct {
	lo, hi uint // bits read
	src    int  // word read, -1 none
	dst    int  // word written, -1 none
	cut    *CutInfo
	ok     bool
}

func (f *footprint) reads(word int, lo, hi uint) {
	f.ok = f.ok && (f.src < 0 || f.src == word)
	f.src = word
	f.lo, f.hi = min(f.lo, lo), max(f.hi, hi)
}

func (f *footprint) writes(word int) {
	f.ok = f.ok && (f.dst < 0 || f.dst == word)
	f.dst = word
}

func (f *footprint) cuts(c *CutInfo) {
	if c != nil {
		f.ok = f.ok && (f.cut == nil || f.cut == c)
		f.cut = c
	}
}

func (f *footprint) add(ops []op) {
	for i := range ops {
		o := &ops[i]
		switch {
		case o.kind == oMask:
			f.writes(int(o.word))
		case o.kind == oTable:
			f.reads(int(o.src), uint(o.shift), uint(o.shift)+width(o.wmask))
			f.writes(int(o.word))
			f.cuts(o.cut)
		case o.more.kind == mIf && !o.more.rare:
			f.tests(o.more.cond)
			f.add(o.more.then)
			f.add(o.more.other)
		default:
			f.ok = false
		}
	}
}

func (f *footprint) tests(ts []test) {
	for i := range ts {
		t := &ts[i]
		switch t.kind {
		case tEq, tNe:
			lo := uint(0)
			for t.mask>>lo&1 == 0 {
				lo++
			}
			f.reads(int(t.word), lo, lo+width(t.mask>>lo))
		case tBits, tTable:
			f.reads(int(t.word), uint(t.shift), uint(t.shift)+width(t.mask))
		default:
			f.ok = false
		}
	}
}

// width is the number of bits up to the highest set one.
func width(mask uint64) uint {
	n := uint(0)
	for ; mask != 0; mask >>= 1 {
		n++
	}
	return n
}

// fused simulates the ops for every content of what they read.
func fused(ops []op, words int) (op, bool) {
	f := footprint{lo: 64, src: -1, dst: -1, ok: true}
	f.add(ops)
	if !f.ok || f.dst < 0 || f.src >= 0 && f.hi-f.lo > tableWindow {
		return op{}, false
	}
	if f.src < 0 {
		w := write{}
		for _, o := range ops {
			w = w.then(o.write)
		}
		return op{kind: oMask, word: uint16(f.dst), write: w}, true
	}
	o := op{kind: oTable, word: uint16(f.dst), src: uint16(f.src), shift: uint8(f.lo), wmask: 1<<(f.hi-f.lo) - 1, cut: f.cut}
	o.table = make([]write, o.wmask+1)
	v := make([]uint64, words)
	for raw := range o.table {
		clear(v)
		v[f.src] = uint64(raw) << f.lo
		w, ok := simulate(ops, v)
		if !ok {
			w = noWrite
		}
		o.table[raw] = w
	}
	return o, true
}

// simulate runs ops on v and gives the sum of their writes.
func simulate(ops []op, v []uint64) (sum write, ok bool) {
	for i := range ops {
		o := &ops[i]
		w := o.write
		switch o.kind {
		case oTable:
			w = o.table[v[o.src]>>o.shift&o.wmask]
			if w == noWrite {
				return sum, false
			}
		case oMore:
			branch := o.more.other
			if holdAll(o.more.cond, v, 0) {
				branch = o.more.then
			}
			if w, ok = simulate(branch, v); !ok {
				return sum, false
			}
			sum = sum.then(w)
			continue // the branch has changed v already
		}
		v[o.word] = v[o.word]&^w.clear | w.set
		sum = sum.then(w)
	}
	return sum, true
}
