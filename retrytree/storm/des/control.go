package des

import (
	"math"
	"math/bits"
	"time"

	"github.com/relplan/relplan/retrytree/storm/budget"
)

// control is the state of the optional rules of a node.
type control struct {
	limit float64 // adaptive concurrency limit
	least float64 // smallest response seen, ns (Vegas)
	long  float64 // slow average of responses, ns (Gradient)

	firstAbove, dropNext int64 // CoDel
	dropping             bool
	drops                int

	level    uint8 // highest priority number admitted
	seen     [levels]uint32
	admitted int64
	waited   int64
	waits    int64
}

func (c *control) init(n *Node) {
	*c = control{level: levels - 1, limit: n.Limit.Initial}
	if c.limit == 0 {
		c.limit = 20
	}
}

// sample updates the concurrency limit with one response of rtt nanoseconds
// seen while inside jobs were in the node.
func (c *control) sample(n *Node, rtt int64, inside int) {
	l := &n.Limit
	low, high := l.Min, l.Max
	if low == 0 {
		low = 1
	}
	if high == 0 {
		high = 1000
	}
	r := float64(rtt)
	switch l.Kind {
	case AIMD:
		if rtt > int64(l.Slow) && l.Slow > 0 {
			c.limit *= 0.9
		} else if float64(2*inside) >= c.limit {
			c.limit++
		}
	case Vegas:
		if c.least == 0 || r < c.least {
			c.least = r
		}
		queue := math.Ceil(c.limit * (1 - c.least/r))
		unit := math.Max(1, math.Log10(c.limit))
		switch {
		case queue <= unit:
			c.limit += 6 * unit
		case queue < 3*unit:
			c.limit += unit
		case queue > 6*unit:
			c.limit -= unit
		}
	case Gradient:
		if c.long == 0 {
			c.long = r
		}
		c.long += float64((r - c.long) * 2 / 601)
		if c.long/r > 2 {
			c.long *= 0.95
		}
		if float64(inside) < c.limit/2 {
			return
		}
		room := l.QueueHeadroom
		if room == 0 {
			room = 4
		}
		gradient := math.Max(0.5, math.Min(1, 1.5*c.long/r))
		c.limit = float64(c.limit*0.8) + float64(0.2*(float64(c.limit*gradient)+room))
	}
	c.limit = math.Min(high, math.Max(low, c.limit))
}

// codel decides at the head of the queue (RFC 8289).
func (c *control) codel(n *Node, now, waited int64, left int) bool {
	interval := int64(n.CoDel.Interval)
	if interval == 0 {
		interval = 20 * int64(n.CoDel.Target)
	}
	if waited < int64(n.CoDel.Target) || left == 0 {
		c.firstAbove = 0
		c.dropping = false
		return false
	}
	if c.firstAbove == 0 {
		c.firstAbove = now + interval
		return false
	}
	if now < c.firstAbove {
		return false
	}
	if !c.dropping {
		c.dropping = true
		if c.drops > 2 && now-c.dropNext < 8*interval {
			c.drops -= 2
		} else {
			c.drops = 1
		}
		c.dropNext = now + int64(float64(interval)/math.Sqrt(float64(c.drops)))
		return true
	}
	if now >= c.dropNext {
		c.drops++
		c.dropNext += int64(float64(interval) / math.Sqrt(float64(c.drops)))
		return true
	}
	return false
}

func (n *node) shedPeriod() time.Duration {
	if p := n.cfg.Shed.Period; p > 0 {
		return p
	}
	return time.Second
}

// shedTick moves the admitted level: 5 % less when jobs waited too long, 1 %
// more otherwise.
func (s *Sim) shedTick(ni int) {
	n := &s.nodes[ni]
	c := &n.ctl
	slow := c.waits > 0 && c.waited/c.waits > int64(n.cfg.Shed.Wait)
	goal := float64(c.admitted) * 1.01
	if slow {
		goal = float64(c.admitted) * 0.95
	}
	sum := int64(0)
	for _, k := range c.seen[:int(c.level)+1] {
		sum += int64(k)
	}
	if slow {
		for c.level > 0 && float64(sum) > goal {
			sum -= int64(c.seen[c.level])
			c.level--
		}
	} else {
		for c.level < levels-1 && (float64(sum) < goal || c.admitted == 0) {
			c.level++
			sum += int64(c.seen[c.level])
		}
	}
	c.seen = [levels]uint32{}
	c.admitted, c.waited, c.waits = 0, 0, 0
	s.ag.push(s.now+int64(n.shedPeriod()), evShed, ni, 0, 0)
}

// breaker counts the last attempts in a ring of bits.
type breaker struct {
	ring     [4]uint64 // failures
	at, size int
	bad      int
	openTill int64
	half     bool
	probes   int
}

func (b *breaker) admit(c *Breaker, now int64) bool {
	if b.openTill == 0 {
		return true
	}
	if now < b.openTill {
		return false
	}
	if !b.half {
		b.half, b.probes = true, 0
	}
	if b.probes >= max(1, c.Probes) {
		return false
	}
	b.probes++
	return true
}

func (b *breaker) result(c *Breaker, now int64, ok bool) {
	if b.half {
		if !ok {
			b.half = false
			b.openTill = now + int64(c.Open)
			return
		}
		if b.probes >= max(1, c.Probes) {
			*b = breaker{}
		}
		return
	}
	if b.openTill != 0 {
		return // result of an attempt made before it opened
	}
	w, bit := b.at>>6, uint64(1)<<(b.at&63)
	if b.size == c.Window {
		b.bad -= bits.OnesCount64(b.ring[w] & bit)
	} else {
		b.size++
	}
	b.ring[w] &^= bit
	if !ok {
		b.ring[w] |= bit
		b.bad++
	}
	b.at++
	if b.at == c.Window {
		b.at = 0
	}
	if b.size == c.Window && float64(b.bad) >= c.Ratio*float64(c.Window) {
		*b = breaker{openTill: now + int64(c.Open)}
	}
}

// throttle keeps requests and accepts of the last two minutes in ten slots.
type throttle struct {
	req, acc   [10]int64
	reqs, accs int64
	slot       int64
}

const throttleSlot = int64(12 * time.Second)

func (t *throttle) advance(now int64) {
	slot := now / throttleSlot
	if slot-t.slot >= 10 {
		*t = throttle{slot: slot}
		return
	}
	for t.slot < slot {
		t.slot++
		i := t.slot % 10
		t.reqs -= t.req[i]
		t.accs -= t.acc[i]
		t.req[i], t.acc[i] = 0, 0
	}
}

// reject decides locally and counts the request.
func (t *throttle) reject(k float64, now int64, rng *sampler) bool {
	t.advance(now)
	p := budget.Throttle(float64(t.reqs), float64(t.accs), k)
	t.req[t.slot%10]++
	t.reqs++
	return rng.chance(p)
}

func (t *throttle) accepted(now int64) {
	t.advance(now)
	t.acc[t.slot%10]++
	t.accs++
}
