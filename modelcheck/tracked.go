package modelcheck

import (
	"maps"
	"slices"
)

// tracked is a model whose states carry what the order of histories needs: who
// acted last, and whether the obligation of a LeadsTo is open. It has one more
// word than the model, with fields of its own, so that symmetry permutes the
// last actor along with everything else.
type tracked struct {
	model   Model
	shape   Shape
	sym     *symmetry // all reductions of the search
	plain   *symmetry // bags and symbols only: the identity of concrete states
	actions []trackedAction
	refs    []actorRef // by set; zero for sets that no actor belongs to
	follow  bool       // the last actor is kept
	from    func([]uint64) bool
	goal    func([]uint64) bool
	x       *Sink
}

// trackedAction is what a history needs to know of an action.
type trackedAction struct {
	fault    bool
	unit     string
	rank     int
	env      bool
	order    int
	process  uint64
	instance uint64
	who      *Element
	class    edgeClass
}

type actorRef struct {
	shift, bits int
	none        uint64
}

// Layout of the extra word: process+1, instance, references, obligation.
const (
	processBits  = 16
	instanceBits = 16
	owedBit      = 1 << 63
)

func newTracked(m Model, props []Property, opt Options) *tracked {
	sh := m.Shape()
	t := &tracked{model: m, x: NewSink(sh.Words), follow: true}
	if f, ok := m.(Forker); ok {
		t.model = f.Fork()
	}
	t.shape = *sh
	t.shape.Words++
	t.shape.Fields = slices.Clone(sh.Fields)
	t.refs = make([]actorRef, len(sh.Sets))
	group := 0
	for _, f := range sh.Fields {
		group = max(group, f.Group+1)
	}
	shift := processBits + instanceBits
	for a := range sh.Actions {
		d := m.Describe(ActionID(a))
		ta := trackedAction{fault: d.IsFault(), unit: d.FaultUnit, rank: d.FaultRank, env: d.Process < 0, order: d.Order}
		if ta.fault && ta.unit == "" {
			ta.unit = d.Text
		}
		ta.class = edgeClass{fault: ta.fault, fair: d.IsFair()}
		if !ta.fault && !d.Unfair {
			ta.class.choice = d.Choice
		}
		ta.process, ta.instance = uint64(d.Process+1), uint64(d.Instance)
		if len(d.Who) == 1 && !ta.env {
			w := d.Who[0]
			ta.who, ta.instance = &w, 0
			if r := &t.refs[w.Set]; r.bits == 0 {
				size := sh.Sets[w.Set].Size
				*r = actorRef{shift, width(size), uint64(size)}
				set := w.Set
				t.shape.Fields = append(t.shape.Fields, Field{Name: "last " + sh.Sets[w.Set].Name,
					Word: sh.Words, Shift: shift, Bits: r.bits, RefTo: &set, Group: group})
				shift += r.bits
				group++
			}
		}
		t.actions = append(t.actions, ta)
	}
	t.follow = shift <= 63
	t.sym = newSymmetry(&t.shape, props, opt.NoReduction)
	t.plain = newSymmetry(&t.shape, nil, true)
	return t
}

func width(most int) int {
	n := 0
	for ; most > 0; most >>= 1 {
		n++
	}
	return max(n, 1)
}

// start extends an initial state.
func (t *tracked) start(st []uint64) []uint64 {
	ext := append(slices.Clone(st), 0)
	for _, r := range t.refs {
		if r.bits > 0 {
			ext[len(st)] |= r.none << r.shift
		}
	}
	ext[len(st)] |= t.owed(st, 0)
	return ext
}

// owed gives the obligation bit of a state, given that of the state before.
func (t *tracked) owed(st []uint64, before uint64) uint64 {
	if t.from == nil || t.goal(st) {
		return 0
	}
	if before&owedBit != 0 || t.from(st) {
		return owedBit
	}
	return 0
}

// next extends successor i of the sink after a state with the extra word last,
// and tells whether the actor changed.
func (t *tracked) next(dst []uint64, i int, last uint64) (a ActionID, changed bool) {
	st, a := t.x.At(i)
	copy(dst, st)
	w := last &^ owedBit
	if d := &t.actions[a]; t.follow && !d.env {
		n := d.process | d.instance<<processBits
		for k, r := range t.refs {
			if r.bits == 0 {
				continue
			}
			v := r.none
			if d.who != nil && d.who.Set == k {
				v = uint64(d.who.Index)
			}
			n |= v << r.shift
		}
		changed = n != w && w&(1<<processBits-1) != 0
		w = n
	}
	dst[len(st)] = w | t.owed(st, last)
	return a, changed
}

// cost orders histories: faults, preference among faults, changes of actor,
// length; with shortest the length comes before the changes.
func (t *tracked) cost(a ActionID, changed, shortest bool) uint64 {
	d := &t.actions[a]
	c := uint64(1)
	turn := uint64(1) << 16
	if shortest {
		c, turn = 1<<16, 1
	}
	if d.fault {
		c += 1<<48 + uint64(min(d.rank, 15))<<32
	}
	if changed {
		c += turn
	}
	return c
}

// faults sums the units that a list of actions spends.
func (t *tracked) faults(ids []ActionID) map[string]int {
	f := map[string]int{}
	for _, a := range ids {
		if d := &t.actions[a]; d.fault {
			f[d.unit]++
		}
	}
	return f
}

// sortedKeys lists the names of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
