package des

// reach brings an attempt to its node.
func (s *Sim) reach(ai uint32) {
	a := &s.atts[ai]
	ni := int(s.edges[a.edge].to)
	n := &s.nodes[ni]
	a.arr = s.now
	n.stats.Arrivals++
	if a.gone {
		n.stats.Cancelled++
		s.dropAttempt(ai)
		return
	}
	if n.refuse || !n.plain && !s.admits(n, ni, a) {
		s.refuse(n, ni, ai)
		return
	}
	if n.busy < n.servers && s.now >= n.blockTil {
		n.inside++
		s.start(n, ni, ai)
		return
	}
	full := n.n-n.gone >= n.room
	if full && (n.order == FIFO || n.room == 0) {
		s.refuse(n, ni, ai)
		return
	}
	a.state = stQueued
	n.inside++
	n.push(ai)
	if full {
		s.evict(n, ni)
	}
	if n.n > s.maxQ {
		s.stop = true
		s.rec.overflow = true
	}
}

// admits asks the optional rules whether an arriving attempt may enter.
func (s *Sim) admits(n *node, ni int, a *attempt) bool {
	c := n.cfg
	if c.Shed.Wait > 0 {
		n.ctl.seen[a.prio]++
		if a.prio > n.ctl.level {
			return false
		}
	}
	if c.Limit.Kind != NoLimit && float64(n.inside+1) > n.ctl.limit {
		return false
	}
	if c.Admit && a.deadline < forever {
		wait := 0.0
		if n.busy >= n.servers && c.Order == FIFO {
			wait = n.mean * float64(n.n-n.gone+1) / float64(n.servers)
		}
		if n.speed > 0 {
			wait = (wait + n.mean) / n.speed
		} else {
			wait += n.mean
		}
		if s.now+int64(wait) > a.deadline {
			return false
		}
	}
	if c.Shed.Wait > 0 {
		n.ctl.admitted++
	}
	return true
}

// evict makes room under LIFO: the oldest goes.
func (s *Sim) evict(n *node, ni int) {
	for n.n > 0 {
		old := n.popFront()
		n.inside--
		if s.atts[old].gone {
			n.gone--
			s.dropAttempt(old)
			continue
		}
		s.refuse(n, ni, old)
		return
	}
}

// refuse answers an attempt at once without doing its work.
func (s *Sim) refuse(n *node, ni int, ai uint32) {
	n.stats.Rejected++
	if w := int64(n.cfg.RejectWork) / int64(min(n.servers, 1<<20)); w > 0 {
		n.blockTil = max(n.blockTil, s.now) + w
		s.ag.push(n.blockTil, evWake, ni, 0, 0)
	}
	s.respond(ai, outRejected)
}

// start begins the own work of a node for an attempt; inside already counts it.
func (s *Sim) start(n *node, ni int, ai uint32) {
	a := &s.atts[ai]
	a.state = stServing
	n.busy++
	n.stats.Started++
	w := n.svc.draw()
	if !n.plain {
		w += int64(n.cfg.Slope) * int64(n.busy)
	}
	w += n.extra
	if n.speed == 1 {
		s.ag.push(s.now+w, evService, ni, ai, a.gen)
		return
	}
	if n.speed == 0 {
		n.stalled = append(n.stalled, stalled{ai, a.gen, w})
		return
	}
	s.ag.push(s.now+int64(float64(w)/n.speed), evService, ni, ai, a.gen)
}

// served ends the own work.
func (s *Sim) served(ni int, ai, gen uint32) {
	a := &s.atts[ai]
	if a.gen != gen || a.state != stServing {
		s.stale++
		return
	}
	n := &s.nodes[ni]
	n.stats.Served++
	n.stats.Sojourn += s.now - a.arr
	leaf := int(a.pos) >= len(n.calls)
	if leaf && n.plain && n.order == FIFO && !s.edges[a.edge].hasNet {
		// The common case, by hand: next in, answer out.
		n.busy--
		n.inside--
		if n.n > 0 && s.now >= n.blockTil {
			s.advance(n, ni)
		}
		s.returned(ai, n)
		return
	}
	if a.call == none || s.calls[a.call].isLive(a.number) < 0 {
		n.stats.Wasted++
	}
	bad := n.failProb > 0 && n.misc.chance(n.failProb)
	hold := n.hold && !bad && !leaf
	if !hold {
		s.release(n, ni, a.arr)
	}
	switch {
	case bad:
		s.respond(ai, outError)
	case leaf:
		s.respond(ai, outOK)
	default:
		s.atts[ai].state = stWaiting
		s.proceed(ni, ai)
	}
}

// advance starts the head of a plain FIFO queue.
func (s *Sim) advance(n *node, ni int) {
	for n.n > 0 {
		ai := n.popFront()
		if s.atts[ai].gone {
			n.gone--
			n.inside--
			s.dropAttempt(ai)
			continue
		}
		s.start(n, ni, ai)
		return
	}
}

// release frees a server and starts the next attempt.
func (s *Sim) release(n *node, ni int, arr int64) {
	n.busy--
	n.inside--
	if n.limited {
		n.ctl.sample(n.cfg, s.now-arr, n.inside+1)
	}
	if n.n > 0 {
		s.dispatch(ni)
	}
}

// dispatch starts waiting attempts while servers are free.
func (s *Sim) dispatch(ni int) {
	n := &s.nodes[ni]
	if s.now < n.blockTil {
		return
	}
	for n.n > 0 && n.busy < n.servers {
		var ai uint32
		if n.order == FIFO || n.order == AdaptiveLIFO && n.n <= n.above {
			ai = n.popFront()
		} else {
			ai = n.popBack()
		}
		a := &s.atts[ai]
		if a.gone {
			n.gone--
			n.inside--
			s.dropAttempt(ai)
			continue
		}
		if n.shed {
			n.ctl.waited += s.now - a.arr
			n.ctl.waits++
		}
		if n.early && s.tooLate(n, a) {
			n.inside--
			n.stats.Dropped++
			s.respond(ai, outRejected)
			continue
		}
		s.start(n, ni, ai)
	}
}

// tooLate asks the rules that look at the head of the queue.
func (s *Sim) tooLate(n *node, a *attempt) bool {
	c := n.cfg
	if c.DropExpired && s.now >= a.deadline {
		return true
	}
	if c.Admit && a.deadline < forever {
		w := n.mean
		if n.speed > 0 {
			w /= n.speed
		}
		if s.now+int64(w) > a.deadline {
			return true
		}
	}
	return c.CoDel.Target > 0 && n.ctl.codel(c, s.now, s.now-a.arr, n.n)
}

// proceed makes the next downstream calls of an attempt, or answers.
func (s *Sim) proceed(ni int, ai uint32) {
	n := &s.nodes[ni]
	gen := s.atts[ai].gen
	for {
		a := &s.atts[ai]
		if int(a.pos) >= len(n.calls) {
			if a.pending == 0 {
				s.complete(n, ni, ai)
			}
			return
		}
		ei := int(n.calls[a.pos])
		e := &s.edges[ei]
		a.rep++
		if a.rep >= e.calls {
			a.rep = 0
			a.pos++
		}
		if e.prob < 1 && !e.misc.chance(e.prob) {
			continue
		}
		deadline := forever
		if e.cfg.Propagate && a.deadline < forever {
			deadline = a.deadline - int64(e.cfg.Margin)
			if deadline <= s.now {
				if n.parallel { // wait for the calls under way, then fail
					a.doomed, a.pos = true, uint16(len(n.calls))
					continue
				}
				s.abort(n, ni, ai)
				return
			}
		}
		if !n.parallel {
			s.newCall(ei, ai, deadline, a.prio, 0)
			return
		}
		a.pending++ // keeps the attempt open while further calls are made
		s.newCall(ei, ai, deadline, a.prio, 0)
		a = &s.atts[ai]
		if a.gen != gen {
			return
		}
		a.pending--
	}
}

// childDone continues an attempt after one of its calls has ended.
func (s *Sim) childDone(ai uint32, ok bool) {
	a := &s.atts[ai]
	ni := int(s.edges[a.edge].to)
	n := &s.nodes[ni]
	if !n.parallel {
		if ok {
			s.proceed(ni, ai)
		} else {
			s.abort(n, ni, ai)
		}
		return
	}
	a.doomed = a.doomed || !ok
	if a.pending == 0 && int(a.pos) >= len(n.calls) {
		s.complete(n, ni, ai)
	}
}

func (s *Sim) complete(n *node, ni int, ai uint32) {
	out := outOK
	if s.atts[ai].doomed {
		out = outError
	}
	s.close(n, ni, ai)
	s.respond(ai, out)
}

func (s *Sim) abort(n *node, ni int, ai uint32) {
	s.close(n, ni, ai)
	s.respond(ai, outError)
}

// close gives back a server held during downstream calls.
func (s *Sim) close(n *node, ni int, ai uint32) {
	if n.hold {
		s.release(n, ni, s.atts[ai].arr)
	}
}

// respond sends the outcome back to the client.
func (s *Sim) respond(ai uint32, outcome uint8) {
	a := &s.atts[ai]
	a.outcome = outcome
	a.state = stReturning
	e := &s.edges[a.edge]
	if !e.hasNet || a.call == none {
		s.returned(ai, nil)
		return
	}
	if e.laneNet >= 0 {
		s.ag.later(e.laneNet, s.now+int64(e.net.mean), evReturn, 0, ai, 0)
		return
	}
	s.ag.push(s.now+e.net.draw(), evReturn, 0, ai, 0)
}

// cancel reaches the server: nobody waits for this attempt.
func (s *Sim) cancel(ai, gen uint32) {
	a := &s.atts[ai]
	if a.gen != gen {
		return
	}
	e := &s.edges[a.edge]
	ni := int(e.to)
	n := &s.nodes[ni]
	switch a.state {
	case stTransit:
		a.gone = true
	case stQueued:
		if !a.gone {
			a.gone = true
			n.gone++
			n.stats.Cancelled++
		}
	case stServing:
		if e.cfg.Cancel != CancelPreempt {
			return
		}
		n.stats.Cancelled++
		arr := a.arr
		s.dropAttempt(ai) // its service event is stale now
		s.release(n, ni, arr)
	case stWaiting:
		if e.cfg.Cancel != CancelPreempt {
			return
		}
		n.stats.Cancelled++
		arr := a.arr
		for k := a.child; k != none; {
			next := s.calls[k].sibling
			s.abandon(k)
			k = next
		}
		s.dropAttempt(ai)
		if n.hold {
			s.release(n, ni, arr)
		}
	}
}

// abandon ends a call whose caller has been cancelled, without telling it.
func (s *Sim) abandon(ci uint32) {
	c := &s.calls[ci]
	e := &s.edges[c.edge]
	if e.guarded {
		for i := range int(c.nlive) {
			if c.live[i].paid > 0 {
				e.inst[c.inst].budget.RetryEnded(&e.budget, false, false)
			}
		}
		e.inst[c.inst].budget.End(&e.budget, false)
	}
	for c.nlive > 0 {
		s.sendCancel(e, c.forget(0).att)
		c = &s.calls[ci]
	}
	c.serial++
	c.waiting = false
	e.stats.Failed++
	s.freeCall = append(s.freeCall, ci)
}
