package modelcheck_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/relplan/relplan/modelcheck"
	"pgregory.net/rapid"
)

// program is a random guarded program over interchangeable sets. Rules read and
// write fields only through their parameters, so every permutation of a set maps
// runs onto runs.
type program struct {
	shape  modelcheck.Shape
	arrays []array
	rules  []rule
	init   []uint64
}

// array is a variable indexed by up to two sets; ref >= 0 makes its values
// elements of a set or none.
type array struct {
	name   string
	dims   []int
	ref    int
	values int
	fields []int // positions in shape.Fields by index
}

// rule is a guarded assignment, once for each choice of its parameters.
type rule struct {
	params []int // set of each parameter
	guard  []atom
	effect []assign
	first  int // first ActionID
	fault  bool
	group  int
}

// atom compares a cell with a value, a parameter or none.
type atom struct {
	cell  cell
	equal bool
	value operand
}

type assign struct {
	cell  cell
	value operand
}

type cell struct {
	array int
	at    []int // parameters
}

// operand is a constant, or (param >= 0) a parameter.
type operand struct {
	param int
	value uint64
}

func (p *program) Shape() *modelcheck.Shape    { return &p.shape }
func (p *program) Initial(emit func([]uint64)) { emit(p.init) }
func (p *program) size(set int) int            { return p.shape.Sets[set].Size }
func (p *program) field(c cell, b []int) *modelcheck.Field {
	a := &p.arrays[c.array]
	i := 0
	for d, par := range c.at {
		i = i*p.size(a.dims[d]) + b[par]
	}
	return &p.shape.Fields[a.fields[i]]
}

func (o operand) eval(b []int) uint64 {
	if o.param >= 0 {
		return uint64(b[o.param])
	}
	return o.value
}

func (p *program) bindings(r *rule, visit func(b []int, a modelcheck.ActionID)) {
	b := make([]int, len(r.params))
	for n := 0; ; n++ {
		visit(b, modelcheck.ActionID(r.first+n))
		i := len(b) - 1
		for ; i >= 0; i-- {
			if b[i]++; b[i] < p.size(r.params[i]) {
				break
			}
			b[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

func (p *program) Expand(s []uint64, x *modelcheck.Sink) {
	for i := range p.rules {
		r := &p.rules[i]
		p.bindings(r, func(b []int, a modelcheck.ActionID) {
			for _, g := range r.guard {
				if (p.field(g.cell, b).Get(s) == g.value.eval(b)) != g.equal {
					return
				}
			}
			copy(x.Next, s)
			for _, e := range r.effect {
				p.field(e.cell, b).Set(x.Next, e.value.eval(b))
			}
			x.Emit(a)
		})
	}
}

func (p *program) Describe(a modelcheck.ActionID) modelcheck.Action {
	for i := range p.rules {
		r := &p.rules[i]
		n := 1
		for _, s := range r.params {
			n *= p.size(s)
		}
		k := int(a) - r.first
		if k >= n {
			continue
		}
		act := modelcheck.Action{Text: fmt.Sprint("rule", i, ":", k), Process: i % 2, StepID: i, Order: int(a), Choice: r.group}
		if r.fault {
			act.Kind, act.FaultUnit = modelcheck.Fault, "f"
		}
		if len(r.params) > 0 {
			act.Instance = k / (n / p.size(r.params[0]))
			act.Who = []modelcheck.Element{{Set: r.params[0], Index: act.Instance}}
			act.Process = r.params[0]
		}
		return act
	}
	panic("no such action")
}

// drawProgram makes a random program with one to three sets.
func drawProgram(t *rapid.T) *program {
	p := &program{}
	for i := range rapid.IntRange(1, 3).Draw(t, "sets") {
		p.shape.Sets = append(p.shape.Sets, modelcheck.Set{Name: fmt.Sprint("set", i), Size: rapid.IntRange(2, 3).Draw(t, "size")})
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "arrays") {
		a := array{name: fmt.Sprint("v", i), ref: -1, values: 2}
		for range rapid.SampledFrom([]int{1, 1, 1, 2, 0}).Draw(t, "dims") {
			a.dims = append(a.dims, rapid.IntRange(0, len(p.shape.Sets)-1).Draw(t, "dim"))
		}
		if rapid.Bool().Draw(t, "ref") {
			a.ref = rapid.IntRange(0, len(p.shape.Sets)-1).Draw(t, "of")
			a.values = p.size(a.ref) + 1
		}
		p.arrays = append(p.arrays, a)
	}
	p.layout(rapid.Bool().Draw(t, "records"), rapid.IntRange(20, 64).Draw(t, "bits"))
	for i := range rapid.IntRange(1, 5).Draw(t, "rules") {
		p.rules = append(p.rules, p.drawRule(t, i))
		p.shape.Steps = append(p.shape.Steps, fmt.Sprint("rule", i))
	}
	return p
}

// layout places the fields: array by array, or element by element.
func (p *program) layout(records bool, perWord int) {
	type place struct{ array, index, elem int }
	var ps []place
	for k, a := range p.arrays {
		n := 1
		for _, d := range a.dims {
			n *= p.size(d)
		}
		p.arrays[k].fields = make([]int, n)
		for i := range n {
			pl := place{k, i, -1}
			if len(a.dims) == 1 {
				pl.elem = a.dims[0]*10 + i
			}
			ps = append(ps, pl)
		}
	}
	if records {
		slices.SortStableFunc(ps, func(a, b place) int { return a.elem - b.elem })
	}
	word, shift := 0, 0
	for _, pl := range ps {
		a := &p.arrays[pl.array]
		f := modelcheck.Field{Name: fmt.Sprint(a.name, pl.index), Bits: 2, Group: pl.array}
		if shift+2 > perWord {
			word, shift = word+1, 0
		}
		f.Word, f.Shift = word, shift
		shift += 2
		if a.ref >= 0 {
			f.RefTo = &a.ref
		}
		i := pl.index
		for d := len(a.dims) - 1; d >= 0; d-- {
			n := p.size(a.dims[d])
			f.Index = append([]modelcheck.Element{{Set: a.dims[d], Index: i % n}}, f.Index...)
			i /= n
		}
		a.fields[pl.index] = len(p.shape.Fields)
		p.shape.Fields = append(p.shape.Fields, f)
	}
	p.shape.Words = word + 1
	p.init = make([]uint64, p.shape.Words)
	for i := range p.shape.Fields {
		if f := &p.shape.Fields[i]; f.RefTo != nil {
			f.Set(p.init, uint64(p.size(*f.RefTo)))
		}
	}
}

func (p *program) drawRule(t *rapid.T, i int) rule {
	r := rule{first: p.shape.Actions}
	n := 1
	for range rapid.IntRange(0, 2).Draw(t, "params") {
		s := rapid.IntRange(0, len(p.shape.Sets)-1).Draw(t, "param")
		r.params = append(r.params, s)
		n *= p.size(s)
	}
	p.shape.Actions += n
	for range rapid.IntRange(0, 2).Draw(t, "atoms") {
		if c, v, ok := p.drawCell(t, &r); ok {
			r.guard = append(r.guard, atom{c, rapid.IntRange(0, 3).Draw(t, "equal") > 0, v})
		}
	}
	for range rapid.IntRange(1, 3).Draw(t, "effects") {
		if c, v, ok := p.drawCell(t, &r); ok {
			r.effect = append(r.effect, assign{c, v})
		}
	}
	r.fault = rapid.IntRange(0, 4).Draw(t, "fault") == 0
	if !r.fault && rapid.IntRange(0, 4).Draw(t, "branch") == 0 {
		r.group = 1
	}
	return r
}

// drawCell picks a cell that the parameters can index and a value for it.
func (p *program) drawCell(t *rapid.T, r *rule) (c cell, v operand, ok bool) {
	c.array = rapid.IntRange(0, len(p.arrays)-1).Draw(t, "array")
	a := &p.arrays[c.array]
	pick := func(set int) (int, bool) {
		var fit []int
		for i, s := range r.params {
			if s == set {
				fit = append(fit, i)
			}
		}
		if len(fit) == 0 {
			return 0, false
		}
		return rapid.SampledFrom(fit).Draw(t, "index"), true
	}
	for _, d := range a.dims {
		i, ok := pick(d)
		if !ok {
			return c, v, false
		}
		c.at = append(c.at, i)
	}
	v = operand{param: -1, value: uint64(rapid.IntRange(0, 1).Draw(t, "value"))}
	if a.ref >= 0 {
		v.value = uint64(p.size(a.ref)) // none
		if i, ok := pick(a.ref); ok && v.value > 0 && rapid.IntRange(0, 2).Draw(t, "element") > 0 {
			v.param = i
		}
	}
	return c, v, true
}

// drawSymmetricGoal counts cells with a value: a predicate that no permutation
// changes.
func (p *program) drawSymmetricGoal(t *rapid.T) func([]uint64) bool {
	a := &p.arrays[rapid.IntRange(0, len(p.arrays)-1).Draw(t, "goal array")]
	least := rapid.IntRange(0, len(a.fields)).Draw(t, "goal count")
	return func(s []uint64) bool {
		n := 0
		for _, i := range a.fields {
			f := &p.shape.Fields[i]
			if v := f.Get(s); a.ref < 0 && v == 1 || a.ref >= 0 && int(v) < p.size(a.ref) {
				n++
			}
		}
		return n >= least
	}
}

// permuted gives the images of a state under all permutations of all sets.
func (p *program) permuted(s []uint64, visit func([]uint64)) {
	perms := make([][]int, len(p.shape.Sets))
	var rec func(k int)
	rec = func(k int) {
		if k < len(perms) {
			permute(p.size(k), func(q []int) { perms[k] = q; rec(k + 1) })
			return
		}
		out := make([]uint64, len(s))
		for _, a := range p.arrays {
			for _, i := range a.fields {
				f := &p.shape.Fields[i]
				j := 0
				for _, e := range f.Index {
					j = j*p.size(e.Set) + perms[e.Set][e.Index]
				}
				v := f.Get(s)
				if a.ref >= 0 && int(v) < p.size(a.ref) {
					v = uint64(perms[a.ref][v])
				}
				p.shape.Fields[a.fields[j]].Set(out, v)
			}
		}
		visit(out)
	}
	rec(0)
}

func permute(n int, visit func([]int)) {
	q := make([]int, n)
	for i := range q {
		q[i] = i
	}
	var rec func(k int)
	rec = func(k int) {
		if k == n {
			visit(q)
			return
		}
		for i := k; i < n; i++ {
			q[k], q[i] = q[i], q[k]
			rec(k + 1)
			q[k], q[i] = q[i], q[k]
		}
	}
	rec(0)
}

// orbits counts the states modulo all permutations, by brute force.
func (p *program) orbits(o *oracle) int {
	least := map[string]bool{}
	for _, s := range o.words {
		best := ""
		p.permuted(s, func(q []uint64) {
			if k := key(q); best == "" || k < best {
				best = k
			}
		})
		least[best] = true
	}
	return len(least)
}

// TestReductionsChangeNothing compares runs with and without symmetry, with
// one to three workers, with the oracle: counts, orbits, verdicts, histories.
func TestReductionsChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProgram(t)
		o := explore(p, 400)
		if o == nil {
			return
		}
		var props []modelcheck.Property
		for k := modelcheck.Invariant; k <= modelcheck.NoDeadlock; k++ {
			pr := modelcheck.Property{Name: fmt.Sprint("p", k), Kind: k, Goal: p.drawSymmetricGoal(t)}
			if k == modelcheck.LeadsTo {
				pr.From = p.drawSymmetricGoal(t)
			}
			props = append(props, pr)
		}
		plain := check(t, p, props, modelcheck.Options{NoReduction: true, Workers: 1})
		if int(plain.States) != len(o.states) || int(plain.Transitions) != o.trans {
			t.Fatalf("%d states, %d transitions; want %d, %d", plain.States, plain.Transitions, len(o.states), o.trans)
		}
		reduced := check(t, p, props, modelcheck.Options{Workers: 1})
		if n := p.orbits(o); int(reduced.States) != n {
			t.Fatalf("%d representatives, %d orbits", reduced.States, n)
		}
		compare(t, "reduction", plain, reduced, true)
		for w := 2; w <= 3; w++ {
			compare(t, "workers", reduced, check(t, p, props, modelcheck.Options{Workers: w}), false)
			compare(t, "workers", plain, check(t, p, props, modelcheck.Options{NoReduction: true, Workers: w}), false)
		}
		if len(o.states) <= 8 {
			traps := o.traps()
			for i, pr := range props {
				if want := o.verdict(pr, traps); plain.Properties[i].Verdict != want {
					t.Fatalf("kind %d: %v, want %v", pr.Kind, plain.Properties[i].Verdict, want)
				}
			}
		}
	})
}

func check(t fataler, m modelcheck.Model, props []modelcheck.Property, opt modelcheck.Options) *modelcheck.Result {
	t.Helper()
	r, err := modelcheck.Check(context.Background(), m, props, opt)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return r
}

// compare requires equal verdicts and equally good histories; all but the
// states must be equal when only the number of workers differs.
func compare(t fataler, what string, a, b *modelcheck.Result, reduced bool) {
	t.Helper()
	if a.Verdict != b.Verdict || !slices.Equal(a.NeverTaken, b.NeverTaken) || a.Depth != b.Depth {
		t.Fatalf("%s: verdict %v, never taken %v, depth %d; and %v, %v, %d", what, a.Verdict, a.NeverTaken, a.Depth, b.Verdict, b.NeverTaken, b.Depth)
	}
	if !reduced && (a.States != b.States || a.Transitions != b.Transitions || a.Terminal != b.Terminal) {
		t.Fatalf("%s: %d states, %d transitions; and %d, %d", what, a.States, a.Transitions, b.States, b.Transitions)
	}
	for i := range a.Properties {
		p, q := a.Properties[i], b.Properties[i]
		if p.Verdict != q.Verdict {
			t.Fatalf("%s: kind %d is %v and %v", what, p.Kind, p.Verdict, q.Verdict)
		}
		if (p.History == nil) != (q.History == nil) {
			t.Fatalf("%s: one history of kind %d is missing", what, p.Kind)
		}
		if p.History == nil {
			continue
		}
		if !reduced && fmt.Sprint(p.History) != fmt.Sprint(q.History) {
			t.Fatalf("%s: histories of kind %d differ:\n%v\n%v", what, p.Kind, p.History, q.History)
		}
		ph, qh := p.History, q.History
		if fmt.Sprint(ph.Faults, ph.ActorChanges) != fmt.Sprint(qh.Faults, qh.ActorChanges) && ph.LoopFrom < 0 ||
			prefix(ph) != prefix(qh) {
			t.Fatalf("%s: kind %d: faults %v, changes %d, steps %d; and %v, %d, %d", what, p.Kind,
				ph.Faults, ph.ActorChanges, prefix(ph), qh.Faults, qh.ActorChanges, prefix(qh))
		}
	}
}

func prefix(h *modelcheck.History) int {
	if h.LoopFrom >= 0 {
		return h.LoopFrom
	}
	return len(h.Steps)
}
