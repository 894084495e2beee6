package lower

import (
	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// Deadlocks (R5): when waits form a cycle, the engine rolls one member back;
// each of them is a possible victim.

// waiting is a place at which a run can wait.
type waiting struct {
	p *process
	n *node
}

// waitingPlaces lists the steps that can wait for a lock of another run.
func (lw *lowering) waitingPlaces() []waiting {
	if lw.waits != nil {
		return lw.waits
	}
	lw.waits = []waiting{}
	for _, p := range lw.order {
		for _, n := range p.inFileOrder() {
			if !n.located() || n.step.Replica {
				continue
			}
			if pl := p.emitter(n).planOf(n); pl.blocked != nil && !isFalse(pl.blocked) {
				lw.waits = append(lw.waits, waiting{p, n})
			}
		}
	}
	return lw.waits
}

// waitsFor is true while the instance me, at the place, needs what the
// transaction of the instance by holds.
func (w waiting) waitsFor(me ir.Expr, l *ir.Local, by *process, other ir.Expr) ir.Expr {
	em := w.p.emitter(w.n)
	em.self, em.me = l, me
	em.env = w.p.namesAt(w.n, me)
	em.by, em.byMe = by, other
	blocked := em.planOf(w.n).blocked
	if blocked == nil {
		return no
	}
	return and(same(load(w.p.pc, me), num(w.n.loc)), blocked)
}

// maxChains bounds the kinds of chains that the guard of a victim looks through.
const maxChains = 800

// deadlocks adds the way in which a run at this step can be a victim: it waits
// for a run that, directly or through others, waits for it.
func (p *process) deadlocks(n *node, add func(o *outcome, guard ir.Expr)) {
	self := waiting{p, n}
	if !holdsLocks(self) {
		return
	}
	r := p.lw.ringFor(p)
	first := func(by *process, other ir.Expr) ir.Expr { return self.waitsFor(use(p.self), p.self, by, other) }
	if cycle := r.through(p, use(p.self), first, r.length); !isFalse(cycle) {
		add(p.victim(), cycle)
	}
}

// ring looks for chains of waits that end at one run.
type ring struct {
	p       *process // the run they end at: the acting instance of p
	members []*process
	places  map[*process][]waiting // where its runs can wait and keep others waiting
	left    map[*process]int       // instances that a chain can still visit
	length  int                    // runs that a chain can have beside the last
}

func (lw *lowering) ringFor(p *process) *ring {
	r := &ring{p: p, places: map[*process][]waiting{}, left: map[*process]int{}}
	for _, w := range lw.waitingPlaces() {
		if !holdsLocks(w) {
			continue
		}
		if r.places[w.p] == nil {
			r.members = append(r.members, w.p)
			r.left[w.p] = w.p.set.Size
		}
		r.places[w.p] = append(r.places[w.p], w)
	}
	r.left[p]--
	all := 0
	for _, n := range r.left {
		all += n
	}
	for r.length = all; r.length > 2 && r.chains(r.length) > maxChains; {
		r.length--
	}
	if r.length < all {
		lw.noteOnce("deadlocks of more than %d transactions are not looked for: there are too many ways in which %d can wait for each other", r.length+1, all+1)
	}
	return r
}

// chains counts the kinds of chains of up to that length, by process.
func (r *ring) chains(length int) int {
	if length == 0 {
		return 0
	}
	n := 0
	for _, q := range r.members {
		if r.left[q] == 0 {
			continue
		}
		r.left[q]--
		n += 1 + r.chains(length-1)
		r.left[q]++
		if n > maxChains {
			break
		}
	}
	return n
}

// through is true if the run me of p waits (as waits says) for another run that
// waits for the last one of the chain, directly or through others. A chain that
// visits a run twice has a shorter one beside it, so that need not be excluded.
func (r *ring) through(p *process, me ir.Expr, waits func(by *process, other ir.Expr) ir.Expr, length int) ir.Expr {
	out := no
	if length == 0 {
		return out
	}
	for _, q := range r.members {
		if r.left[q] == 0 {
			continue
		}
		l := &ir.Local{Name: q.ast.Name}
		other := use(l)
		first := waits(q, other)
		if q == p {
			first = and(not(same(me, other)), first)
		}
		if isFalse(first) {
			continue
		}
		next := func(by *process, third ir.Expr) ir.Expr {
			any := no
			for _, w := range r.places[q] {
				any = or(any, w.waitsFor(other, l, by, third))
			}
			return any
		}
		r.left[q]--
		back := and(r.p.distinct(q, other), next(r.p, use(r.p.self)))
		back = or(back, r.through(q, other, next, length-1))
		r.left[q]++
		out = or(out, exists(l, ir.In(q.set), and(first, back)))
	}
	return out
}

// holdsLocks: only inside a block, or with a session lock, can a waiting run
// keep others waiting.
func holdsLocks(w waiting) bool {
	if w.n.block != nil {
		return true
	}
	for _, s := range w.p.ast.All {
		if s.Verb == ast.VerbLock && s.SessionLock {
			return true
		}
	}
	return false
}

func (p *process) distinct(q *process, other ir.Expr) ir.Expr {
	if p != q {
		return yes
	}
	return not(same(use(p.self), other))
}

func (p *process) victim() *outcome {
	return &outcome{branch: ast.OnError, guard: yes, text: "deadlock: it is the victim", why: Deadlock}
}
