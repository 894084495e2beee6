package modelcheck

import (
	"slices"
	"sync"
	"sync/atomic"
)

// chunkStates is the number of states in a chunk of the queue. The number of a
// state is chunk*chunkStates + offset.
const chunkStates = 1 << 14

// queue holds the states in the order of their discovery. Each worker fills
// chunks of its own; a layer of the search is a list of spans.
type queue struct {
	words int
	mu    sync.Mutex
	all   atomic.Pointer[[]*chunk]
	bytes atomic.Int64
	free  []*chunk // of forgotten layers, for compact mode
}

// chunk holds up to chunkStates states.
type chunk struct {
	id    int
	n     int // states in it
	words []uint64
}

// span is a run of states of one chunk.
type span struct {
	c        *chunk
	from, to int
}

func newQueue(words int) *queue {
	q := &queue{words: words}
	q.all.Store(&[]*chunk{})
	return q
}

func (q *queue) chunks() []*chunk { return *q.all.Load() }

func (q *queue) newChunk() *chunk {
	q.mu.Lock()
	defer q.mu.Unlock()
	if k := len(q.free); k > 0 {
		c := q.free[k-1]
		q.free = q.free[:k-1]
		c.n = 0
		return c
	}
	all := slices.Clip(q.chunks()) // readers may hold the old slice
	c := &chunk{id: len(all), words: make([]uint64, chunkStates*q.words)}
	all = append(all, c)
	q.all.Store(&all)
	q.bytes.Add(int64(len(c.words)) * 8)
	return c
}

// at gives the words of state id.
func (q *queue) at(id uint32) []uint64 {
	return q.chunks()[id/chunkStates].words[int(id%chunkStates)*q.words:][:q.words:q.words]
}

// forget makes the chunks of an expanded layer free for new states, but for
// those that the next layer or a writer still uses. The states are lost.
func (q *queue) forget(old, next []span, writers []*worker) {
	used := map[*chunk]bool{}
	for _, s := range next {
		used[s.c] = true
	}
	for _, w := range writers {
		used[w.out.c] = true
	}
	for _, s := range old {
		if !used[s.c] {
			used[s.c] = true
			q.free = append(q.free, s.c)
		}
	}
}

// equal compares state id with s.
func (q *queue) equal(id uint32, s []uint64) bool {
	c := q.chunks()[id/chunkStates].words[int(id%chunkStates)*q.words:][:len(s)]
	for i, w := range s {
		if c[i] != w {
			return false
		}
	}
	return true
}

// states is the number of states that the spans hold.
func states(spans []span) int {
	n := 0
	for _, s := range spans {
		n += s.to - s.from
	}
	return n
}

// writer is a worker's end of the queue.
type writer struct {
	q     *queue
	c     *chunk
	spans []span // what was written since cut, but for the open end
	from  int    // start of the open end in c
}

// push appends a state and gives its number.
func (w *writer) push(s []uint64) uint32 {
	if w.c == nil || w.c.n == chunkStates {
		w.close()
		w.c = w.q.newChunk()
		w.from = 0
	}
	c := w.c
	copy(c.words[c.n*len(s):], s)
	c.n++
	return uint32(c.id*chunkStates + c.n - 1)
}

// unpush takes back the last push.
func (w *writer) unpush() { w.c.n-- }

func (w *writer) close() {
	if w.c != nil && w.c.n > w.from {
		w.spans = append(w.spans, span{w.c, w.from, w.c.n})
		w.from = w.c.n
	}
}

// cut gives the spans written since the last cut.
func (w *writer) cut() []span {
	w.close()
	s := w.spans
	w.spans = nil
	return s
}
