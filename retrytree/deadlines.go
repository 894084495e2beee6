package retrytree

import (
	"errors"
	"fmt"
	"time"

	"github.com/relplan/relplan/deadline"
)

// Entry is a deadline that starts at a service.
type Entry struct {
	// Name is used in results.
	Name string
	// Path is the services it runs through; the first has all of Budget when
	// it is entered. What the last one calls inherits what is left.
	Path []string
	// Budget is the length of the deadline.
	Budget time.Duration
	// Spent is the part of Budget gone when the last service of Path is about
	// to call; if it calls nobody, when it is called.
	Spent time.Duration
	// Margin comes off at every call of Path: time for the answer to travel.
	Margin time.Duration
}

// EntryError is a mistake in one entry.
type EntryError struct {
	// Index is the position of the entry in the input.
	Index int
	// Message says what was found.
	Message string
}

// Error implements error.
func (e *EntryError) Error() string { return e.Message }

// CallDeadline is the time one call has, with the attempts that fit.
type CallDeadline struct {
	// From and To are the services; Call is the position in the calls of From.
	From, To string
	Call     int
	// Remaining is the time when the first attempt is about to start, in the
	// worst case; [deadline.Max] when nothing limits it. Negative: calls made
	// before may already have used it up.
	Remaining time.Duration
	// Limit names what sets Remaining: "deadline checkout", "per-try limit of
	// a->b", "overall limit"; "" for nothing.
	Limit string
	// Before is the longest time of the serial calls made before this one, and
	// of its own copies but the last; BeforeKnown is false when one of them has
	// no limit and may take everything.
	Before      time.Duration
	BeforeKnown bool
	// Policy is the timing of the outermost layer, with the limits that other
	// layers impose on it.
	Policy deadline.Policy
	// Fit is the room for the attempts; Fit.Limit also respects the overall
	// limit of the call itself.
	Fit EdgeFit
}

// allowance is the time a service has from its arrival until its caller stops
// waiting, and who says so.
type allowance struct {
	d     time.Duration
	limit string
}

func (a *allowance) tighten(d time.Duration, limit string) {
	if d < a.d {
		*a = allowance{d, limit}
	}
}

// PlanDeadlines carries deadlines and per-try limits down the graph. A service
// that is called has, from its arrival, what its caller gives one attempt:
//
//	R(call)  = R(caller) - longest time of the calls before it
//	R(callee) = min over its callers of min(per-try limit, R(call)) - margin
//
// so a callee whose attempts do not fit works for nobody: its caller has given
// up before. Deadlines are taken as passed on; a call without a per-try limit
// passes on what it has. There is one entry for every call, grouped by caller in
// the order of [Graph.Names]. Mistakes in the entries are reported together
// (errors.Join of *EntryError).
func (g *Graph) PlanDeadlines(entries []Entry) ([]CallDeadline, error) {
	has := make([]allowance, len(g.nodes))
	for i := range has {
		has[i].d = deadline.Max
	}
	onPath := map[int32]*Entry{} // calls of paths, for the margin
	last := map[int32][]*Entry{} // calls of services that call nobody, for the time spent
	var errs []error
	for i := range entries {
		if err := g.enter(&entries[i], has, onPath, last); err != nil {
			errs = append(errs, &EntryError{Index: i, Message: err.Error()})
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	out := make([]CallDeadline, len(g.edges))
	for _, u := range g.order {
		b := before{known: true}
		for j := g.first[u]; j < g.first[u+1]; j++ {
			c := g.callOf(j)
			t := c.timing()
			spent, known := b.next(g, u, j, t)
			r := has[u]
			if r.d != deadline.Max {
				r.d = deadline.SatSub(r.d, spent)
			}
			for _, e := range last[j] {
				r.tighten(e.Budget-e.Spent, "deadline "+e.Name)
			}
			cd := CallDeadline{From: g.nodes[u].Name, To: c.To, Call: int(g.edges[j].call),
				Remaining: r.d, Limit: r.limit, Before: spent, BeforeKnown: known, Policy: t.policies[0], Fit: t.fit(r.d)}
			if o := t.policies[0].Overall; o > 0 && o < r.d {
				cd.Limit = "overall limit"
				r = allowance{o, "overall limit of " + g.edgeName(j)}
			}
			out[j] = cd
			if p := t.perTry(); p > 0 && p <= r.d {
				r = allowance{p, "per-try limit of " + g.edgeName(j)}
			}
			if e := onPath[j]; e != nil && r.d != deadline.Max {
				r.d = deadline.SatSub(r.d, e.Margin)
			}
			has[g.edges[j].to].tighten(r.d, r.limit)
		}
	}
	return out, nil
}

// enter starts a deadline and marks the calls on its path.
func (g *Graph) enter(e *Entry, has []allowance, onPath map[int32]*Entry, last map[int32][]*Entry) error {
	if e.Budget < 0 || e.Spent < 0 || e.Margin < 0 {
		return fmt.Errorf("deadline %q has a negative duration", e.Name)
	}
	for i, name := range e.Path {
		u, ok := g.index.find(name)
		if !ok {
			return fmt.Errorf("deadline %q runs through %q, which is not in the graph", e.Name, name)
		}
		atEnd := i == len(e.Path)-1 && e.Spent > 0
		if calls := g.first[u] < g.first[u+1]; atEnd && calls {
			has[u].tighten(e.Budget-e.Spent, "deadline "+e.Name)
			atEnd = false
		}
		if i == 0 {
			has[u].tighten(e.Budget, "deadline "+e.Name)
			continue
		}
		from, _ := g.index.find(e.Path[i-1])
		found := false
		for j := g.first[from]; j < g.first[from+1]; j++ {
			if g.edges[j].to != u {
				continue
			}
			found = true
			if old := onPath[j]; old == nil || old.Margin < e.Margin {
				onPath[j] = e
			}
			if atEnd {
				last[j] = append(last[j], e)
			}
		}
		if !found {
			return fmt.Errorf("deadline %q runs from %q to %q, but there is no such call", e.Name, e.Path[i-1], name)
		}
	}
	return nil
}

// before adds up the longest times of the calls one service makes.
type before struct {
	sum   time.Duration
	known bool
	group map[int32]time.Duration // longest alternative of each choice so far
}

// next returns the time gone when the last copy of call j starts, and adds the
// call. Parallel calls wait for nothing.
func (b *before) next(g *Graph, u, j int32, t timing) (time.Duration, bool) {
	if g.nodes[u].Parallel {
		return 0, true
	}
	one, ok := t.worst()
	copies := g.callOf(j).copies()
	grp := g.edges[j].group
	start, known := b.sum, b.known
	if grp > 0 {
		start -= b.group[grp] // alternatives exclude each other
	}
	all := deadline.SatMul(one, copies)
	if ok {
		start = deadline.SatAdd(start, deadline.SatMul(one, copies-1))
	} else if copies > 1 {
		known = false
	}
	switch {
	case !ok:
		b.known = false
	case grp == 0:
		b.sum = deadline.SatAdd(b.sum, all)
	case all > b.group[grp]:
		if b.group == nil {
			b.group = map[int32]time.Duration{}
		}
		b.sum = deadline.SatAdd(b.sum, all-b.group[grp])
		b.group[grp] = all
	}
	return start, known
}
