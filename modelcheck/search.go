package modelcheck

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// search is one breadth-first exploration, layer by layer.
type search struct {
	model Model
	shape *Shape
	props []Property
	opt   Options
	sym   *symmetry // nil: states are taken as they are
	queue *queue
	set   *stateSet

	layers  [][]span // states by distance from the initial states
	workers []*worker
	stop    atomic.Pointer[string] // why the search was stopped early
	began   time.Time

	transitions     atomic.Uint64
	depth, frontier atomic.Int64 // for progress
	terminal        uint64       // of finished layers
	expanded        int          // layers completely expanded
	cuts            map[string]uint64
	found           []finding // by property
	taken           []bool    // by action

	record    bool     // edges are kept, for properties of whole histories
	class     []uint16 // by action, position in classes
	classes   []edgeClass
	edgeBytes atomic.Int64
	memory    sync.Mutex // of claims against the memory limit
}

// finding is the first state that decides a property.
type finding struct {
	done  bool
	depth int
	state []uint64 // the least of its layer, so that it does not depend on workers
}

// worker expands spans of a layer.
type worker struct {
	s     *search
	model Model
	x     *Sink
	sym   *symmetry
	out   writer
	hash  []uint64
	fresh []int32
	taken []bool
	found []finding

	terminal uint64
	cuts     map[string]uint64

	sources []source // states whose successors are in the sink
	ids     []uint32 // numbers of the successors in the sink
	edges   edgeList
}

// source is an expanded state with its part of the sink.
type source struct {
	id         uint32
	succ, cuts int
}

// errModel marks a broken promise of the Model itself.
var errModel = errors.New("modelcheck: bad model")

func newSearch(m Model, props []Property, opt Options) (*search, error) {
	sh := m.Shape()
	if err := checkShape(sh); err != nil {
		return nil, err
	}
	if opt.Workers <= 0 {
		opt.Workers = runtime.GOMAXPROCS(0)
	}
	s := &search{model: m, shape: sh, props: props, opt: opt, began: time.Now()}
	s.cuts = map[string]uint64{}
	s.found = make([]finding, len(props))
	s.taken = make([]bool, sh.Actions)
	s.queue = newQueue(sh.Words)
	s.sym = newSymmetry(sh, props, opt.NoReduction)
	compact := opt.Compact && sh.Words > 1
	for i := range props {
		s.record = s.record || props[i].Liveness() && !compact
	}
	if s.record {
		s.class, s.classes = classify(m, sh.Actions)
	}
	s.set = newStateSet(s.queue, compact, s.record, opt.Workers, s.room)
	for range opt.Workers {
		w := &worker{s: s, model: m, x: NewSink(sh.Words), out: writer{q: s.queue}}
		if f, ok := m.(Forker); ok {
			w.model = f.Fork()
		}
		if s.sym != nil {
			w.sym = s.sym.fork()
		}
		w.taken = make([]bool, sh.Actions)
		w.found = make([]finding, len(props))
		w.cuts = map[string]uint64{}
		s.workers = append(s.workers, w)
	}
	return s, nil
}

// close gives the memory of the state set back.
func (s *search) close() { s.set.close() }

// bytes is the memory of the state set, the queue and the edges.
func (s *search) bytes() int64 { return s.set.bytes() + s.queue.bytes.Load() + s.edgeBytes.Load() }

// room claims a size for the table if the memory limit allows it; 0 asks whether
// what is claimed still leaves a chunk for each worker. Everything that a search
// keeps besides table, queue and edges is small.
func (s *search) room(table int64) bool {
	if s.opt.MemoryLimit <= 0 {
		return true
	}
	if table == 0 {
		return s.bytes()+s.chunkBytes() <= s.opt.MemoryLimit
	}
	s.memory.Lock()
	defer s.memory.Unlock()
	if table+s.queue.bytes.Load()+s.edgeBytes.Load()+s.chunkBytes() > s.opt.MemoryLimit {
		return false
	}
	s.set.size.Store(table / 8)
	return true
}

// chunkBytes is the size of a new chunk for each worker.
func (s *search) chunkBytes() int64 {
	return int64(s.opt.Workers*s.queue.words) * chunkStates * 8
}

// claimEdges claims memory for edges.
func (s *search) claimEdges(more int64) bool {
	s.memory.Lock()
	defer s.memory.Unlock()
	if m := s.opt.MemoryLimit; m > 0 && s.bytes()+s.chunkBytes()+more > m {
		return false
	}
	s.edgeBytes.Add(more)
	return true
}

// halt stops the search; the first reason counts.
func (s *search) halt(reason string) { s.stop.CompareAndSwap(nil, &reason) }

func (s *search) halted() bool { return s.stop.Load() != nil }

// run explores until everything is expanded, every property is decided or the
// search is halted.
func (s *search) run(ctx context.Context) {
	if ctx.Err() != nil { // the search may be over before the watch notices
		s.cancelled(ctx)
	}
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() { s.watch(ctx, done) })
	defer watch.Wait()
	defer close(done)

	w := s.workers[0]
	s.model.Initial(func(st []uint64) {
		copy(w.x.Next, st)
		if w.sym != nil {
			w.sym.canonical(w.x.Next)
		}
		w.x.Emit(0)
	})
	w.flush(true)
	s.endLayer()
	for len(s.layers[s.expanded]) > 0 && !s.halted() && !s.decided() {
		s.expandLayer(s.layers[s.expanded])
		if s.halted() {
			break
		}
		s.expanded++
	}
}

// watch halts the search on cancellation and limits, and reports progress.
func (s *search) watch(ctx context.Context, done chan struct{}) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	var limit <-chan time.Time
	if s.opt.TimeLimit > 0 {
		t := time.NewTimer(time.Until(s.began.Add(s.opt.TimeLimit)))
		defer t.Stop()
		limit = t.C
	}
	for {
		select {
		case <-done:
			return
		case <-ctx.Done():
			s.cancelled(ctx)
		case <-limit:
			s.halt(fmt.Sprintf("time limit of %v", s.opt.TimeLimit))
		case <-tick.C:
			if s.opt.Progress != nil {
				s.opt.Progress(s.progress())
			}
		}
		if s.halted() {
			<-done
			return
		}
	}
}

// cancelled halts the search because of its context.
func (s *search) cancelled(ctx context.Context) {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		s.halt("time limit")
	} else {
		s.halt("interrupted")
	}
}

func (s *search) progress() Progress {
	return Progress{
		States: uint64(s.set.used.Load()), Transitions: s.transitions.Load(), Depth: int(s.depth.Load()),
		Frontier: uint64(s.frontier.Load()), Bytes: s.bytes(), Elapsed: time.Since(s.began),
	}
}

// segmentStates is the number of states that a worker takes at a time.
const segmentStates = 256

// expandLayer expands all spans of a layer with all workers.
func (s *search) expandLayer(layer []span) {
	var segments []span
	for _, sp := range layer {
		for f := sp.from; f < sp.to; f += segmentStates {
			segments = append(segments, span{sp.c, f, min(f+segmentStates, sp.to)})
		}
	}
	var next atomic.Int64
	work := func(w *worker) {
		for !s.halted() {
			i := int(next.Add(1)) - 1
			if i >= len(segments) {
				break
			}
			w.expand(segments[i])
			if n := s.opt.MaxStates; n > 0 && uint64(s.set.used.Load()) >= n {
				s.halt(fmt.Sprintf("limit of %d states", n))
			}
		}
		w.flush(false)
	}
	active := s.workers[:min(len(s.workers), len(segments))]
	var wg sync.WaitGroup
	for _, w := range active[1:] {
		wg.Go(func() { work(w) })
	}
	work(active[0])
	wg.Wait()
	s.endLayer()
}

// endLayer gathers what the workers found.
func (s *search) endLayer() {
	var layer []span
	for _, w := range s.workers {
		layer = append(layer, w.out.cut()...)
		s.terminal += w.terminal
		w.terminal = 0
		for r, n := range w.cuts {
			s.cuts[r] += n
		}
		clear(w.cuts)
		for a, t := range w.taken {
			if t {
				s.taken[a] = true
			}
		}
		for i, f := range w.found {
			if f.done && (!s.found[i].done || s.found[i].depth == len(s.layers) && slices.Compare(f.state, s.found[i].state) < 0) {
				s.found[i] = finding{true, len(s.layers), f.state}
			}
			w.found[i] = finding{}
		}
	}
	s.layers = append(s.layers, layer)
	s.depth.Store(int64(len(s.layers) - 1))
	s.frontier.Store(int64(states(layer)))
	if s.set.compact && len(s.layers) > 1 {
		s.queue.forget(s.layers[len(s.layers)-2], layer, s.workers)
	}
}

// decided tells whether nothing is left to find out.
func (s *search) decided() bool {
	for i := range s.props {
		if s.props[i].Liveness() || !s.found[i].done {
			return false
		}
	}
	return s.opt.StopEarly && len(s.props) > 0
}

// expand computes the successors of a segment.
func (w *worker) expand(sp span) {
	n := w.x.words
	for i := sp.from; i < sp.to; i++ {
		state := sp.c.words[i*n:][:n:n]
		before, cuts := w.x.n, len(w.x.cuts)
		w.model.Expand(state, w.x)
		if w.x.n == before && len(w.x.cuts) == cuts {
			w.atRest(state)
		}
		if w.sym != nil {
			w.reduce(state, before)
		}
		if w.s.record {
			id := uint32(sp.c.id*chunkStates + i)
			w.sources = append(w.sources, source{id, w.x.n - before, len(w.x.cuts) - cuts})
		}
		if w.x.n >= batchSize {
			w.flush(false)
			if w.s.halted() {
				return
			}
		}
	}
}

// reduce replaces the successors from number first on by their representatives.
// Where the bits that a permutation moves are those of the state they come from,
// which is a representative, there is nothing to do.
func (w *worker) reduce(state []uint64, first int) {
	x, y := w.x, w.sym
	if y.word != nil {
		moved := ^y.other[0]
		for i, s := range x.buf[first:x.n] {
			if (s^state[0])&moved != 0 {
				x.buf[first+i] = y.canonicalWord(s)
			}
		}
		return
	}
	for i := first; i < x.n; i++ {
		s := x.buf[i*x.words:][:x.words:x.words]
		changed := uint64(0)
		for k, v := range s {
			changed |= (v ^ state[k]) &^ y.other[k]
		}
		if changed != 0 {
			y.canonical(s)
		}
	}
}

// atRest notes a state without enabled actions.
func (w *worker) atRest(state []uint64) {
	w.terminal++
	for i := range w.s.props {
		p := &w.s.props[i]
		if p.Kind == NoDeadlock && !w.s.found[i].done && !p.Goal(state) {
			w.note(i, state)
		}
	}
}

// note keeps the least deciding state of this layer.
func (w *worker) note(prop int, state []uint64) {
	f := &w.found[prop]
	if !f.done || slices.Compare(state, f.state) < 0 {
		*f = finding{done: true, state: slices.Clone(state)}
	}
}

// flush puts the successors in the sink into the state set.
func (w *worker) flush(initial bool) {
	x := w.x
	n := x.n
	if !initial {
		for _, a := range x.acts[:n] {
			w.taken[a] = true
		}
		for _, c := range x.cuts {
			w.taken[c.action] = true
			w.cuts[c.reason]++
		}
		w.s.transitions.Add(uint64(n + len(x.cuts)))
	}
	if cap(w.hash) < n {
		w.hash = make([]uint64, n+n/2)
	}
	if t := w.s.set; t.indexed && cap(w.ids) < n {
		w.ids = make([]uint32, n+n/2)
	}
	hash := w.hash[:n]
	if x.words == 1 {
		for i, s := range x.buf[:n] {
			hash[i] = mix(s)
		}
	} else {
		for i := range n {
			hash[i] = fingerprint(x.buf[i*x.words:][:x.words])
		}
	}
	for from := 0; from < n; from += batchSize {
		to := min(from+batchSize, n)
		if !w.insert(hash[from:to], from) {
			w.s.halt(fmt.Sprintf("memory limit of %d bytes", w.s.opt.MemoryLimit))
			break
		}
	}
	if w.s.record && !initial {
		w.keepEdges()
	}
	x.Reset()
}

// keepEdges moves the transitions in the sink to the edge list.
func (w *worker) keepEdges() {
	if w.s.halted() {
		return // the sink may be half inserted; nothing is judged on this graph
	}
	x, l := w.x, &w.edges
	if need := len(l.to) + x.n + len(x.cuts); need > cap(l.to) && !w.growEdges(need) {
		return
	}
	succ, cut := 0, 0
	for _, src := range w.sources {
		l.source = append(l.source, src.id)
		l.begin = append(l.begin, uint64(len(l.to)))
		for ; src.succ > 0; src.succ-- {
			l.to = append(l.to, w.ids[succ])
			l.class = append(l.class, w.s.class[x.acts[succ]])
			succ++
		}
		for ; src.cuts > 0; src.cuts-- {
			l.to = append(l.to, cutState)
			l.class = append(l.class, w.s.class[x.cuts[cut].action])
			cut++
		}
	}
	w.sources = w.sources[:0]
}

// growEdges makes room for n edges within the memory limit.
func (w *worker) growEdges(n int) bool {
	l, s := &w.edges, w.s
	size := max(n+n/4, 1<<12)
	more := int64(size-cap(l.to)) * 6
	if !s.claimEdges(more) {
		s.halt(fmt.Sprintf("memory limit of %d bytes", s.opt.MemoryLimit))
		return false
	}
	l.to = append(make([]uint32, 0, size), l.to...)
	l.class = append(make([]uint16, 0, size), l.class...)
	return true
}

// insert puts one batch into the state set and judges the new states.
func (w *worker) insert(hash []uint64, from int) bool {
	t, x := w.s.set, w.x
	if !t.enter() {
		return false
	}
	defer t.mu.RUnlock()
	if t.indexed {
		w.fresh = t.addIndexed(hash, x.buf[from*x.words:], w.ids[from:from+len(hash)], &w.out, w.fresh[:0])
		for i := range w.fresh {
			w.fresh[i] += int32(from)
		}
	} else {
		w.fresh = t.addHashed(hash, from, w.fresh[:0])
		for _, i := range w.fresh {
			w.out.push(x.buf[int(i)*x.words:][:x.words])
		}
	}
	for p := range w.s.props {
		prop := &w.s.props[p]
		if prop.Kind > Reach || w.s.found[p].done {
			continue
		}
		want := prop.Kind == Reach
		for _, i := range w.fresh {
			if s := x.buf[int(i)*x.words:][:x.words:x.words]; prop.Goal(s) == want {
				w.note(p, s)
			}
		}
	}
	return true
}

// reasons lists why parts of the model were not explored, sorted.
func (s *search) reasons() []string {
	var r []string
	if p := s.stop.Load(); p != nil {
		r = append(r, *p)
	}
	for _, c := range slices.SortedFunc(maps.Keys(s.cuts), cmp.Compare[string]) {
		r = append(r, c)
	}
	return r
}
