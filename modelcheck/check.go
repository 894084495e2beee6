package modelcheck

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Check explores every state of the model that its budgets allow and judges
// the properties. Verdicts, counts and histories do not depend on the number of
// workers or on the machine, unless a limit stopped the search; then everything
// not decided is Unknown and the result says which limit. The error is not nil
// only for a model or properties that contradict themselves.
func Check(ctx context.Context, m Model, props []Property, opt Options) (*Result, error) {
	s, err := newSearch(m, props, opt)
	if err != nil {
		return nil, err
	}
	defer s.close()
	s.run(ctx)
	if len(s.layers[0]) == 0 && !s.halted() {
		return nil, fmt.Errorf("%w: no initial state", errModel)
	}
	r := s.result()
	if opt.TimeLimit > 0 { // histories get what is left, and a second
		c, cancel := context.WithDeadline(ctx, s.began.Add(opt.TimeLimit+time.Second))
		defer cancel()
		ctx = c
	}
	if err := s.judge(ctx, r); err != nil {
		return nil, err
	}
	r.Limits = s.reasons()
	r.Verdict = worst(r)
	r.Bytes = s.bytes()
	r.Elapsed = time.Since(s.began)
	return r, nil
}

// result fills in what the search itself knows.
func (s *search) result() *Result {
	r := &Result{
		States: uint64(s.set.used.Load()), Transitions: s.transitions.Load(), Terminal: s.terminal,
		Reductions: s.sym.reductions(), Workers: s.opt.Workers,
	}
	r.Complete = !s.halted() && len(s.layers[s.expanded]) == 0 && len(s.cuts) == 0
	r.Depth = len(s.layers) - 1
	if r.Depth > 0 && len(s.layers[r.Depth]) == 0 {
		r.Depth--
	}
	if s.set.compact {
		n := float64(r.States)
		r.MissedState = min(1, n*n/2/(1<<63)/2)
	}
	if r.Complete {
		r.NeverTaken = s.neverTaken()
	}
	return r
}

// neverTaken lists the steps without a taken action.
func (s *search) neverTaken() []int {
	seen := make([]bool, len(s.shape.Steps))
	for a, t := range s.taken {
		if id := s.model.Describe(ActionID(a)).StepID; t && id >= 0 && id < len(seen) {
			seen[id] = true
		}
	}
	var never []int
	for i, t := range seen {
		if !t {
			never = append(never, i)
		}
	}
	return never
}

// worst gives the verdict of the whole: broken, else unknown, else vacuous,
// else holds.
func worst(r *Result) Verdict {
	rank := []Verdict{Broken, Unknown, Vacuous, Holds}
	v := Holds
	if !r.Complete && len(r.Properties) == 0 {
		v = Unknown
	}
	for _, p := range r.Properties {
		if slices.Index(rank, p.Verdict) < slices.Index(rank, v) {
			v = p.Verdict
		}
	}
	return v
}

// judge gives every property its verdict and its history.
func (s *search) judge(ctx context.Context, r *Result) error {
	var l *lively
	for i := range s.props {
		p := &s.props[i]
		pr := PropertyResult{Name: p.Name, Kind: p.Kind}
		var q *request
		switch {
		case !p.Liveness():
			pr.Verdict, pr.Reason = s.judgeSafety(p, &s.found[i], r)
			if s.found[i].done {
				q = s.safetyRequest(p)
			}
		case s.halted():
			pr.Reason = s.why()
		case s.set.compact:
			pr.Reason = "properties of whole histories need full states, not fingerprints"
		default:
			if l == nil {
				l = newLively(s)
			}
			j := l.judge(p)
			pr.Verdict = j.verdict
			if j.verdict == Unknown {
				pr.Reason = s.why()
			}
			if j.verdict == Broken {
				q = l.request(p, j)
			}
		}
		if q != nil && !s.opt.NoHistories {
			h, err := s.history(ctx, *q)
			if err != nil {
				return err
			}
			pr.History = h
		}
		if q != nil && s.opt.LeastFaults {
			pr.LeastFaults = s.leastFaults(ctx, *q)
		}
		r.Properties = append(r.Properties, pr)
	}
	return nil
}

// safetyRequest asks for a history into a state that decides the property.
func (s *search) safetyRequest(p *Property) *request {
	q := &request{prop: p, target: func(st []uint64) bool { return !p.Goal(st) }}
	switch p.Kind {
	case Reach:
		q.target = p.Goal
	case NoDeadlock:
		x := NewSink(s.shape.Words)
		q.target = func(st []uint64) bool {
			if p.Goal(st) {
				return false
			}
			x.Reset()
			s.model.Expand(st, x)
			return x.n+len(x.cuts) == 0
		}
	}
	return q
}

// request asks for a history into a state that breaks the property; its predicates take
// concrete states.
func (l *lively) request(p *Property, j *judgement) *request {
	sym := newSymmetry(l.s.shape, l.s.props, l.s.opt.NoReduction)
	rep := make([]uint64, l.s.shape.Words)
	bit := func(set []bool) func([]uint64) bool {
		if set == nil {
			return nil
		}
		return func(st []uint64) bool {
			copy(rep, st)
			if sym != nil {
				sym.canonical(rep)
			}
			id, ok := l.s.set.lookup(rep)
			return ok && set[l.g.number(id)]
		}
	}
	return &request{prop: p, target: bit(j.target), loop: bit(j.loop), sealed: bit(j.sealed)}
}

// judgeSafety gives the verdict of a property that single states decide.
func (s *search) judgeSafety(p *Property, f *finding, r *Result) (Verdict, string) {
	switch {
	case f.done && p.Kind == Reach:
		return Holds, ""
	case f.done:
		return Broken, ""
	case !r.Complete:
		return Unknown, s.why()
	case p.Kind == Reach:
		return Vacuous, ""
	}
	return Holds, ""
}

// why gives the first reason for an incomplete search.
func (s *search) why() string {
	if r := s.reasons(); len(r) > 0 {
		return r[0]
	}
	return "the search ended early"
}
