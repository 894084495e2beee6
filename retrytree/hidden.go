package retrytree

import (
	"math"

	"github.com/relplan/relplan/deadline"
)

// This file carries Markov-modulated domains as a hidden state. A call is then
// not a number but a pair of matrices over the M = 2^d states:
//
//	S[x][y]  the call succeeds and the state goes from x to y
//	F[x][y]  the call fails and the state goes from x to y
//	G[x][y]  expected attempts that start in state y when the call starts in x
//
// A retry loop is S = sum R_k s, F = R_{n-1} f, G = sum R_k with R_0 = 1 and
// R_{k+1} = R_k f W_{k+1}, where s and f belong to one attempt and W_k is the
// motion of the state during wait k. Only waits take time: attempts fail at
// once. Waits have their mean length.

// matrix is square, row by row.
type matrix struct {
	m int
	v []float64
}

func newMatrix(m int) matrix { return matrix{m, make([]float64, m*m)} }

func identity(m int) matrix {
	a := newMatrix(m)
	for i := range m {
		a.v[i*m+i] = 1
	}
	return a
}

func (a matrix) mul(b matrix) matrix {
	c := newMatrix(a.m)
	for i := range a.m {
		for k := range a.m {
			if x := a.v[i*a.m+k]; x != 0 {
				for j := range a.m {
					if y := b.v[k*a.m+j]; y != 0 { // 0 times an unbounded count is 0
						c.v[i*a.m+j] += x * y
					}
				}
			}
		}
	}
	return c
}

// addScaled adds f*b to a in place.
func (a matrix) addScaled(b matrix, f float64) {
	for i, x := range b.v {
		if x != 0 {
			a.v[i] += f * x
		}
	}
}

// scaleColumns multiplies column j by d[j]: what happens in the state reached.
func (a matrix) scaleColumns(d []float64) matrix {
	c := newMatrix(a.m)
	for i, x := range a.v {
		c.v[i] = x * d[i%a.m]
	}
	return c
}

func (a matrix) rowSum(i int) float64 {
	s := 0.0
	for _, x := range a.v[i*a.m : (i+1)*a.m] {
		s += x
	}
	return s
}

func (a matrix) largest() float64 {
	l := 0.0
	for i := range a.m {
		l = max(l, a.rowSum(i))
	}
	return l
}

// row is a row vector times a matrix.
func row(v []float64, a matrix) []float64 {
	out := make([]float64, a.m)
	for i, x := range v {
		for j := range a.m {
			out[j] += x * a.v[i*a.m+j]
		}
	}
	return out
}

func total(v []float64) float64 {
	s := 0.0
	for _, x := range v {
		s += x
	}
	return s
}

// callOp is a call as matrices.
type callOp struct{ s, f, g matrix }

// motion is the motion of all hidden states during a wait, in seconds.
func (x *expectation) motion(seconds float64) matrix {
	m := 1 << len(x.moving)
	w := newMatrix(m)
	for a := range m {
		for b := range m {
			p := 1.0
			for i, d := range x.moving {
				p *= x.o.Domains[d].move(a>>i&1 == 1, b>>i&1 == 1, seconds)
			}
			w.v[a*m+b] = p
		}
	}
	return w
}

// move is the probability of going from one state to another in the given time.
// Outages end at rate 1/MeanOutage and begin so that the share Outage holds:
// the difference from the mean decays with exp(-t/((1-Outage)*MeanOutage)).
func (d *Domain) move(from, to bool, seconds float64) float64 {
	decay := math.Exp(-seconds / ((1 - d.Outage) * d.MeanOutage.Seconds()))
	p := d.Outage * (1 - decay)
	if from {
		p = d.Outage + (1-d.Outage)*decay
	}
	if to {
		return p
	}
	return 1 - p
}

// hidden is one combination of the fixed domains with hidden states.
func (x *expectation) hidden(out []bool, weight float64) {
	g := x.g
	m := 1 << len(x.moving)
	ops := make([]callOp, len(g.edges))
	oks := make([]matrix, len(g.nodes)) // execution succeeds / fails
	bad := make([]matrix, len(g.nodes))
	for i := len(x.reach) - 1; i >= 0; i-- {
		u := x.reach[i]
		for j := g.first[u]; j < g.first[u+1]; j++ {
			to := g.edges[j].to
			ops[j] = x.loopOp(j, oks[to], bad[to])
		}
		done, failed := x.walk(u, ops, nil, nil)
		own := make([]float64, m)
		pass := make([]float64, m)
		for s := range m {
			for i, d := range x.moving {
				out[d] = s>>i&1 == 1
			}
			own[s] = x.ownFailure(u, out)
			pass[s] = 1 - own[s]
		}
		oks[u] = done.scaleColumns(pass)
		bad[u] = done.scaleColumns(own)
		bad[u].addScaled(failed, 1)
	}
	load := make([][]float64, len(g.nodes))
	load[x.root] = x.meanState()
	x.out.Success += weight * total(row(load[x.root], oks[x.root]))
	for _, u := range x.reach {
		if load[u] == nil {
			load[u] = make([]float64, m)
		}
		x.out.Nodes[u].Executions += weight * total(load[u])
		x.failSum[u] += weight * total(row(load[u], bad[u]))
		x.walk(u, ops, load[u], func(j int32, calls []float64) {
			starts := row(calls, ops[j].g)
			to := g.edges[j].to
			if load[to] == nil {
				load[to] = make([]float64, m)
			}
			for s, v := range starts {
				load[to][s] += v
			}
			e := &x.out.Edges[j]
			e.Calls += weight * total(calls)
			e.Attempts += weight * total(starts)
			x.edgeBad[j] += weight * total(row(calls, ops[j].f))
		})
	}
	x.noteHidden()
}

// meanState is the probability of every combination of the hidden states.
func (x *expectation) meanState() []float64 {
	v := make([]float64, 1<<len(x.moving))
	for s := range v {
		v[s] = 1
		for i, d := range x.moving {
			if s>>i&1 == 1 {
				v[s] *= x.o.Domains[d].Outage
			} else {
				v[s] *= 1 - x.o.Domains[d].Outage
			}
		}
	}
	return v
}

// noteHidden says once what the hidden state leaves out.
func (x *expectation) noteHidden() {
	if x.out.States > 1 {
		return
	}
	g := x.g
	for _, u := range x.reach {
		if g.nodes[u].Parallel && g.first[u+1]-g.first[u] > 1 {
			x.out.Method = Approximate
			x.out.Notes = append(x.out.Notes, "parallel calls start in the same hidden state and leave it as it was")
			break
		}
	}
	budget, hedge := "", ""
	for _, u := range x.reach {
		for j := g.first[u]; j < g.first[u+1]; j++ {
			for _, l := range x.layers[j] {
				if l.budget != nil && budget == "" {
					budget = g.edgeName(j)
				}
				if l.hedge != nil && hedge == "" {
					hedge = g.edgeName(j)
				}
			}
		}
	}
	if budget != "" {
		x.out.Method = Approximate
		x.out.Notes = append(x.out.Notes, "budgets were balanced for calls that begin in the mean state: "+budget)
	}
	if hedge != "" {
		x.out.Notes = append(x.out.Notes, "copies of hedges were taken as retries beside Markov-modulated domains: "+hedge)
	}
}

// loopTerms bounds the attempts that are played one by one; a loop that is
// still going then is closed with the share it has.
const loopTerms = 100_000

// loopOp plays the layers of one call over one execution (ok, bad) of the
// service called.
func (x *expectation) loopOp(j int32, ok, bad matrix) callOp {
	c := x.g.callOf(j)
	op := callOp{s: newMatrix(ok.m), f: newMatrix(ok.m), g: identity(ok.m)}
	op.s.addScaled(ok, 1-c.Failure)
	op.f.addScaled(bad, 1)
	op.f.addScaled(ok, c.Failure)
	ps := c.timing().policies
	for i := len(c.Layers) - 1; i >= 0; i-- {
		p := ps[i]
		n := p.Fast()
		if n <= 1 {
			continue
		}
		mean := func(k int64) float64 {
			if p.Waits == nil {
				return 0
			}
			low, high := p.Waits.Wait(k)
			return (low.Seconds() + high.Seconds()) / 2
		}
		if b := c.Layers[i].Budget; b != nil {
			op = x.budgeted(op, n, mean, b)
		} else {
			op, _ = x.repeat(op, n, mean, 1)
		}
	}
	return op
}

// repeat makes a loop of at most n rounds of an operation, in which a share of
// the further rounds is allowed; it also returns the expected rounds by the
// state they begin in.
func (x *expectation) repeat(one callOp, n int64, wait func(k int64) float64, allowed float64) (callOp, matrix) {
	m := one.s.m
	s, f, g, r := newMatrix(m), newMatrix(m), newMatrix(m), identity(m)
	lastWait, w := math.NaN(), matrix{}
	for k := int64(1); ; k++ {
		g.addScaled(r, 1)
		s.addScaled(r.mul(one.s), 1)
		r = r.mul(one.f)
		if k == n || allowed == 0 || r.largest() < 1e-18 {
			f.addScaled(r, 1)
			break
		}
		if k == loopTerms {
			more := float64(n - k) // hardly anything gets through any more
			if n == deadline.Unlimited {
				more = math.Inf(1)
			}
			g.addScaled(r, more)
			f.addScaled(r, 1)
			break
		}
		if d := wait(k); d != lastWait {
			lastWait, w = d, x.motion(d)
		}
		f.addScaled(r, 1-allowed)
		r = r.mul(w)
		for i := range r.v {
			r.v[i] *= allowed
		}
	}
	return callOp{s: s, f: f, g: g.mul(one.g)}, g
}

// budgeted is repeat under a budget in the long run: the share of retries that
// is allowed makes deposits and retries equal for calls that begin in the mean
// state.
func (x *expectation) budgeted(one callOp, n int64, wait func(k int64) float64, b *Budget) callOp {
	mean := x.meanState()
	over := func(allowed float64) (callOp, bool) {
		op, rounds := x.repeat(one, n, wait, allowed)
		success := total(row(mean, op.s))
		return op, total(row(mean, rounds)) > 1+b.deposits(success)
	}
	op, tooMany := over(1)
	if !tooMany {
		return op
	}
	lo, hi := 0.0, 1.0
	for range 60 {
		mid := (lo + hi) / 2
		if _, tooMany := over(mid); tooMany {
			hi = mid
		} else {
			lo = mid
		}
	}
	op, _ = over(lo)
	return op
}

// walk plays the calls of one execution of u. With start it also reports, for
// every edge, the expected calls by the state they begin in. It returns the
// matrices of "all calls succeeded" and "one failed".
func (x *expectation) walk(u int32, ops []callOp, start []float64, calls func(j int32, calls []float64)) (done, failed matrix) {
	g := x.g
	m := 1 << len(x.moving)
	done, failed = identity(m), newMatrix(m)
	parallel := g.nodes[u].Parallel
	seen := map[int32]bool{}
	for j := g.first[u]; j < g.first[u+1]; j++ {
		if grp := g.edges[j].group; grp > 0 {
			if seen[grp] {
				continue
			}
			seen[grp] = true
		}
		pass, lost := newMatrix(m), newMatrix(m)
		for _, mem := range g.members(u, j) {
			copies := g.callOf(mem.edge).copies()
			ok, bad, issued := ops[mem.edge].serial(copies)
			if parallel {
				ok, bad, issued = ops[mem.edge].parallel(copies)
			}
			pass.addScaled(ok, mem.share)
			lost.addScaled(bad, mem.share)
			if calls != nil {
				at := start
				if !parallel {
					at = row(start, done)
				}
				v := row(at, issued)
				for s := range v {
					v[s] *= mem.share
				}
				calls(mem.edge, v)
			}
		}
		failed.addScaled(done.mul(lost), 1)
		done = done.mul(pass)
	}
	return done, failed
}

// serial makes copies one after the other until one fails; issued maps the
// state at the start to the states in which copies begin.
func (o callOp) serial(copies int64) (ok, bad, issued matrix) {
	m := o.s.m
	ok, bad, issued = identity(m), newMatrix(m), newMatrix(m)
	for k := int64(0); k < copies && ok.largest() > 1e-18; k++ {
		issued.addScaled(ok, 1)
		bad.addScaled(ok.mul(o.f), 1)
		ok = ok.mul(o.s)
	}
	return ok, bad, issued
}

// parallel issues all copies in the state of the start and leaves it as it was.
func (o callOp) parallel(copies int64) (ok, bad, issued matrix) {
	m := o.s.m
	ok, bad, issued = newMatrix(m), newMatrix(m), newMatrix(m)
	for s := range m {
		p := math.Pow(o.s.rowSum(s), float64(copies))
		ok.v[s*m+s], bad.v[s*m+s], issued.v[s*m+s] = p, 1-p, float64(copies)
	}
	return ok, bad, issued
}
