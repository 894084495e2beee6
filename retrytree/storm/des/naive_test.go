package des

import (
	"container/heap"
	"testing"
	"time"

	"github.com/relplan/relplan/retrytree/storm/budget"
	"pgregory.net/rapid"
)

// A second, dumb implementation of one service and its clients: closures in a
// container/heap, maps, one object for each request. It draws from the same
// streams in the same order, so that every count must be equal.

type naiveEvent struct {
	t   int64
	seq int
	f   func()
}

type naiveHeap []naiveEvent

func (h naiveHeap) Len() int { return len(h) }
func (h naiveHeap) Less(i, j int) bool {
	return h[i].t < h[j].t || h[i].t == h[j].t && h[i].seq < h[j].seq
}
func (h naiveHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *naiveHeap) Push(x any)   { *h = append(*h, x.(naiveEvent)) }
func (h *naiveHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

type naiveSim struct {
	cfg            Config
	now            int64
	seq            int
	h              naiveHeap
	queue          []*naiveAttempt
	busy           int
	svc, arr, misc *sampler
	node           NodeStats
	edge           EdgeStats
	bud            budget.State
	comp           budget.Compiled
	gaveUp         map[*naiveAttempt]bool
}

type naiveRequest struct {
	made int
	done bool
}

type naiveAttempt struct {
	req      *naiveRequest
	paid     uint8
	arr      int64
	deadline int64
	answered bool
}

func (s *naiveSim) at(t int64, f func()) {
	s.seq++
	heap.Push(&s.h, naiveEvent{t, s.seq, f})
}

func (s *naiveSim) run(seed uint64) {
	s.svc, s.arr, s.misc = newSampler(s.cfg.Nodes[0].Service, 10<<32), newSampler(Dist{Kind: Exponential}, 1<<32), newSampler(Dist{}, 21<<32)
	for _, x := range []*sampler{s.svc, s.arr, s.misc} {
		x.reseed(seed)
	}
	s.gaveUp = map[*naiveAttempt]bool{}
	s.comp = s.cfg.Edges[0].Budget.Compile()
	s.bud.Init(&s.comp)
	gap := func() int64 { return int64(s.arr.exp() * (1e9 / s.cfg.Sources[0].Rate)) }
	var arrive func()
	arrive = func() {
		s.at(s.now+gap(), arrive)
		s.edge.Calls++
		s.bud.Start(&s.comp, s.now)
		s.send(&naiveRequest{}, 0)
	}
	s.at(gap(), arrive)
	for len(s.h) > 0 {
		ev := heap.Pop(&s.h).(naiveEvent)
		if ev.t > int64(s.cfg.Horizon) {
			return
		}
		s.now = ev.t
		ev.f()
	}
}

func (s *naiveSim) send(r *naiveRequest, paid uint8) {
	r.made++
	s.edge.Attempts++
	a := &naiveAttempt{req: r, paid: paid, arr: s.now, deadline: s.now + int64(s.cfg.Edges[0].Timeout)}
	s.at(a.deadline, func() {
		if a.answered || s.gaveUp[a] {
			return
		}
		s.gaveUp[a] = true
		s.edge.Timeouts++
		s.failed(a, outTimeout)
	})
	s.node.Arrivals++
	n := s.cfg.Nodes[0]
	switch {
	case s.busy < n.Servers:
		s.start(a)
	case n.Queue > 0 && len(s.queue) >= n.Queue:
		s.node.Rejected++
		s.answer(a, outRejected)
	default:
		s.queue = append(s.queue, a)
	}
}

func (s *naiveSim) start(a *naiveAttempt) {
	s.busy++
	s.node.Started++
	s.at(s.now+s.svc.draw(), func() {
		s.node.Served++
		if s.gaveUp[a] {
			s.node.Wasted++
		}
		s.node.Sojourn += s.now - a.arr
		s.busy--
		for len(s.queue) > 0 && s.busy < s.cfg.Nodes[0].Servers {
			var b *naiveAttempt
			if s.cfg.Nodes[0].Order == LIFO {
				b = s.queue[len(s.queue)-1]
				s.queue = s.queue[:len(s.queue)-1]
			} else {
				b = s.queue[0]
				s.queue = s.queue[1:]
			}
			if s.cfg.Nodes[0].DropExpired && s.now >= b.deadline {
				s.node.Dropped++
				s.answer(b, outRejected)
				continue
			}
			s.start(b)
		}
		s.answer(a, outOK)
	})
}

func (s *naiveSim) answer(a *naiveAttempt, out uint8) {
	if s.gaveUp[a] {
		s.edge.Late++
		return
	}
	a.answered = true
	if out != outOK {
		s.failed(a, out)
		return
	}
	s.settle(a, true)
	s.edge.OK++
	s.bud.End(&s.comp, true)
}

func (s *naiveSim) settle(a *naiveAttempt, ok bool) {
	if !ok {
		s.bud.Fail(&s.comp)
	}
	if a.paid > 0 {
		s.bud.RetryEnded(&s.comp, ok, a.paid == 2)
	}
}

func (s *naiveSim) failed(a *naiveAttempt, out uint8) {
	if out == outRejected {
		s.edge.Rejected++
	}
	s.settle(a, false)
	e := s.cfg.Edges[0]
	late := out == outTimeout
	if a.req.made < e.Attempts {
		wait := int64(0)
		if e.Backoff.Base > 0 {
			b := float64(e.Backoff.Base)
			for range a.req.made - 1 {
				b *= e.Backoff.Factor
			}
			if e.Backoff.Max > 0 {
				b = min(b, float64(e.Backoff.Max))
			}
			wait = s.misc.uniform(int64(b))
		}
		if s.bud.Allow(&s.comp, s.now, late) {
			paid := uint8(1)
			if late {
				paid = 2
			}
			if wait == 0 {
				s.send(a.req, paid)
			} else {
				s.at(s.now+wait, func() { s.send(a.req, paid) })
			}
			return
		}
		s.edge.OverBudget++
	}
	s.edge.Failed++
	s.bud.End(&s.comp, false)
}

func TestAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mu := rapid.Float64Range(20, 200).Draw(t, "mu")
		c := rapid.IntRange(1, 4).Draw(t, "servers")
		cfg := single(mu*float64(c)*rapid.Float64Range(.3, 1.6).Draw(t, "rho"), mu, time.Duration(rapid.IntRange(20, 900).Draw(t, "timeout"))*time.Millisecond, rapid.IntRange(1, 5).Draw(t, "attempts"))
		n := &cfg.Nodes[0]
		n.Servers = c
		n.Queue = rapid.SampledFrom([]int{0, 3, 40}).Draw(t, "queue")
		if n.Queue == 0 && rapid.Bool().Draw(t, "lifo") {
			n.Order = LIFO
		}
		n.DropExpired = rapid.Bool().Draw(t, "drop")
		n.Service.Kind = rapid.SampledFrom([]DistKind{Exponential, Constant, Uniform}).Draw(t, "service")
		if rapid.Bool().Draw(t, "backoff") {
			cfg.Edges[0].Backoff = Backoff{Base: 20 * time.Millisecond, Factor: 2, Max: 100 * time.Millisecond, Jitter: FullJitter}
		}
		cfg.Edges[0].Budget = budget.Policy{Kind: rapid.SampledFrom([]budget.Kind{budget.Unlimited, budget.FirstTry, budget.Success, budget.GRPC, budget.Cost, budget.Window, budget.Concurrent, budget.Rate}).Draw(t, "budget"), Ratio: .15, Floor: 2}
		cfg.Horizon = 20 * time.Second
		seed := rapid.Uint64().Draw(t, "seed")
		fast, err := Run(cfg, seed)
		if err != nil {
			t.Fatal(err)
		}
		slow := &naiveSim{cfg: cfg}
		slow.run(seed)
		if fast.Nodes[0] != slow.node {
			t.Fatalf("node\n%+v\n%+v", fast.Nodes[0], slow.node)
		}
		if fast.Edges[0] != slow.edge {
			t.Fatalf("edge\n%+v\n%+v", fast.Edges[0], slow.edge)
		}
	})
}
