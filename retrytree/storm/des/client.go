package des

import "github.com/relplan/relplan/retrytree/storm/budget"

// newCall starts a call on an edge; parent is the attempt that makes it.
func (s *Sim) newCall(ei int, parent uint32, deadline int64, prio uint8, src uint16) {
	e := &s.edges[ei]
	var ci uint32
	if k := len(s.freeCall); k > 0 {
		ci = s.freeCall[k-1]
		s.freeCall = s.freeCall[:k-1]
	} else {
		s.calls = append(s.calls, call{})
		ci = uint32(len(s.calls) - 1)
	}
	c := &s.calls[ci]
	c.start, c.parent, c.edge, c.prio, c.source = s.now, parent, uint16(ei), prio, src
	c.made, c.nlive, c.late, c.waiting = 0, 0, false, false
	c.serial++ // stale timers of the slot's last call do not match
	c.deadline = deadline
	if e.overall > 0 && s.now+e.overall < deadline {
		c.deadline = s.now + e.overall
	}
	if parent != noParent {
		c.sibling = s.atts[parent].child
		s.atts[parent].child = ci
		s.atts[parent].pending++
	}
	e.stats.Calls++
	if e.guarded {
		c.inst = 0
		if e.clients > 1 {
			c.inst = uint32(e.misc.uniform(int64(e.clients)))
		}
		e.inst[c.inst].budget.Start(&e.budget, s.now)
	}
	s.send(ci, 0)
}

// send makes one attempt of a call. paid is 0 for the first.
func (s *Sim) send(ci uint32, paid uint8) {
	c := &s.calls[ci]
	e := &s.edges[c.edge]
	c.made++
	if e.guarded && !s.clear(ci, e, paid) {
		return
	}
	c.serial++
	number := c.serial
	limit := c.deadline
	if e.timeout > 0 {
		if t := s.now + e.timeout; t <= limit {
			limit = t
			s.ag.later(e.lane, t, evTimeout, 0, ci, number)
		} else {
			s.ag.push(limit, evTimeout, 0, ci, number)
		}
	} else if limit < forever {
		s.ag.push(limit, evTimeout, 0, ci, number)
	}
	e.stats.Attempts++
	ai := s.newAttempt()
	a := &s.atts[ai]
	a.call, a.number, a.edge, a.prio = ci, number, c.edge, c.prio
	a.deadline = limit
	a.state = stTransit
	c.live[c.nlive] = liveAttempt{number: number, att: ai, paid: paid}
	c.nlive++
	if e.laneHedge >= 0 && c.made < e.attempts && c.nlive < maxLive {
		s.ag.later(e.laneHedge, s.now+e.hedge, evHedge, 0, ci, number)
	}
	switch {
	case !e.hasNet:
		s.reach(ai)
	case e.laneNet >= 0:
		s.ag.later(e.laneNet, s.now+int64(e.net.mean), evReach, 0, ai, 0)
	default:
		s.ag.push(s.now+e.net.draw(), evReach, 0, ai, 0)
	}
}

// clear asks breaker and throttle; a refusal counts as a rejected attempt
// that never left the client.
func (s *Sim) clear(ci uint32, e *edge, paid uint8) bool {
	c := &s.calls[ci]
	in := &e.inst[c.inst]
	if e.cfg.Breaker.Window > 0 && !in.brk.admit(&e.cfg.Breaker, s.now) {
		e.stats.BreakerOpen++
		s.failed(ci, outRejected, paid)
		return false
	}
	if e.cfg.Throttle > 0 && in.thr.reject(e.cfg.Throttle, s.now, e.misc) {
		e.stats.Throttled++
		s.failed(ci, outRejected, paid)
		return false
	}
	return true
}

// isLive returns the place of an attempt among the outstanding ones, or -1.
func (c *call) isLive(number uint32) int {
	for i := range int(c.nlive) {
		if c.live[i].number == number {
			return i
		}
	}
	return -1
}

func (c *call) forget(i int) liveAttempt {
	l := c.live[i]
	c.nlive--
	c.live[i] = c.live[c.nlive]
	return l
}

func (s *Sim) timeout(ci, number uint32) {
	c := &s.calls[ci]
	i := c.isLive(number)
	if i < 0 {
		s.stale++
		return
	}
	l := c.forget(i)
	e := &s.edges[c.edge]
	e.stats.Timeouts++
	if e.cancels {
		s.sendCancel(e, l.att)
	}
	s.failed(ci, outTimeout, l.paid)
}

// returned delivers a response to the client; n is the node when its work has
// ended this moment, so that an unwanted response is wasted work too.
func (s *Sim) returned(ai uint32, n *node) {
	a := &s.atts[ai]
	ci, number, outcome := a.call, a.number, a.outcome
	if n != nil {
		outcome = outOK
	}
	ei := a.edge
	s.dropAttempt(ai)
	if ci == none {
		if n != nil {
			n.stats.Wasted++
		}
		return
	}
	c := &s.calls[ci]
	i := c.isLive(number)
	if i < 0 {
		s.edges[ei].stats.Late++
		if n != nil {
			n.stats.Wasted++
		}
		return
	}
	l := c.forget(i)
	e := &s.edges[ei]
	if outcome == outOK && e.lost > 0 && e.misc.chance(e.lost) {
		outcome = outError
	}
	if outcome != outOK {
		s.failed(ci, outcome, l.paid)
		return
	}
	if e.guarded {
		s.noteResult(e, c.inst, true, l.paid)
	}
	s.finish(ci, true)
}

// noteResult tells breaker, throttle and budget how an attempt ended.
func (s *Sim) noteResult(e *edge, inst uint32, ok bool, paid uint8) {
	in := &e.inst[inst]
	if !ok {
		in.budget.Fail(&e.budget)
	}
	if paid > 0 {
		in.budget.RetryEnded(&e.budget, ok, paid == 2)
	}
	if e.cfg.Breaker.Window > 0 {
		in.brk.result(&e.cfg.Breaker, s.now, ok)
	}
	if ok && e.cfg.Throttle > 0 {
		in.thr.accepted(s.now)
	}
}

// failed handles the end of one attempt without success.
func (s *Sim) failed(ci uint32, outcome, paid uint8) {
	c := &s.calls[ci]
	e := &s.edges[c.edge]
	switch outcome {
	case outRejected:
		e.stats.Rejected++
	case outError:
		e.stats.Errors++
	}
	if e.guarded {
		s.noteResult(e, c.inst, false, paid)
	}
	c.late = outcome == outTimeout
	if c.nlive > 0 || c.waiting {
		return // a hedge is still out, or the next attempt is due anyway
	}
	if !s.again(ci, c, e, outcome) {
		s.finish(ci, false)
	}
}

// again decides on a further attempt and schedules or makes it.
func (s *Sim) again(ci uint32, c *call, e *edge, outcome uint8) bool {
	if c.made >= e.attempts ||
		outcome == outRejected && e.cfg.NoRetryRejected ||
		outcome == outError && e.cfg.NoRetryError ||
		outcome == outTimeout && e.cfg.NoRetryTimeout || s.now >= c.deadline {
		return false
	}
	wait := int64(0)
	if e.waits {
		wait = e.wait(int(c.made))
		if s.now+wait >= c.deadline {
			return false
		}
	}
	if e.guarded && !e.inst[c.inst].budget.Allow(&e.budget, s.now, c.late) {
		e.stats.OverBudget++
		return false
	}
	if wait == 0 {
		s.send(ci, c.paid())
		return true
	}
	c.waiting = true
	if e.laneBack >= 0 {
		s.ag.later(e.laneBack, s.now+wait, evRetry, 0, ci, c.serial)
	} else {
		s.ag.push(s.now+wait, evRetry, 0, ci, c.serial)
	}
	return true
}

func (c *call) paid() uint8 {
	if c.late {
		return 2
	}
	return 1
}

// wait returns the backoff before the attempt that follows the made-th one.
func (e *edge) wait(made int) int64 {
	b := &e.cfg.Backoff
	if n := len(b.Table); n > 0 {
		w := b.Table[min(made, n)-1]
		return int64(w[0]) + e.misc.uniform(int64(w[1]-w[0])+1)
	}
	d := float64(b.Base)
	if b.Factor > 0 && b.Factor != 1 {
		for range made - 1 {
			d *= b.Factor
			if d > 9e17 || b.Max > 0 && d > float64(b.Max) {
				break
			}
		}
	}
	if b.Max > 0 && d > float64(b.Max) {
		d = float64(b.Max)
	}
	w := int64(min(d, 9e17))
	switch b.Jitter {
	case FullJitter:
		return e.misc.uniform(w)
	case EqualJitter:
		return w/2 + e.misc.uniform(w-w/2)
	}
	return w
}

func (s *Sim) retryDue(ci, serial uint32) {
	c := &s.calls[ci]
	if c.serial != serial || !c.waiting {
		s.stale++
		return
	}
	c.waiting = false
	s.send(ci, c.paid())
}

func (s *Sim) hedgeDue(ci, number uint32) {
	c := &s.calls[ci]
	e := &s.edges[c.edge]
	if c.isLive(number) < 0 || c.made >= e.attempts || int(c.nlive) >= maxLive {
		s.stale++
		return
	}
	if e.guarded && !e.inst[c.inst].budget.Allow(&e.budget, s.now, false) {
		e.stats.OverBudget++
		return
	}
	e.stats.Hedges++
	s.send(ci, 1)
}

// finish ends a call and tells whoever made it.
func (s *Sim) finish(ci uint32, ok bool) {
	c := &s.calls[ci]
	e := &s.edges[c.edge]
	if e.guarded {
		if e.budget.Kind == budget.Concurrent {
			for i := range int(c.nlive) {
				if c.live[i].paid > 0 {
					e.inst[c.inst].budget.RetryEnded(&e.budget, false, false)
				}
			}
		}
		e.inst[c.inst].budget.End(&e.budget, ok)
	}
	for c.nlive > 0 { // losers of a hedge
		l := c.forget(0)
		if e.cancels {
			s.sendCancel(e, l.att)
			c = &s.calls[ci] // the pool may have grown
		}
	}
	c.serial++
	parent, src := c.parent, c.source
	if ok {
		e.stats.OK++
	} else {
		e.stats.Failed++
	}
	s.freeCall = append(s.freeCall, ci)
	if parent == noParent {
		s.rec.done(s, e, s.now-c.start, ok)
		if sc := &s.sources[src]; !sc.open {
			s.ag.push(s.now+sc.think.draw(), evArrival, int(src), 0, 0)
		}
		return
	}
	s.unlink(parent, ci)
	s.childDone(parent, ok)
}

// unlink takes a finished call out of its parent's list.
func (s *Sim) unlink(parent, ci uint32) {
	p := &s.atts[parent]
	p.pending--
	if p.child == ci {
		p.child = s.calls[ci].sibling
		return
	}
	for k := p.child; k != none; k = s.calls[k].sibling {
		if s.calls[k].sibling == ci {
			s.calls[k].sibling = s.calls[ci].sibling
			return
		}
	}
}

// sendCancel tells a server that nobody waits any longer.
func (s *Sim) sendCancel(e *edge, ai uint32) {
	gen := s.atts[ai].gen
	if d := int64(e.cfg.CancelDelay); d > 0 {
		s.ag.push(s.now+d, evCancel, 0, ai, gen)
		return
	}
	s.cancel(ai, gen)
}
