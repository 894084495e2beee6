package des

// kinds of events.
const (
	evArrival uint8 = iota // sub source, g generation
	evService              // sub node, a attempt, g its service generation
	evTimeout              // a call, g attempt number
	evRetry                // a call, g number of the last attempt
	evHedge                // a call, g attempt number
	evReach                // a attempt: request arrives at the node
	evReturn               // a attempt: response arrives at the client
	evCancel               // a attempt, g its generation
	evChange               // a index of change
	evTick                 // record a bucket
	evShed                 // sub node: move the admitted level
	evWake                 // sub node: work on a refusal is over
)

// event is ordered by (t, key); the upper 44 bits of key are a sequence
// number, then 16 bits of sub, 4 bits of kind.
type event struct {
	t   int64
	key uint64
	a   uint32
	g   uint32
}

const (
	kindBits = 4
	subBits  = 16
	seqShift = kindBits + subBits
)

func (e *event) kind() uint8 { return uint8(e.key & (1<<kindBits - 1)) }
func (e *event) sub() int    { return int(e.key >> kindBits & (1<<subBits - 1)) }

func (e *event) before(f *event) bool {
	return e.t < f.t || e.t == f.t && e.key < f.key
}

// agenda holds all future events: a 4-ary heap of values and lanes of timers
// with constant delays, each sorted because time only goes forward.
type agenda struct {
	heap  []event
	hole  bool // heap[0] has been taken and not yet replaced
	lanes []lane
	first int // lane with the earliest head, -1 if all are empty
	seq   uint64
}

type lane struct {
	buf        []event
	head, tail uint32 // positions modulo len(buf), a power of two
}

func (g *agenda) reset(lanes int) {
	g.heap = g.heap[:0]
	g.hole = false
	g.first = -1
	g.seq = 0
	if len(g.lanes) != lanes {
		g.lanes = make([]lane, lanes)
	}
	for i := range g.lanes {
		g.lanes[i].head, g.lanes[i].tail = 0, 0
	}
}

func (g *agenda) make(t int64, kind uint8, sub int, a, gen uint32) event {
	g.seq++
	return event{t, g.seq<<seqShift | uint64(sub)<<kindBits | uint64(kind), a, gen}
}

// push adds an event to the heap. The place of the event just taken is reused.
func (g *agenda) push(t int64, kind uint8, sub int, a, gen uint32) {
	ev := g.make(t, kind, sub, a, gen)
	if g.hole {
		g.hole = false
		g.down(0, ev)
		return
	}
	g.heap = append(g.heap, ev)
	h := g.heap
	i := len(h) - 1
	for i > 0 {
		p := (i - 1) >> 2
		if h[p].before(&ev) {
			break
		}
		h[i] = h[p]
		i = p
	}
	h[i] = ev
}

// down places ev at i or below.
func (g *agenda) down(i int, ev event) {
	h := g.heap
	n := len(h)
	for {
		c := i<<2 + 1
		if c >= n {
			break
		}
		m := c
		end := c + 4
		if end > n {
			end = n
		}
		for j := c + 1; j < end; j++ {
			if h[j].before(&h[m]) {
				m = j
			}
		}
		if ev.before(&h[m]) {
			break
		}
		h[i] = h[m]
		i = m
	}
	h[i] = ev
}

// fill removes a taken root that no push has replaced.
func (g *agenda) fill() {
	g.hole = false
	n := len(g.heap) - 1
	last := g.heap[n]
	g.heap = g.heap[:n]
	if n > 0 {
		g.down(0, last)
	}
}

// later adds a timer to a lane; t must not be before the lane's last one.
func (g *agenda) later(li int, t int64, kind uint8, sub int, a, gen uint32) {
	l := &g.lanes[li]
	if l.tail-l.head == uint32(len(l.buf)) {
		l.grow()
	}
	l.buf[l.tail&uint32(len(l.buf)-1)] = g.make(t, kind, sub, a, gen)
	l.tail++
	if l.tail-l.head == 1 && (g.first < 0 || g.earlier(li, g.first)) {
		g.first = li
	}
}

func (l *lane) grow() {
	n := max(64, 2*len(l.buf))
	buf := make([]event, n)
	for i := l.head; i != l.tail; i++ {
		buf[i&uint32(n-1)] = l.buf[i&uint32(len(l.buf)-1)]
	}
	l.buf = buf
}

func (l *lane) peek() *event { return &l.buf[l.head&uint32(len(l.buf)-1)] }

func (g *agenda) earlier(i, j int) bool { return g.lanes[i].peek().before(g.lanes[j].peek()) }

// rescan finds the lane with the earliest head.
func (g *agenda) rescan() {
	g.first = -1
	for i := range g.lanes {
		l := &g.lanes[i]
		if l.head != l.tail && (g.first < 0 || g.earlier(i, g.first)) {
			g.first = i
		}
	}
}

// next takes the earliest event not after until.
func (g *agenda) next(until int64, ev *event) bool {
	if g.hole {
		g.fill()
	}
	if g.first >= 0 {
		l := &g.lanes[g.first]
		head := l.peek()
		if len(g.heap) == 0 || head.before(&g.heap[0]) {
			if head.t > until {
				return false
			}
			*ev = *head
			l.head++
			if len(g.lanes) == 1 {
				if l.head == l.tail {
					g.first = -1
				}
			} else {
				g.rescan()
			}
			return true
		}
	}
	if len(g.heap) == 0 || g.heap[0].t > until {
		return false
	}
	*ev = g.heap[0]
	g.hole = true
	return true
}

// reorder restores the heap after times were changed in place.
func (g *agenda) reorder() {
	if g.hole {
		g.fill()
	}
	for i := (len(g.heap) - 2) >> 2; i >= 0; i-- {
		g.down(i, g.heap[i])
	}
}
