package des

import (
	"math"
	"math/bits"
	"time"
)

// Fate is how a run ended. The zero value claims nothing.
type Fate uint8

// The fates.
const (
	Undecided Fate = iota
	// Recovered: goodput is back and no backlog of a timeout is left.
	Recovered
	// Collapsed: the triggers are over and goodput has not come back.
	Collapsed
)

// String names the fate.
func (f Fate) String() string { return [...]string{"undecided", "recovered", "collapsed"}[f] }

// NodeStats counts events at a node after the warm-up.
type NodeStats struct {
	Arrivals, Started, Served int64
	// Wasted counts executions that ended when the client had given up.
	Wasted int64
	// Rejected were refused at arrival, Dropped at the head of the queue,
	// Cancelled on behalf of the client.
	Rejected, Dropped, Cancelled int64
	// Sojourn is the total time in queue and service of Served, ns.
	Sojourn int64
}

// EdgeStats counts what clients of an edge did after the warm-up.
type EdgeStats struct {
	Calls, Attempts, OK, Failed int64
	Timeouts, Rejected, Errors  int64
	Late, Hedges                int64
	OverBudget, BreakerOpen     int64
	Throttled                   int64
}

func (a NodeStats) minus(b NodeStats) NodeStats {
	return NodeStats{a.Arrivals - b.Arrivals, a.Started - b.Started, a.Served - b.Served, a.Wasted - b.Wasted,
		a.Rejected - b.Rejected, a.Dropped - b.Dropped, a.Cancelled - b.Cancelled, a.Sojourn - b.Sojourn}
}

func (a EdgeStats) minus(b EdgeStats) EdgeStats {
	return EdgeStats{a.Calls - b.Calls, a.Attempts - b.Attempts, a.OK - b.OK, a.Failed - b.Failed,
		a.Timeouts - b.Timeouts, a.Rejected - b.Rejected, a.Errors - b.Errors, a.Late - b.Late, a.Hedges - b.Hedges,
		a.OverBudget - b.OverBudget, a.BreakerOpen - b.BreakerOpen, a.Throttled - b.Throttled}
}

// Point is one bucket of the recorded series. The counts are of the bucket,
// Backlog is the number waiting at its end.
type Point struct {
	// Offered are first tries from outside, Good responses in time,
	// Attempts all attempts from outside.
	Offered, Good, Attempts int32
	// Busiest is the largest number of attempts that arrived at one node.
	Busiest int32
	Backlog int32
}

// Result is one replication.
type Result struct {
	Seed uint64
	Fate Fate
	// Ended is the simulated time at which the run stopped, Trigger the time
	// at which the last trigger ended.
	Ended, Trigger time.Duration
	// Recovery is the time from the end of the last trigger until goodput
	// was back for good; only when Fate is Recovered.
	Recovery time.Duration
	// Events were processed; Stale of them were timers of attempts that had
	// already ended.
	Events, Stale uint64
	Nodes         []NodeStats
	Edges         []EdgeStats
	Series        []Point
	Bucket        time.Duration
	// Backlog is the number of attempts waiting at each node at the end.
	Backlog []int
	// Latency holds the times of successful requests from outside, when
	// Config.Latency asks for them.
	Latency Histogram
}

// Offered, Good and Attempts sum over the edges from outside.
func (r *Result) sum(cfg *Config, f func(*EdgeStats) int64) int64 {
	var n int64
	for i := range r.Edges {
		if cfg.Edges[i].From < 0 {
			n += f(&r.Edges[i])
		}
	}
	return n
}

// Goodput returns successful requests per first try from outside over the
// whole measured time.
func (r *Result) Goodput(cfg *Config) float64 {
	calls := r.sum(cfg, func(e *EdgeStats) int64 { return e.Calls })
	if calls == 0 {
		return 0
	}
	return float64(r.sum(cfg, func(e *EdgeStats) int64 { return e.OK })) / float64(calls)
}

// Histogram counts durations in buckets of 1/16 of a power of two.
type Histogram struct {
	Counts [64 * 16]int32
	N      int64
	Sum    int64
}

func (h *Histogram) add(d int64) {
	h.N++
	h.Sum += d
	u := uint64(max(d, 1))
	b := bits.Len64(u) - 1
	frac := uint64(0)
	if b >= 4 {
		frac = u >> (b - 4) & 15
	} else {
		frac = u << (4 - b) & 15
	}
	h.Counts[b*16+int(frac)]++
}

// Mean returns the mean duration.
func (h *Histogram) Mean() time.Duration {
	if h.N == 0 {
		return 0
	}
	return time.Duration(h.Sum / h.N)
}

// Quantile returns the upper end of the bucket that holds the quantile p, 0
// to 1: at most 1/16 above the true one.
func (h *Histogram) Quantile(p float64) time.Duration {
	need := int64(math.Ceil(p * float64(h.N)))
	var n int64
	for i, c := range h.Counts {
		n += int64(c)
		if c > 0 && n >= need {
			base := uint64(1) << (i / 16)
			return time.Duration(float64(base) * (1 + float64(i%16+1)/16))
		}
	}
	return 0
}

// recorder watches a run: series, statistics, classification.
type recorder struct {
	on       []bool // triggers under way
	baseN    []NodeStats
	baseE    []EdgeStats
	prevN    []int64 // arrivals at the last tick
	prev     [3]int64
	bucket   int64
	window   int // buckets
	long     int // buckets, for collapse
	eps      float64
	limit    []float64 // backlog of one timeout at each node
	series   []Point
	latency  Histogram
	fate     Fate
	since    int64 // start of recovery
	overflow bool
	timed    bool
}

func (r *recorder) build(s *Sim) {
	r.on = make([]bool, len(s.cfg.Triggers))
	r.baseN = make([]NodeStats, len(s.nodes))
	r.baseE = make([]EdgeStats, len(s.edges))
	r.prevN = make([]int64, len(s.nodes))
	r.limit = make([]float64, len(s.nodes))
	r.bucket = int64(s.cfg.Bucket)
	r.timed = s.cfg.Latency
	r.eps = s.cfg.Classify.Epsilon
	if r.eps == 0 {
		r.eps = 0.05
	}
	slow, span := 0.0, 0.0
	for i := range s.edges {
		e := s.edges[i].cfg
		tau := float64(e.Timeout)
		if tau == 0 {
			tau = float64(e.Deadline)
		}
		n := &s.nodes[e.To]
		if c := n.cfg; c.Servers > 0 && c.Order == FIFO {
			w := n.mean + float64(c.Slope)
			r.limit[e.To] = math.Max(r.limit[e.To], math.Max(float64(4*c.Servers), float64(c.Servers)*tau/w))
		} else { // under LIFO old work at the bottom does no harm
			r.limit[e.To] = math.Inf(1)
		}
		slow = math.Max(slow, tau)
		wait := 0.0
		for k := 1; k < min(e.Attempts, 64); k++ {
			wait += float64(s.edges[i].maxWait(k))
		}
		span = math.Max(span, float64(min(e.Attempts, 64))*tau+wait)
	}
	if r.bucket == 0 {
		return
	}
	w := float64(s.cfg.Classify.Window)
	if w == 0 {
		w = math.Max(5*slow, 5*float64(r.bucket))
	}
	r.window = max(1, int(math.Ceil(w/float64(r.bucket))))
	r.long = max(2*r.window, int(math.Ceil(2*span/float64(r.bucket))))
}

// maxWait is the longest backoff before the attempt after the made-th one.
func (e *edge) maxWait(made int) int64 {
	c := *e.cfg
	if n := len(c.Backoff.Table); n > 0 {
		return int64(c.Backoff.Table[min(made, n)-1][1])
	}
	c.Backoff.Jitter = NoJitter
	plain := edge{cfg: &c}
	return plain.wait(made)
}

func (r *recorder) reset(s *Sim) {
	clear(r.on)
	clear(r.baseN)
	clear(r.baseE)
	clear(r.prevN)
	r.prev = [3]int64{}
	r.series = nil
	r.latency = Histogram{}
	r.fate, r.since, r.overflow = Undecided, 0, false
	if r.bucket > 0 {
		r.series = make([]Point, 0, int64(s.cfg.Horizon)/r.bucket+1)
		s.ag.push(r.bucket, evTick, 0, 0, 0)
	}
}

func (r *recorder) warm(s *Sim) {
	for i := range s.nodes {
		r.baseN[i] = s.nodes[i].stats
	}
	for i := range s.edges {
		r.baseE[i] = s.edges[i].stats
	}
	r.latency = Histogram{}
}

// done notes the end of a request from outside.
func (r *recorder) done(s *Sim, e *edge, took int64, ok bool) {
	if ok && r.timed {
		r.latency.add(took)
	}
}

func (r *recorder) tick(s *Sim) {
	s.ag.push(s.now+r.bucket, evTick, 0, 0, 0)
	var now [3]int64
	for i := range s.edges {
		if s.edges[i].cfg.From < 0 {
			st := &s.edges[i].stats
			now[0] += st.Calls
			now[1] += st.OK
			now[2] += st.Attempts
		}
	}
	p := Point{Offered: int32(now[0] - r.prev[0]), Good: int32(now[1] - r.prev[1]), Attempts: int32(now[2] - r.prev[2])}
	r.prev = now
	backlog := 0
	for i := range s.nodes {
		n := &s.nodes[i]
		backlog += n.n - n.gone
		p.Busiest = max(p.Busiest, int32(n.stats.Arrivals-r.prevN[i]))
		r.prevN[i] = n.stats.Arrivals
	}
	p.Backlog = int32(backlog)
	r.series = append(r.series, p)
	r.judge(s)
	if m := s.cfg.MaxEvents; m > 0 && s.events > m {
		s.stop = true
	}
}

// judge classifies the run at the end of a bucket.
func (r *recorder) judge(s *Sim) {
	if s.active > 0 || s.now < s.warm {
		return
	}
	after := int((s.now - max(s.ended, s.warm)) / r.bucket)
	if r.fate == Undecided && after >= r.window && r.healthy(s) {
		r.fate = Recovered
		r.since = r.back(s)
		s.stop = s.stop || s.cfg.Classify.Stop
		return
	}
	if s.cfg.Classify.Stop && r.fate == Undecided && after >= r.long && r.dead() {
		r.fate = Collapsed
		s.stop = true
	}
}

func (r *recorder) over(k int) (offered, good, attempts int64) {
	for _, p := range r.series[len(r.series)-min(k, len(r.series)):] {
		offered += int64(p.Offered)
		good += int64(p.Good)
		attempts += int64(p.Attempts)
	}
	return offered, good, attempts
}

// healthy: goodput of the window is that of the first tries, allowing for
// their randomness, and no node has a timeout's worth of work waiting.
func (r *recorder) healthy(s *Sim) bool {
	for i := range s.nodes {
		if n := &s.nodes[i]; float64(n.n-n.gone) > r.limit[i] {
			return false
		}
	}
	offered, good, _ := r.over(r.window)
	slack := math.Max(r.eps*float64(offered), 2*math.Sqrt(float64(offered)))
	return float64(offered-good) <= slack
}

// back is when goodput came back: the end of the last bucket after the triggers
// in which less than half of the first tries succeeded. Old attempts that are
// worked off in time make up for empty buckets in a window, so that the window
// itself says nothing.
func (r *recorder) back(s *Sim) int64 {
	for i := len(r.series) - 1; i >= 0; i-- {
		end := int64(i+1) * r.bucket
		if end <= s.ended {
			break
		}
		if p := r.series[i]; p.Offered > 1 && 2*p.Good < p.Offered {
			return end
		}
	}
	return s.ended
}

// dead: over a stretch in which every attempt of a call has ended, practically
// nothing succeeded and the backlog grew by more than chance: since every
// attempt fails, the rate of attempts is what it will always be.
func (r *recorder) dead() bool {
	k := r.long
	if len(r.series) < k {
		return false
	}
	offered, good, attempts := r.over(k)
	if float64(good) > 0.02*float64(offered) || offered < 20 {
		return false
	}
	last := len(r.series) - 1
	noise := 4 * math.Sqrt(float64(2*attempts))
	first, mid, end := float64(r.series[last-k+1].Backlog), float64(r.series[last-k/2].Backlog), float64(r.series[last].Backlog)
	return end-first > noise && mid > first && end > mid
}

// fading tells whether a run without goodput at its horizon may still come
// back: the backlog of an unbounded queue has shrunk over the last third of the
// run, or has not grown by more than chance. Such a run is slow, not lost.
func (r *recorder) fading(s *Sim) bool {
	k := len(r.series) / 3
	if k < 2 {
		return false
	}
	open := false
	for i := range s.nodes {
		n := &s.nodes[i]
		open = open || n.cfg.Queue == 0 && n.servers < 1<<40 && float64(n.n-n.gone) > r.limit[i]
	}
	_, _, attempts := r.over(k)
	last := len(r.series) - 1
	growth := float64(r.series[last].Backlog) - float64(r.series[last-k+1].Backlog)
	noise := 2.5 * math.Sqrt(float64(2*attempts))
	return growth < -noise || open && growth < noise
}

func (r *recorder) result(s *Sim, seed uint64) *Result {
	res := &Result{Seed: seed, Fate: r.fate, Ended: time.Duration(s.now), Trigger: time.Duration(s.ended),
		Events: s.events, Stale: s.stale, Series: r.series, Bucket: time.Duration(r.bucket), Latency: r.latency,
		Nodes: make([]NodeStats, len(s.nodes)), Edges: make([]EdgeStats, len(s.edges)), Backlog: make([]int, len(s.nodes))}
	for i := range s.nodes {
		res.Nodes[i] = s.nodes[i].stats.minus(r.baseN[i])
		res.Backlog[i] = s.nodes[i].n - s.nodes[i].gone
	}
	for i := range s.edges {
		res.Edges[i] = s.edges[i].stats.minus(r.baseE[i])
	}
	switch {
	case r.overflow:
		res.Fate = Collapsed
	case r.bucket > 0 && len(r.series) >= r.window && s.active == 0 && !s.cfg.Classify.Stop:
		// Judged again at the end: a run may tip later by itself.
		offered, good, _ := r.over(r.window)
		switch {
		case r.healthy(s):
			res.Fate = Recovered
		case float64(good) < 0.5*float64(offered) && !r.fading(s):
			res.Fate = Collapsed
		default:
			res.Fate = Undecided
		}
	case r.fate == Undecided && r.bucket > 0 && s.active == 0:
		if offered, good, _ := r.over(r.window); float64(good) < 0.5*float64(offered) && !r.fading(s) {
			res.Fate = Collapsed
		}
	}
	if res.Fate == Recovered && r.fate == Recovered {
		res.Recovery = time.Duration(max(0, r.since-s.ended))
	}
	return res
}
