package des

import "sort"

// change is the beginning or the end of a trigger, or the end of the warm-up.
type change struct {
	at      int64
	trigger int // -1: warm-up ends
	begin   bool
	last    bool // this change ends the trigger for good
}

func (s *Sim) buildChanges() {
	for i, t := range s.cfg.Triggers {
		s.changes = append(s.changes, change{at: int64(t.At), trigger: i, begin: true, last: t.For == 0})
		if t.For > 0 {
			s.changes = append(s.changes, change{at: int64(t.At + t.For), trigger: i, last: true})
		}
	}
	if s.warm > 0 {
		s.changes = append(s.changes, change{at: s.warm, trigger: -1})
	}
	sort.SliceStable(s.changes, func(i, j int) bool { return s.changes[i].at < s.changes[j].at })
}

func (s *Sim) change(i int) {
	c := &s.changes[i]
	if c.trigger < 0 {
		s.rec.warm(s)
		return
	}
	s.rec.on[c.trigger] = c.begin
	if c.last {
		s.active--
		s.ended = s.now
	}
	t := &s.cfg.Triggers[c.trigger]
	switch t.Kind {
	case Spike:
		s.setRates()
	case ColdCache:
		s.setProb(t.Target)
	default:
		s.setNode(t.Target)
	}
}

// setNode recomputes what the triggers under way do to a node.
func (s *Sim) setNode(ni int) {
	n := &s.nodes[ni]
	speed, extra, refuse := 1.0, int64(0), false
	for i, on := range s.rec.on {
		t := &s.cfg.Triggers[i]
		if !on || t.Target != ni {
			continue
		}
		switch t.Kind {
		case Outage:
			speed = 0
		case Capacity:
			speed *= 1 - t.Size
		case Latency:
			extra += int64(t.Delay)
		case Refuse:
			refuse = true
		}
	}
	n.extra, n.refuse = extra, refuse
	if speed != n.speed {
		s.setSpeed(n, ni, speed)
	}
}

// setSpeed stretches the remaining service of everything in progress.
func (s *Sim) setSpeed(n *node, ni int, speed float64) {
	old := n.speed
	n.speed = speed
	if old == 0 {
		for _, st := range n.stalled {
			s.ag.push(s.now+int64(float64(st.work)/speed), evService, ni, st.att, st.gen)
		}
		n.stalled = n.stalled[:0]
		return
	}
	if s.ag.hole {
		s.ag.fill()
	}
	h := s.ag.heap
	keep := h[:0]
	for _, ev := range h {
		if ev.kind() == evService && ev.sub() == ni {
			work := float64(ev.t-s.now) * old
			if speed == 0 {
				n.stalled = append(n.stalled, stalled{ev.a, ev.g, int64(work)})
				continue
			}
			ev.t = s.now + int64(work/speed)
		}
		keep = append(keep, ev)
	}
	s.ag.heap = keep
	s.ag.reorder()
}

func (s *Sim) setRates() {
	f := 1.0
	for i, on := range s.rec.on {
		if t := &s.cfg.Triggers[i]; on && t.Kind == Spike {
			f *= t.Size
		}
	}
	s.factor = f
	for i := range s.sources {
		src := &s.sources[i]
		if src.cfg.Clients > 0 {
			continue
		}
		src.setRate(src.cfg.Rate * f)
		src.gen++
		if src.rate <= 0 {
			continue
		}
		s.ag.push(s.now+src.first(), evArrival, i, 0, src.gen)
	}
}

func (s *Sim) setProb(ei int) {
	e := &s.edges[ei]
	if e.prob = e.cfg.Prob; e.prob == 0 && !e.cfg.Never {
		e.prob = 1
	}
	for i, on := range s.rec.on {
		if t := &s.cfg.Triggers[i]; on && t.Kind == ColdCache && t.Target == ei {
			e.prob = t.Size
		}
	}
}
