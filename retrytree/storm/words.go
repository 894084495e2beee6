package storm

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Seconds prints a time for people: "1.01 s", "3 min", "12 years", "never".
func Seconds(x float64) string {
	switch {
	case math.IsNaN(x):
		return "unknown"
	case math.IsInf(x, 1):
		return "never"
	case x == 0:
		return "0 s"
	case x < 0.001:
		return fmt.Sprintf("%.3g us", x*1e6)
	case x < 1:
		return fmt.Sprintf("%.3g ms", x*1e3)
	case x < 180:
		return fmt.Sprintf("%.3g s", x)
	case x < 2*3600:
		return fmt.Sprintf("%.3g min", x/60)
	case x < 2*86400:
		return fmt.Sprintf("%.3g hours", x/3600)
	case x < 2*365.25*86400:
		return fmt.Sprintf("%.3g days", x/86400)
	}
	years := x / (365.25 * 86400)
	if years > 1e6 {
		return "more than a million years"
	}
	return fmt.Sprintf("%.3g years", years)
}

// Number prints a rate or count with four digits and thousands separated:
// "150", "293.3", "10,420", "100,000".
func Number(x float64) string {
	if math.IsNaN(x) {
		return "unknown"
	}
	if math.Abs(x) < 1e4 || math.IsInf(x, 0) || math.Abs(x) > 1e15 {
		return fmt.Sprintf("%.4g", x)
	}
	unit := math.Pow(10, math.Floor(math.Log10(math.Abs(x)))-3)
	digits := fmt.Sprintf("%.0f", math.Round(x/unit)*unit)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// duration converts seconds, saturating.
func duration(x float64) time.Duration {
	if math.IsNaN(x) || x < 0 {
		return 0
	}
	if x > 9.2e9 {
		return math.MaxInt64
	}
	return time.Duration(x * 1e9)
}

// EscapeSeconds returns the mean time until chance tips the edge, Inf if never.
func (r *EdgeReport) EscapeSeconds() float64 {
	if !r.Escapes {
		return math.Inf(1)
	}
	return math.Exp(math.Min(r.EscapeLog, 700))
}

// Sentences says what the numbers mean, most important first.
func (r *EdgeReport) Sentences() []string {
	var out []string
	add := func(format string, a ...any) { out = append(out, fmt.Sprintf(format, a...)) }
	rps := func(x float64) string { return Number(x) + " rps" }
	switch r.State {
	case Collapsed:
		add("at %s %s is beyond its fold of %s: there is no healthy state, retries of late work fill %s with work for nobody.", rps(r.Load), r.Edge, rps(r.Fold), r.Callee)
	case Vulnerable:
		out = append(out, r.vulnerable()...)
	case Stable:
		if r.Curve.Monostable {
			add("at %s %s has one state only: it serves up to %s and comes back from any disturbance that ends.", rps(r.Load), r.Edge, rps(r.Capacity))
		} else {
			add("at %s %s is stable: it comes back from any disturbance that ends, up to %s; from there to the fold at %s it can be tipped.", rps(r.Load), r.Edge, rps(r.Stable), rps(r.Fold))
		}
		for _, t := range r.Triggers {
			if t.Verdict != nil && t.Verdict.Tipped == 0 && !math.IsNaN(t.Recovery) {
				add("after %s for %s goodput is back in %s.", t.Name, Seconds(seconds(t.Trigger.For)), Seconds(t.Recovery))
			}
		}
	}
	if r.State == Vulnerable && r.Escapes {
		if e := r.EscapeSeconds(); e < 86400 {
			add("even without a trigger chance tips it in %s on average.", Seconds(e))
		} else {
			add("without a trigger chance alone takes %s to tip it.", Seconds(e))
		}
	}
	for _, d := range r.Disagreement {
		add("solvers disagree: %s.", d)
	}
	return out
}

// vulnerable tells what tips the edge, what brings it back, and which budget
// saves it.
func (r *EdgeReport) vulnerable() []string {
	var out []string
	add := func(format string, a ...any) { out = append(out, fmt.Sprintf(format, a...)) }
	first := true
	said := map[string]bool{}
	for _, t := range r.Triggers {
		if said[t.Name] {
			continue // the same kind for another time: the table has it
		}
		said[t.Name] = true
		if math.IsNaN(t.TipsAt) || math.IsInf(t.TipsAt, 1) {
			if t.Tips {
				add("at %s rps %s for %s tips %s.", Number(r.Load), t.Name, Seconds(seconds(t.Trigger.For)), r.Edge)
				first = false
			}
			continue
		}
		add("at %s rps one %s %s tips %s.", Number(r.Load), Seconds(t.TipsAt), t.Name, r.Edge)
		if t.P10 < t.P90 && !math.IsInf(t.P90, 0) {
			add("(10 %% of runs tip at %s, 90 %% at %s.)", Seconds(t.P10), Seconds(t.P90))
		}
		first = false
	}
	if first {
		add("at %s rps %s can be tipped: above %s rps a state without goodput sustains itself.", Number(r.Load), r.Edge, Number(r.Stable))
	}
	add("it then stays down until load falls below %s rps or attempts beyond the first are cut below %s/s (each first try makes %.4g attempts at %s when all fail).", Number(r.Stable), Number(r.Spare), r.Worst, r.Callee)
	switch {
	case r.SavingRatio <= 0:
		add("no retry budget saves it: first tries alone exceed the capacity of %s rps.", Number(r.Capacity))
	default:
		out = append(out, r.budgets())
	}
	return out
}

// budgets compares the usual ratios with the one that saves.
func (r *EdgeReport) budgets() string {
	best := math.Floor(r.SavingRatio*100 - 1e-9)
	var no []string
	for _, p := range []float64{10, 20} {
		if p > best {
			no = append(no, fmt.Sprintf("%.0f %%", p))
		}
	}
	switch {
	case len(no) > 0 && best >= 1:
		return fmt.Sprintf("a retry budget of %s does not save it, %.0f %% does (the limit is %.3g %%, over all layers together).", no[0], best, r.SavingRatio*100)
	case best < 1:
		return fmt.Sprintf("a retry budget saves it only below %.2g %%: add capacity or shed load.", r.SavingRatio*100)
	}
	return fmt.Sprintf("a retry budget of up to %.0f %% over all layers saves it.", best)
}

// Headline is one line over all edges.
func (r *Report) Headline() string {
	var bad, open []string
	for _, e := range r.Edges {
		switch e.State {
		case Collapsed:
			bad = append(bad, e.Edge)
		case Vulnerable:
			open = append(open, e.Edge)
		}
	}
	switch {
	case len(bad) > 0:
		return "no healthy state at this load: " + strings.Join(bad, ", ")
	case len(open) > 0:
		return "healthy, but a disturbance can leave it down: " + strings.Join(open, ", ")
	case len(r.Edges) == 0:
		return "no service with a capacity and a load: nothing to decide"
	}
	return "comes back from any disturbance that ends"
}
