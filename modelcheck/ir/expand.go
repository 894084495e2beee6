package ir

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/relplan/relplan/modelcheck"
)

// dispatch finds the transitions of one element of a family by a few bits of
// the state: program counter, slot in use, indexing variables.
type dispatch struct {
	word  int
	shift uint
	mask  uint64
	pc    *cell // of a process instance, else nil
	keys  []*cell
	ids   []modelcheck.ActionID
	pre   []test // budget of the family
	skip  int    // elements of the family after this one
	base  []atomic.Pointer[row]
	rows  []atomic.Pointer[row] // specialised, by the key bits
	heat  []atomic.Uint32       // uses of base rows, by the key bits
}

// row is what may happen: fast for one content of the key bits, slow for one
// program counter.
type row struct {
	fast []fast
	slow []transition
}

// transition is compiled without facts about the state; its body when first
// taken.
type transition struct {
	tests []test
	id    modelcheck.ActionID
	known facts
	body  atomic.Pointer[[]op]
}

// fast is a transition compiled for known key bits, its first test and a body
// of one write inlined.
type fast struct {
	guard testKind // tEq, tNe, tBits, or noGuard
	shift uint8
	gword uint16
	bword uint16
	id    modelcheck.ActionID
	mask  uint64
	val   uint64
	write write
	more  []test
	body  []op // nil if write says it all
}

const noGuard = tFn + 1

// Expand implements modelcheck.Model.
func (m *Model) Expand(s []uint64, x *modelcheck.Sink) {
	for i := 0; i < len(m.dispatch); i++ {
		d := &m.dispatch[i]
		if d.pre != nil && !d.pre[0].holds(s, 0) {
			i += d.skip
			continue
		}
		r := d.rows[s[d.word]>>d.shift&d.mask].Load()
		if r == nil {
			r = m.cold(d, s)
		}
		if len(s) == 1 {
			m.fireWord(r.fast, s, x)
		} else {
			m.fireFast(r.fast, s, x)
		}
		for j := range r.slow {
			if t := &r.slow[j]; holdAll(t.tests, s, 0) {
				m.fire(t, s, x)
			}
		}
	}
}

// fireWord takes the enabled transitions of a row when a state is one word.
func (m *Model) fireWord(ts []fast, s []uint64, x *modelcheck.Sink) {
	w := s[0]
	for j := range ts {
		t := &ts[j]
		switch t.guard {
		case tEq:
			if w&t.mask != t.val {
				continue
			}
		case tNe:
			if w&t.mask == t.val {
				continue
			}
		case tBits:
			if t.val>>(w>>t.shift&t.mask)&1 == 0 {
				continue
			}
		}
		if t.more != nil && !holdAll(t.more, s, 0) {
			continue
		}
		if t.body == nil {
			x.EmitWord(t.id, w&^t.write.clear|t.write.set)
			continue
		}
		n := w
		for i := 0; i < len(t.body); i++ {
			o := &t.body[i]
			switch o.kind {
			case oMask:
				n = n&^o.write.clear | o.write.set
				continue
			case oSkip:
				if n&o.write.clear != o.write.set {
					i += int(o.src)
				}
				continue
			case oTable:
				if c := o.table[n>>o.shift&o.wmask]; c != noWrite {
					n = n&^c.clear | c.set
					continue
				}
			}
			x.Room()[0] = n
			m.finish(t, i, x)
			goto next
		}
		x.EmitWord(t.id, n)
	next:
	}
}

// finish runs the ops of a body from the i-th on.
func (m *Model) finish(t *fast, i int, x *modelcheck.Sink) {
	if _, cut := run(t.body[i:], x.Next, 0); cut != nil {
		x.Cut(t.id, cut.Reason)
		return
	}
	x.Emit(t.id)
}

// fireFast does the same for states of more words.
func (m *Model) fireFast(ts []fast, s []uint64, x *modelcheck.Sink) {
	for j := range ts {
		t := &ts[j]
		w := s[t.gword]
		switch t.guard {
		case tEq:
			if w&t.mask != t.val {
				continue
			}
		case tNe:
			if w&t.mask == t.val {
				continue
			}
		case tBits:
			if t.val>>(w>>t.shift&t.mask)&1 == 0 {
				continue
			}
		}
		if t.more != nil && !holdAll(t.more, s, 0) {
			continue
		}
		next := x.Next
		for k := range next {
			next[k] = s[k]
		}
		if t.body != nil {
			m.finish(t, 0, x)
			continue
		}
		next[t.bword] = next[t.bword]&^t.write.clear | t.write.set
		x.Emit(t.id)
	}
}

// fire takes a transition of a base row.
func (m *Model) fire(t *transition, s []uint64, x *modelcheck.Sink) {
	body := t.body.Load()
	if body == nil {
		body = m.buildBody(t)
	}
	copy(x.Room(), s)
	if _, cut := run(*body, x.Next, 0); cut != nil {
		x.Cut(t.id, cut.Reason)
		return
	}
	x.Emit(t.id)
}

// cold serves a key that has no row of its own yet; when it is used often, it
// gets one.
func (m *Model) cold(d *dispatch, s []uint64) *row {
	key := s[d.word] >> d.shift & d.mask
	if h := &d.heat[key]; h.Load() < m.warm {
		h.Add(1)
		return m.baseRow(d, s)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := d.rows[key].Load(); r != nil {
		return r
	}
	var known facts
	for _, c := range d.keys {
		raw := key >> (c.shift - d.shift) & c.mask
		known = append(known, fact{c, c.info.decode(raw)})
	}
	r := &row{}
	ts := m.transitions(d, known)
	for i := range ts {
		ops, _ := m.compileBody(m.insts[ts[i].id], ts[i].known)
		ops = flattenRare(ops)
		m.share(ops)
		r.fast = append(r.fast, speed(&ts[i], ops))
	}
	d.rows[key].Store(r)
	return r
}

func (m *Model) baseRow(d *dispatch, s []uint64) *row {
	at := uint64(0)
	if d.pc != nil {
		at = s[d.pc.word] >> d.pc.shift & d.pc.mask
	}
	if r := d.base[at].Load(); r != nil {
		return r
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := d.base[at].Load(); r != nil {
		return r
	}
	var known facts
	if d.pc != nil {
		known = facts{{d.pc, d.pc.info.decode(at)}}
	}
	r := &row{slow: m.transitions(d, known)}
	d.base[at].Store(r)
	return r
}

// transitions compiles the guards of what may happen under the facts.
func (m *Model) transitions(d *dispatch, known facts) []transition {
	n := 0
	var ts []transition
	for _, id := range d.ids {
		in := m.insts[id]
		if d.pc != nil {
			if at, _ := known.get(d.pc); at != in.action.At {
				continue
			}
		}
		r := m.resolverFor(in)
		r.known = known
		g := in.guard(r, d.pre != nil)
		if g.isFalse() {
			continue
		}
		r.learn(g)
		ts = append(ts, transition{})
		ts[n].tests, ts[n].id, ts[n].known = m.m.tests(g), id, r.known
		n++
	}
	return ts
}

func (m *Model) buildBody(t *transition) *[]op {
	m.mu.Lock()
	defer m.mu.Unlock()
	if b := t.body.Load(); b != nil {
		return b
	}
	ops, _ := m.compileBody(m.insts[t.id], t.known)
	t.body.Store(&ops)
	return &ops
}

// share makes equal tables one: rows of many keys have the same ones, and what
// is used often should stay in the cache.
func (m *Model) share(ops []op) {
	for i := range ops {
		t := ops[i].table
		if t == nil {
			continue
		}
		var b []byte
		for _, w := range t {
			b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, w.clear), w.set)
		}
		key := string(b)
		if old, ok := m.tables[key]; ok {
			ops[i].table = old
			continue
		}
		if m.tables == nil {
			m.tables = map[string][]write{}
		}
		m.tables[key] = t
	}
}

// speed inlines the first test and a body of one write.
func speed(t *transition, ops []op) fast {
	f := fast{guard: noGuard, id: t.id, more: t.tests, body: ops}
	if len(f.more) > 0 && f.more[0].kind <= tBits {
		q := f.more[0]
		f.guard, f.shift, f.gword, f.mask, f.val = q.kind, q.shift, q.word, q.mask, q.val
		f.more = f.more[1:]
	}
	if len(f.more) == 0 {
		f.more = nil
	}
	switch {
	case len(ops) == 0:
		f.body = nil
	case len(ops) == 1 && ops[0].kind == oMask:
		f.body, f.bword, f.write = nil, ops[0].word, ops[0].write
	}
	return f
}

// makeDispatch gives every element of every family its key bits and actions.
func (m *Model) makeDispatch(h hotVars) {
	ids := map[family]map[int][]modelcheck.ActionID{}
	for id, in := range m.insts {
		f := familyOf(in.action)
		if ids[f] == nil {
			ids[f] = map[int][]modelcheck.ActionID{}
		}
		ids[f][in.element()] = append(ids[f][in.element()], modelcheck.ActionID(id))
	}
	for _, f := range h.families {
		n := 1
		switch {
		case f.proc != nil:
			n = f.proc.Instances.Size
		case f.over != Index{}:
			n = f.over.size()
		}
		first := len(m.dispatch)
		for e := range n {
			if len(ids[f][e]) > 0 {
				m.dispatch = append(m.dispatch, m.newDispatch(h, f, e, ids[f][e]))
			}
		}
		for i := range m.dispatch[first:] {
			m.dispatch[first+i].skip = len(m.dispatch) - first - i - 1
		}
	}
}

func (m *Model) newDispatch(h hotVars, f family, element int, ids []modelcheck.ActionID) dispatch {
	w, keys := h.window(m.l, f, element)
	d := dispatch{word: w.word, shift: w.shift, mask: 1<<w.width - 1, keys: keys, ids: ids}
	n := uint64(1)
	if f.proc != nil {
		d.pc = m.l.vars[f.proc.PC].cells[element]
		n = d.pc.mask + 1
	}
	if f.budget != nil {
		b := newResolver(m.l).load(m.l.vars[f.budget], nil)
		d.pre = m.m.tests(compareNode(nLt, constant(0), b))
	}
	d.base = make([]atomic.Pointer[row], n)
	d.rows = make([]atomic.Pointer[row], d.mask+1)
	d.heat = make([]atomic.Uint32, d.mask+1)
	return d
}
