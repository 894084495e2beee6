package des

import (
	"math"

	"github.com/relplan/relplan/retrytree/storm/budget"
)

const (
	none     = ^uint32(0)
	forever  = int64(math.MaxInt64 / 4)
	maxLive  = 3   // attempts of one call that may be outstanding (hedging)
	levels   = 128 // priorities
	noParent = none
)

// states of an attempt.
const (
	stFree uint8 = iota
	stTransit
	stQueued
	stServing
	stWaiting   // own work done, downstream calls under way
	stReturning // response under way
)

// outcomes of an attempt as the client sees them.
const (
	outOK uint8 = iota
	outError
	outRejected
	outTimeout
)

// attempt is one execution at a server. It outlives the client's interest.
type attempt struct {
	arr, deadline int64
	call          uint32 // client's call, valid while live(call, number)
	number        uint32 // serial number of the attempt in that call slot
	gen           uint32 // of this slot
	child         uint32 // head of the list of downstream calls under way
	edge          uint16
	pos           uint16 // next downstream edge
	rep           uint16 // repetition of it already made
	pending       uint16 // downstream calls under way
	state         uint8
	prio          uint8
	outcome       uint8
	gone          bool // cancelled while in the queue or in transit
	doomed        bool // a parallel downstream call failed
}

type liveAttempt struct {
	number uint32
	att    uint32
	paid   uint8 // 0 first try, 1 paid, 2 paid after a timeout
}

// call is one logical call of a client, all its attempts.
type call struct {
	start, deadline int64
	live            [maxLive]liveAttempt
	parent          uint32 // attempt that makes the call, noParent from outside
	sibling         uint32 // next in the parent's list
	serial          uint32 // number of the last attempt; only grows in a slot
	inst            uint32
	made            uint16 // attempts made in this call
	nlive           uint8
	prio            uint8
	edge            uint16
	late            bool // last failure was a timeout
	waiting         bool // a further attempt is due
	source          uint16
}

type node struct {
	cfg      *Node
	ring     []uint32
	head     uint32
	n        int // waiting, cancelled ones included
	gone     int // cancelled ones among them
	busy     int
	inside   int // waiting, serving and holding
	servers  int
	room     int // most that may wait
	speed    float64
	extra    int64 // added latency
	refuse   bool
	calls    []int32 // edges downstream
	svc      *sampler
	misc     *sampler
	mean     float64 // ns, service
	order    Order
	above    int // AdaptiveLIFO
	shed     bool
	hold     bool
	parallel bool
	limited  bool
	failProb float64
	plain    bool // none of the optional rules
	early    bool // tests deadlines at the head
	stalled  []stalled
	ctl      control
	blockTil int64
	stats    NodeStats
}

type stalled struct {
	att, gen uint32
	work     int64
}

type instance struct {
	budget budget.State
	brk    breaker
	thr    throttle
}

type edge struct {
	cfg       *Edge
	to        uint16
	attempts  uint16
	timeout   int64
	lane      int // timeouts
	laneHedge int
	laneNet   int // requests, constant network delay
	laneBack  int // constant backoff
	backoff   int64
	hedge     int64
	overall   int64 // limit of the whole call
	cancels   bool
	waits     bool
	lost      float64
	net       *sampler
	misc      *sampler
	hasNet    bool
	prob      float64
	calls     uint16
	budget    budget.Compiled
	clients   uint32
	inst      []instance
	guarded   bool // budget, breaker or throttle
	stats     EdgeStats
}

type source struct {
	cfg   *Source
	edge  int
	rate  float64
	scale float64 // mean gap, ns
	gen   uint32
	arr   *sampler
	think *sampler
	gap   int64 // Regular
	even  bool
	open  bool
}

// Sim runs one replication after another in the same memory.
type Sim struct {
	cfg      Config
	now      int64
	warm     int64
	ag       agenda
	nodes    []node
	edges    []edge
	sources  []source
	atts     []attempt
	freeAtt  []uint32
	calls    []call
	freeCall []uint32
	changes  []change
	active   int // triggers not yet over
	ended    int64
	factor   float64 // of the source rates
	events   uint64
	stale    uint64
	route    *sampler
	samplers []*sampler
	lanes    []int64 // delay of each lane
	rec      recorder
	maxQ     int
	stop     bool
	prior    bool // some node sheds by priority
}

// New prepares a simulator; the configuration must pass Validate.
func New(cfg Config) (*Sim, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Sim{cfg: cfg}
	s.maxQ = cfg.MaxBacklog
	if s.maxQ == 0 {
		s.maxQ = 10_000_000
	}
	s.warm = int64(cfg.Warmup)
	s.buildNodes()
	s.buildEdges()
	for i := range s.cfg.Sources {
		sc := &s.cfg.Sources[i]
		src := source{cfg: sc, edge: sc.Edge, arr: s.sampler(Dist{Kind: Exponential}, 1, i), think: s.sampler(sc.Think, 2, i),
			even: sc.Regular, open: sc.Clients == 0}
		s.sources = append(s.sources, src)
	}
	s.route = s.sampler(Dist{}, 3, 0)
	s.buildChanges()
	s.rec.build(s)
	return s, nil
}

// sampler makes a stream whose number depends only on what it is for.
func (s *Sim) sampler(d Dist, purpose, i int) *sampler {
	sm := newSampler(d, uint64(purpose)<<32|uint64(i))
	s.samplers = append(s.samplers, sm)
	return sm
}

func (s *Sim) buildNodes() {
	s.nodes = make([]node, len(s.cfg.Nodes))
	for i := range s.nodes {
		c := &s.cfg.Nodes[i]
		n := &s.nodes[i]
		n.cfg = c
		n.servers = c.Servers
		if c.Servers == 0 {
			n.servers = math.MaxInt
		}
		n.room = c.Queue
		switch {
		case c.Queue == 0:
			n.room = math.MaxInt
		case c.Queue < 0:
			n.room = 0
		}
		n.mean = c.Service.MeanNS()
		n.svc = s.sampler(c.Service, 10, i)
		n.misc = s.sampler(Dist{}, 11, i)
		n.order, n.above, n.shed, n.hold, n.parallel = c.Order, c.LIFOAbove, c.Shed.Wait > 0, c.Hold, c.Parallel
		n.limited, n.failProb = c.Limit.Kind != NoLimit, c.FailProb
		n.early = c.DropExpired || c.Admit || c.CoDel.Target > 0
		n.plain = !n.early && c.Limit.Kind == NoLimit && c.Shed.Wait == 0 && c.Slope == 0 && c.RejectWork == 0 && c.FailProb == 0
		s.prior = s.prior || c.Shed.Wait > 0
	}
}

func (s *Sim) buildEdges() {
	s.edges = make([]edge, len(s.cfg.Edges))
	for i := range s.edges {
		c := &s.cfg.Edges[i]
		e := &s.edges[i]
		*e = edge{cfg: c, to: uint16(c.To), attempts: uint16(c.Attempts), timeout: int64(c.Timeout),
			prob: c.Prob, calls: uint16(max(1, c.Calls)), budget: c.Budget.Compile(), clients: uint32(max(1, c.Clients)),
			lane: -1, laneHedge: -1, laneNet: -1, laneBack: -1}
		if c.Prob == 0 && !c.Never {
			e.prob = 1
		}
		e.hasNet = c.Network.MeanNS() > 0
		e.net = s.sampler(c.Network, 20, i)
		e.misc = s.sampler(Dist{}, 21, i)
		e.guarded = c.Budget.Kind != budget.Unlimited || c.Breaker.Window > 0 || c.Throttle > 0
		// One lane serves all timers of the same delay.
		lane := func(want bool, d int64) int {
			if !want {
				return -1
			}
			for k, have := range s.lanes {
				if have == d {
					return k
				}
			}
			s.lanes = append(s.lanes, d)
			return len(s.lanes) - 1
		}
		e.lane = lane(c.Timeout > 0, e.timeout)
		e.hedge = int64(c.Hedge)
		e.laneHedge = lane(c.Hedge > 0, e.hedge)
		e.laneNet = lane(e.hasNet && c.Network.Kind == Constant, int64(c.Network.Mean))
		e.backoff = int64(c.Backoff.Base)
		constant := len(c.Backoff.Table) == 0 && c.Backoff.Jitter == NoJitter && (c.Backoff.Factor == 0 || c.Backoff.Factor == 1) && (c.Backoff.Max == 0 || c.Backoff.Max >= c.Backoff.Base)
		e.laneBack = lane(e.backoff > 0 && constant, e.backoff)
		e.cancels = c.Cancel != CancelNone
		e.waits = e.backoff > 0 || len(c.Backoff.Table) > 0
		e.lost = c.Lost
		e.overall = int64(c.Deadline)
		if e.guarded {
			e.inst = make([]instance, e.clients)
		}
		if c.From >= 0 {
			s.nodes[c.From].calls = append(s.nodes[c.From].calls, int32(i))
		}
	}
}

// reset puts the simulator at time 0 of a replication with this seed.
func (s *Sim) reset(seed uint64) {
	s.now, s.stop, s.events, s.stale = 0, false, 0, 0
	s.factor, s.ended = 1, 0
	s.ag.reset(len(s.lanes))
	s.atts, s.freeAtt = s.atts[:0], s.freeAtt[:0]
	s.calls, s.freeCall = s.calls[:0], s.freeCall[:0]
	for _, sm := range s.samplers {
		sm.reseed(seed)
	}
	for i := range s.nodes {
		n := &s.nodes[i]
		n.head, n.n, n.gone, n.busy, n.inside = 0, 0, 0, 0, 0
		n.speed, n.extra, n.refuse, n.blockTil = 1, 0, false, 0
		n.stalled = n.stalled[:0]
		n.stats = NodeStats{}
		n.ctl.init(n.cfg)
		if n.cfg.Shed.Wait > 0 {
			s.ag.push(int64(n.shedPeriod()), evShed, i, 0, 0)
		}
	}
	for i := range s.edges {
		e := &s.edges[i]
		e.stats = EdgeStats{}
		if e.prob = e.cfg.Prob; e.prob == 0 && !e.cfg.Never {
			e.prob = 1
		}
		for k := range e.inst {
			e.inst[k] = instance{}
			e.inst[k].budget.Init(&e.budget)
		}
	}
	s.rec.reset(s)
	s.active = 0
	for i := range s.changes {
		c := &s.changes[i]
		s.ag.push(c.at, evChange, 0, uint32(i), 0)
		if c.last {
			s.active++
		}
	}
	s.preload()
	for i := range s.sources {
		src := &s.sources[i]
		src.gen = 0
		src.setRate(src.cfg.Rate)
		if src.cfg.Clients > 0 {
			for range src.cfg.Clients {
				s.ag.push(src.think.draw(), evArrival, i, 0, 0)
			}
			continue
		}
		s.ag.push(src.first(), evArrival, i, 0, 0)
	}
}

func (src *source) setRate(rate float64) {
	src.rate = rate
	src.scale = 1e9 / rate
	src.gap = int64(math.Round(src.scale))
}

func (src *source) first() int64 {
	if src.cfg.Regular {
		return src.gap
	}
	return int64(src.arr.exp() * src.scale)
}

// preload fills queues with attempts whose clients have given up.
func (s *Sim) preload() {
	for i, k := range s.cfg.Preload {
		if i >= len(s.nodes) {
			break
		}
		into := -1
		for j := range s.edges {
			if int(s.edges[j].to) == i {
				into = j
				break
			}
		}
		n := &s.nodes[i]
		for range k {
			if into < 0 || n.busy >= n.servers && n.n >= n.room {
				break
			}
			ai := s.newAttempt()
			a := &s.atts[ai]
			a.call, a.number, a.edge = none, 0, uint16(into)
			a.arr, a.deadline, a.state = 0, forever, stQueued
			a.pos = uint16(len(n.calls)) // own work only
			n.inside++
			if n.busy < n.servers {
				s.start(n, i, ai)
			} else {
				n.push(ai)
			}
		}
	}
}

// loop processes events up to and including time until.
func (s *Sim) loop(until int64) {
	var ev event
	for !s.stop && s.ag.next(until, &ev) {
		s.now = ev.t
		s.events++
		switch ev.kind() {
		case evArrival:
			s.arrival(ev.sub(), ev.g)
		case evService:
			s.served(ev.sub(), ev.a, ev.g)
		case evTimeout:
			s.timeout(ev.a, ev.g)
		case evRetry:
			s.retryDue(ev.a, ev.g)
		case evReach:
			s.reach(ev.a)
		case evReturn:
			s.returned(ev.a, nil)
		case evHedge:
			s.hedgeDue(ev.a, ev.g)
		case evCancel:
			s.cancel(ev.a, ev.g)
		case evChange:
			s.change(int(ev.a))
		case evTick:
			s.rec.tick(s)
		case evShed:
			s.shedTick(ev.sub())
		case evWake:
			s.dispatch(ev.sub())
		}
	}
}

func (s *Sim) arrival(i int, gen uint32) {
	src := &s.sources[i]
	if src.open {
		if gen != src.gen {
			s.stale++
			return
		}
		gap := src.gap
		if !src.even {
			gap = int64(src.arr.exp() * src.scale)
		}
		s.ag.push(s.now+gap, evArrival, i, 0, gen)
	}
	prio := uint8(0)
	if s.prior {
		prio = uint8(s.route.uniform(levels))
	}
	s.newCall(src.edge, noParent, forever, prio, uint16(i))
}

func (s *Sim) newAttempt() uint32 {
	if k := len(s.freeAtt); k > 0 {
		i := s.freeAtt[k-1]
		s.freeAtt = s.freeAtt[:k-1]
		return i
	}
	s.atts = append(s.atts, attempt{child: none})
	return uint32(len(s.atts) - 1)
}

func (s *Sim) dropAttempt(ai uint32) {
	a := &s.atts[ai]
	a.gen++
	a.state = stFree
	a.gone, a.doomed = false, false
	a.child = none
	a.pos, a.rep, a.pending = 0, 0, 0
	s.freeAtt = append(s.freeAtt, ai)
}

func (n *node) push(ai uint32) {
	if n.n == len(n.ring) {
		n.growRing()
	}
	n.ring[(n.head+uint32(n.n))&uint32(len(n.ring)-1)] = ai
	n.n++
}

func (n *node) growRing() {
	ring := make([]uint32, max(64, 2*len(n.ring)))
	for i := range n.n {
		ring[i] = n.ring[(n.head+uint32(i))&uint32(len(n.ring)-1)]
	}
	n.ring, n.head = ring, 0
}

func (n *node) popFront() uint32 {
	ai := n.ring[n.head&uint32(len(n.ring)-1)]
	n.head++
	n.n--
	return ai
}

func (n *node) popBack() uint32 {
	n.n--
	return n.ring[(n.head+uint32(n.n))&uint32(len(n.ring)-1)]
}
