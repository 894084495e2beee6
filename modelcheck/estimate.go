package modelcheck

import (
	"context"
	"fmt"
	"math"
	"time"
)

// estimateStates is how much of the space an estimate explores.
const estimateStates = 200_000

// Estimate predicts what a Check would take.
type Estimate struct {
	// Exact: the sample was the whole space; States is its size.
	Exact bool
	// States is the predicted number of distinct states; Low and High enclose it
	// as far as the sample tells, which is a rule of thumb and no bound.
	States, Low, High uint64
	Depth             int           // predicted largest distance from an initial state
	Bytes             int64         // predicted memory
	Time              time.Duration // predicted search time on this machine, as busy as it is now
	SampleStates      uint64
	SampleDepth       int
	Reason            string // why no prediction is possible (States is then what was seen)
}

// Predict explores the first layers of the model and continues their growth: the
// ratio of successive layers falls about geometrically in spaces with budgets.
func Predict(ctx context.Context, m Model, opt Options) (*Estimate, error) {
	opt.MaxStates = estimateStates
	opt.NoHistories = true
	s, err := newSearch(m, nil, opt)
	if err != nil {
		return nil, err
	}
	defer s.close()
	s.run(ctx)
	n := uint64(s.set.used.Load())
	e := &Estimate{SampleStates: n, SampleDepth: s.expanded, States: n, Low: n, High: n, Bytes: s.bytes(), Depth: s.result().Depth}
	e.Time = time.Since(s.began)
	if !s.halted() {
		e.Exact = true
		return e, nil
	}
	var sizes []float64 // of complete layers
	sum := 0.0
	for _, l := range s.layers[:s.expanded+1] {
		sizes = append(sizes, float64(states(l)))
		sum += float64(states(l))
	}
	mid, ok := extrapolate(sizes, 0.8)
	if !ok {
		e.Reason = fmt.Sprintf("the layers still grow too fast after %d states", n)
		return e, nil
	}
	low, _ := extrapolate(sizes, 1.2)
	high, ok := extrapolate(sizes, 0.5)
	e.States = uint64(sum + mid.states)
	e.Low = max(n, uint64(sum+low.states))
	e.High = uint64(sum + high.states)
	if !ok {
		e.High = math.MaxUint64
	}
	e.Depth = s.expanded + mid.layers
	scale := float64(e.States) / float64(n)
	perState := float64(8*m.Shape().Words) + 16
	e.Bytes = int64(perState * float64(e.States))
	e.Time = time.Duration(float64(e.Time) * scale)
	return e, nil
}

// rest is the part of a space beyond the sample.
type rest struct {
	states float64
	layers int
}

// extrapolate fits a line to the logarithm of the ratio of successive layers and
// follows it, with its slope times steeper, until layers vanish.
func extrapolate(sizes []float64, steeper float64) (rest, bool) {
	var xs, ys []float64
	for d := len(sizes) / 2; d+1 < len(sizes); d++ {
		if sizes[d] > 0 {
			xs = append(xs, float64(d))
			ys = append(ys, math.Log(sizes[d+1]/sizes[d]))
		}
	}
	if len(xs) < 3 {
		return rest{}, false
	}
	mx, my := mean(xs), mean(ys)
	var sxy, sxx float64
	for i := range xs {
		sxy += (xs[i] - mx) * (ys[i] - my)
		sxx += (xs[i] - mx) * (xs[i] - mx)
	}
	slope := sxy / sxx * steeper
	last := len(sizes) - 1
	growth := my + sxy/sxx*(float64(last)-0.5-mx) // at the last measured ratio
	if slope >= -1e-3 && growth > -0.05 {
		return rest{}, false
	}
	var r rest
	for size := sizes[last]; size > 1 && r.layers < 10_000; r.layers++ {
		growth += min(slope, -1e-3)
		size *= math.Exp(growth)
		r.states += size
		if math.IsInf(r.states, 0) {
			return rest{}, false
		}
	}
	return r, true
}

func mean(v []float64) float64 {
	s := 0.0
	for _, x := range v {
		s += x
	}
	return s / float64(len(v))
}
