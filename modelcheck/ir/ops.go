package ir

import "math/bits"

// op is one step of a compiled body. Bodies are short lists of ops on the words
// of the successor; what only changes a few bits depending on a few bits is
// fused into one mask or table.
type op struct {
	kind  opKind
	shift uint8  // of the source window
	word  uint16 // of the target
	src   uint16 // word of the source window
	write write  // oMask
	wmask uint64 // of the source window
	table []write
	cut   *CutInfo // reason when the table has no entry
	more  *opMore
}

// write changes bits of one word: word &^ clear | set. No entry of a table has
// clear 0 and set 1.
type write struct{ clear, set uint64 }

var noWrite = write{0, 1}

// then is w followed by x.
func (w write) then(x write) write {
	return write{w.clear | x.clear, w.set&^x.clear | x.set}
}

type opKind uint8

const (
	oMask  opKind = iota // word gets write
	oTable               // word gets table[window]
	oSkip                // the next src ops are for word & write.clear == write.set only
	oMore
)

// opMore is the part of an op that rare kinds need.
type opMore struct {
	kind  moreKind
	cell  *cell
	f     *varInfo
	cells []cell
	at    intFn
	value intFn
	cond  []test
	rare  bool // mIf: one of several, hardly ever true
	then  []op
	other []op
	loc   local
	n     int
	each  [][]op // oPut: body per slot
	used  []test // oPut: slot is in use
	group []*cell
	cut   *CutInfo
	none  *CutInfo // reason for an assignment at no element
}

type moreKind uint8

const (
	mSet      moreKind = iota // cell = value
	mSetAt                    // cells[at] = value
	mIf                       // then or other
	mLoop                     // then for each value of loc
	mLet                      // loc = value
	mPut                      // each[first free slot]
	mPutLoop                  // then with loc = first free slot
	mDrop                     // each[at]
	mFresh                    // cell or cells[at] = unused symbol of group
	mNext                     // cell or cells[at] = largest of group + 1
	mNextSort                 // renumber the ranks of group
	mCut
)

// run applies ops to v and returns the locals as they are then, and the reason
// of a cut or nil.
func run(ops []op, v []uint64, e env) (env, *CutInfo) {
	for i := 0; i < len(ops); i++ {
		o := &ops[i]
		switch o.kind {
		case oMask:
			v[o.word] = v[o.word]&^o.write.clear | o.write.set
		case oSkip:
			if v[o.word]&o.write.clear != o.write.set {
				i += int(o.src)
			}
		case oTable:
			x := o.table[v[o.src]>>o.shift&o.wmask]
			if x == noWrite {
				return e, o.cut
			}
			v[o.word] = v[o.word]&^x.clear | x.set
		default:
			if o.more.kind == mLet {
				e = o.more.loc.set(e, o.more.value(v, e))
				continue
			}
			var cut *CutInfo
			if e, cut = o.more.run(v, e); cut != nil {
				return e, cut
			}
		}
	}
	return e, nil
}

func (o *opMore) run(v []uint64, e env) (env, *CutInfo) {
	switch o.kind {
	case mSet:
		raw, ok := o.f.encode(o.value(v, e))
		if !ok {
			return e, o.cut
		}
		o.cell.write(v, raw)
	case mIf:
		if holdAll(o.cond, v, e) {
			return run(o.then, v, e)
		}
		return run(o.other, v, e)
	case mLoop:
		for i := range o.n {
			var cut *CutInfo
			if e, cut = run(o.then, v, o.loc.set(e, i)); cut != nil {
				return e, cut
			}
		}
	case mSetAt:
		return e, o.setAt(v, e)
	case mPut, mPutLoop:
		return o.put(v, e)
	case mDrop:
		return run(o.each[o.at(v, e)], v, e)
	case mFresh, mNext:
		return e, o.symbol(v, e)
	case mNextSort:
		renumber(o.group, v)
	case mCut:
		return e, o.cut
	}
	return e, nil
}

func (o *opMore) setAt(v []uint64, e env) *CutInfo {
	i := o.at(v, e)
	if i < 0 {
		return o.none
	}
	raw, ok := o.f.encode(o.value(v, e))
	if !ok {
		return o.cut
	}
	o.cells[i].write(v, raw)
	return nil
}

func (o *opMore) put(v []uint64, e env) (env, *CutInfo) {
	for i := range o.used {
		if !o.used[i].holds(v, e) {
			if o.kind == mPut {
				return run(o.each[i], v, e)
			}
			return run(o.then, v, o.loc.set(e, i))
		}
	}
	return e, o.cut
}

// symbol stores the least symbol, or the rank above all, that no cell of the
// group holds.
func (o *opMore) symbol(v []uint64, e env) *CutInfo {
	c := o.cell
	if c == nil {
		i := o.at(v, e)
		if i < 0 {
			return o.none
		}
		c = &o.cells[i]
	}
	raw := uint64(0)
	if o.kind == mNext {
		for _, d := range o.group {
			if x := v[d.word] >> d.shift & d.mask; x < d.info.none {
				raw = max(raw, x+1)
			}
		}
	} else {
		for raw < o.f.none && holds(o.group, v, raw) {
			raw++
		}
	}
	if raw >= o.f.none {
		return o.cut
	}
	c.write(v, raw)
	return nil
}

func holds(group []*cell, v []uint64, raw uint64) bool {
	for _, d := range group {
		if v[d.word]>>d.shift&d.mask == raw {
			return true
		}
	}
	return false
}

// renumber makes the ranks in the group dense from 0, keeping their order.
func renumber(group []*cell, v []uint64) {
	if group[0].info.none > 64 {
		renumberMany(group, v)
		return
	}
	used := uint64(0)
	for _, c := range group {
		if raw := v[c.word] >> c.shift & c.mask; raw < c.info.none {
			used |= 1 << raw
		}
	}
	if used&(used+1) == 0 {
		return
	}
	for _, c := range group {
		if raw := v[c.word] >> c.shift & c.mask; raw < c.info.none {
			c.write(v, uint64(bits.OnesCount64(used&(1<<raw-1))))
		}
	}
}

// renumberMany does the same for more than 64 ranks: it closes the lowest gap
// until there is none.
func renumberMany(group []*cell, v []uint64) {
	for next := uint64(0); ; next++ {
		least, found := uint64(0), false
		for _, c := range group {
			raw := v[c.word] >> c.shift & c.mask
			if raw >= next && raw < c.info.none && (!found || raw < least) {
				least, found = raw, true
			}
		}
		if !found {
			return
		}
		for _, c := range group {
			if v[c.word]>>c.shift&c.mask == least {
				c.write(v, next)
			}
		}
	}
}
