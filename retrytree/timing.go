package retrytree

import (
	"time"

	"github.com/relplan/relplan/deadline"
)

// timing is what the layers of one call mean in time.
type timing struct {
	policies []deadline.Policy // effective, the outermost first
	attempts Count             // configured
	fast     Count             // that start when each fails at once
	slow     Count             // that start when each hangs until its limit
}

// timing composes the layers of a call. A limit of an outer layer cuts what the
// layers inside it do; an attempt of an outer layer lasts no longer than all
// that the layers inside it may do.
func (c Call) timing() timing {
	if len(c.Layers) == 0 {
		one := NewCount(1)
		return timing{policies: []deadline.Policy{{Attempts: 1}}, attempts: one, fast: one, slow: one}
	}
	if len(c.Layers) == 1 && c.Layers[0].PerTry == 0 && c.Layers[0].Overall == 0 {
		p := c.Layers[0].Policy()
		n := countOf(p.Attempts)
		return timing{policies: []deadline.Policy{p}, attempts: n, fast: n, slow: countOf(p.Slow())}
	}
	ps := make([]deadline.Policy, len(c.Layers))
	var cut time.Duration // what the layers outside leave to one attempt; 0: no limit
	for i, l := range c.Layers {
		p := l.Policy()
		if cut > 0 && (p.Overall == 0 || cut <= p.Overall) {
			p.Overall, p.StopsOnly = cut, false // the outer limit ends even the running attempt
		}
		if !p.StopsOnly {
			cut = tighter(cut, p.Overall)
		}
		cut = tighter(cut, p.PerTry)
		ps[i] = p
	}
	t := timing{policies: ps, attempts: NewCount(1), fast: NewCount(1), slow: NewCount(1)}
	for i := len(ps) - 1; i >= 0; i-- {
		if i+1 < len(ps) {
			if w, ok := ps[i+1].Worst(); ok {
				ps[i].PerTry = tighter(ps[i].PerTry, w)
			}
		}
		t.attempts = t.attempts.Mul(countOf(ps[i].Attempts))
		t.fast = t.fast.Mul(countOf(ps[i].Fast()))
		t.slow = t.slow.Mul(countOf(ps[i].Slow()))
	}
	return t
}

// fast is timing().fast without the rest, for calls of at most one layer.
func (c *Call) fast() Count {
	switch {
	case len(c.Layers) == 0:
		return NewCount(1)
	case len(c.Layers) > 1:
		return c.timing().fast
	}
	if l := &c.Layers[0]; l.Overall == 0 && !l.Unbounded {
		return NewCount(max(l.Attempts, 1))
	}
	return countOf(c.Layers[0].Policy().Fast())
}

// tighter returns the smaller of two limits of which 0 means none.
func tighter(a, b time.Duration) time.Duration {
	switch {
	case a == 0:
		return b
	case b == 0:
		return a
	}
	return min(a, b)
}

// worst is the longest time of the whole call.
func (t timing) worst() (time.Duration, bool) { return t.policies[0].Worst() }

// perTry is the limit of one attempt as the service called sees it: that of the
// innermost layer, or of the nearest one outside it that has a limit; 0: none.
func (t timing) perTry() time.Duration {
	last := t.policies[len(t.policies)-1]
	if last.PerTry > 0 {
		return tighter(last.PerTry, last.Overall)
	}
	return last.Overall
}

// horizon is the time from the first attempt until the last may start.
func (t timing) horizon() (time.Duration, bool) {
	var sum time.Duration
	for i, p := range t.policies {
		if i+1 < len(t.policies) && p.PerTry == 0 {
			// Inner layers without a bound leave none outside, unless this
			// layer makes only one attempt.
			if p.Attempts > 1 {
				return 0, false
			}
		}
		h, ok := p.Horizon()
		if !ok {
			return 0, false
		}
		sum = deadline.SatAdd(sum, h)
	}
	if o := t.policies[0].Overall; o > 0 {
		sum = min(sum, o)
	}
	return sum, true
}

// fit returns the attempts that have room in the time that remains.
func (t timing) fit(remaining time.Duration) EdgeFit {
	if n, ok := t.attempts.Int64(); len(t.policies) > 1 && ok && n <= maxFlat {
		return t.fitLayers(remaining)
	}
	f := t.policies[0].Fit(remaining)
	e := EdgeFit{Limit: f.Limit, Configured: t.attempts, PerTry: t.policies[len(t.policies)-1].PerTry, Slots: f.Slots, Margin: f.Margin, Bounded: f.Bounded}
	e.Starts, e.FitsLow, e.FitsHigh = countOf(f.Starts), countOf(f.FitsLow), countOf(f.FitsHigh)
	for _, p := range t.policies[1:] { // too many to list: whole attempts of the outer layer
		inner := p.Fit(deadline.Max)
		e.Starts = e.Starts.Mul(countOf(inner.Starts))
		e.FitsLow = e.FitsLow.Mul(countOf(inner.FitsLow))
		e.FitsHigh = e.FitsHigh.Mul(countOf(inner.FitsHigh))
	}
	return e
}

// maxFlat bounds the attempts of several layers that are laid out one by one.
const maxFlat = 1000

// span is one attempt of the innermost layer; it must start and end by the
// limits of the layers around it.
type span struct{ start, end, startBy, endBy time.Duration }

// within moves a span into an attempt of an outer loop that starts at base.
func (s span) within(base, startBy, endBy time.Duration) span {
	return span{deadline.SatAdd(base, s.start), deadline.SatAdd(base, s.end),
		min(startBy, deadline.SatAdd(base, s.startBy)), min(endBy, deadline.SatAdd(base, s.endBy))}
}

// spans lays the attempts of nested layers out when each hangs until its limit.
// length is the time until the caller of the loop has its answer: when a limit
// forbids a further attempt, the loop still waits until the limit.
func spans(ps []deadline.Policy, high bool) (out []span, length time.Duration) {
	p := ps[0]
	inner, each := []span{{0, p.PerTry, deadline.Max, deadline.Max}}, p.PerTry
	if each == 0 {
		inner[0].end, each = deadline.Max, deadline.Max
	}
	if len(ps) > 1 {
		inner, each = spans(ps[1:], high)
		if p.PerTry > 0 {
			each = min(each, p.PerTry)
		}
	}
	startBy, endBy := deadline.Max, deadline.Max
	if p.Overall > 0 {
		startBy = p.Overall
		if !p.StopsOnly {
			endBy = p.Overall
		}
	}
	for k := int64(1); k <= max(p.Attempts, 1); k++ {
		low, base := p.Start(k, each)
		if !high {
			base = low
		}
		if base >= startBy {
			return out, min(max(length, startBy), endBy)
		}
		length = max(length, deadline.SatAdd(base, each))
		by := endBy
		if len(ps) > 1 && p.PerTry > 0 {
			by = min(by, deadline.SatAdd(base, p.PerTry))
		}
		for _, s := range inner {
			if at := s.within(base, min(startBy, by), by); at.start < at.startBy {
				out = append(out, at)
			}
		}
	}
	return out, min(length, endBy)
}

// fitLayers is fit for several layers: every attempt of the innermost one is
// laid out, and must end within the limits of all layers around it.
func (t timing) fitLayers(remaining time.Duration) EdgeFit {
	e := EdgeFit{Limit: remaining, Configured: t.attempts, PerTry: t.policies[len(t.policies)-1].PerTry}
	if o := t.policies[0].Overall; o > 0 {
		e.Limit = min(e.Limit, o)
	}
	endBy := e.Limit
	if t.policies[0].StopsOnly {
		endBy = remaining
	}
	low, _ := spans(t.policies, false)
	high, _ := spans(t.policies, true)
	var starts, fitsLow, fitsHigh int64
	for i, l := range low {
		s := deadline.Slot{K: int64(i + 1), StartsLow: l.start, EndsLow: l.end, StartsHigh: deadline.Max, EndsHigh: deadline.Max}
		s.Starts = l.start < e.Limit
		s.FitsLow = s.Starts && l.end <= min(endBy, l.endBy)
		if i < len(high) {
			h := high[i]
			s.StartsHigh, s.EndsHigh = h.start, h.end
			s.Admit = h.start < e.Limit && h.end <= min(endBy, h.endBy)
		}
		starts, fitsLow, fitsHigh = starts+bit(s.Starts), fitsLow+bit(s.FitsLow), fitsHigh+bit(s.Admit)
		if i < maxListed {
			e.Slots = append(e.Slots, s)
		}
	}
	e.Starts, e.FitsLow, e.FitsHigh = NewCount(starts), NewCount(fitsLow), NewCount(fitsHigh)
	if w, ok := t.worst(); ok {
		e.Bounded = true
		if endBy != deadline.Max {
			e.Margin = deadline.SatSub(endBy, w)
		}
	}
	return e
}

// maxListed bounds the attempts listed in an EdgeFit, as in deadline.Fit.
const maxListed = 100

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// EdgeFit is the room for the attempts of one call.
type EdgeFit struct {
	// Limit is the time the call has; [deadline.Max] when nothing limits it.
	Limit time.Duration
	// Configured is the number of attempts of all layers.
	Configured Count
	// Starts, FitsLow and FitsHigh count the attempts that start, that end in
	// time with the smallest waits, and that end in time whatever the jitter.
	Starts, FitsLow, FitsHigh Count
	// PerTry is the limit of one attempt of the innermost layer; 0: none.
	PerTry time.Duration
	// Slots are the first attempts, at most 100: of the innermost layer, or of
	// the outermost one where there are too many to lay out.
	Slots []deadline.Slot
	// Margin is what is left after the last attempt with the largest waits;
	// negative when it does not fit. Meaningless unless Bounded.
	Margin time.Duration
	// Bounded tells whether the end of the last attempt is known.
	Bounded bool
}

// EdgeTiming is what the policies of one call mean, without regard to the rest
// of the graph.
type EdgeTiming struct {
	// From and To are the services; Call is the position in the calls of From.
	From, To string
	Call     int
	// FanOut is the number of copies of the call.
	FanOut int64
	// Attempts is the configured number, all layers multiplied.
	Attempts Count
	// Fast are the attempts that start when each fails at once. They multiply
	// along a path. Slow are those that start when each hangs until its limit.
	Fast, Slow Count
	// PerTry is the limit of one attempt of the innermost layer; 0 means none.
	PerTry time.Duration
	// Worst is the longest time of the call; false in WorstKnown: no bound.
	Worst      time.Duration
	WorstKnown bool
	// Horizon is the time from the first attempt until the last one may start;
	// false in HorizonKnown: no bound.
	Horizon      time.Duration
	HorizonKnown bool
	// Fit is the room for the attempts within the call's own limits.
	Fit EdgeFit
}

// Timings returns the meaning of every call, grouped by caller in the order of
// [Graph.Names], then in the order of the calls.
func (g *Graph) Timings() []EdgeTiming {
	out := make([]EdgeTiming, len(g.edges))
	for i := range g.edges {
		out[i] = g.timingOf(int32(i))
	}
	return out
}

func (g *Graph) timingOf(i int32) EdgeTiming {
	e := &g.edges[i]
	c := g.callOf(i)
	t := c.timing()
	et := EdgeTiming{From: g.nodes[e.from].Name, To: c.To, Call: int(e.call), FanOut: c.copies(),
		Attempts: t.attempts, Fast: t.fast, Slow: t.slow, PerTry: t.policies[len(t.policies)-1].PerTry, Fit: t.fit(deadline.Max)}
	et.Worst, et.WorstKnown = t.worst()
	et.Horizon, et.HorizonKnown = t.horizon()
	return et
}

// callOf returns the description of an edge.
func (g *Graph) callOf(i int32) *Call {
	e := &g.edges[i]
	return &g.nodes[e.from].Calls[e.call]
}
