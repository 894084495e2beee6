package modelcheck

import (
	"context"
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
	r := s.result()
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
	for i := range s.props {
		p := &s.props[i]
		pr := PropertyResult{Name: p.Name, Kind: p.Kind}
		if !p.Liveness() {
			pr.Verdict, pr.Reason = s.judgeSafety(p, &s.found[i], r)
		}
		r.Properties = append(r.Properties, pr)
	}
	return nil
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
