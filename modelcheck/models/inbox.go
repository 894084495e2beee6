package models

import "github.com/relplan/relplan/modelcheck"

// Inbox is an at-least-once broker with a transactional inbox row and effect
// (B1), or, with Setnx, a Redis key set before the effect (B2). Workers take a
// message, record it once, apply the effect and acknowledge. A state is one
// word, so Messages is at most 6 and Workers at most 5.
type Inbox struct {
	shape   modelcheck.Shape
	actions actionTable
	setnx   bool
	late    bool // also acknowledged messages are delivered again
	m, w    int
	cShift  int
	rShift  int
	msg     int // shift of message 0: q, ak, row (or key), eff:2
	wk      int // shift of worker 0: pc:3, cur
	wkBits  int
	none    uint64
	start   uint64
}

// Bits of a message record.
const (
	bitQ    = 1
	bitAk   = 2
	bitRow  = 4
	effOff  = 3
	msgBits = 5
)

// Program counters of a worker. WON of B2 is pcTX.
const (
	pcIdle = iota
	pcRecv
	pcTX
	pcEff
	pcDone
)

// Kinds of actions.
const (
	kReceive = iota
	kInsert
	kDuplicate
	kApply
	kCommit
	kAck
	kCrash
	kRedeliver
)

// NewInbox makes B1 with the given numbers of messages, workers, crashes and
// redeliveries.
func NewInbox(messages, workers, crashes, redeliveries int) *Inbox {
	return newInbox(false, messages, workers, crashes, redeliveries)
}

// NewSetnx makes B2 with the given numbers of messages, workers, crashes and
// redeliveries.
func NewSetnx(messages, workers, crashes, redeliveries int) *Inbox {
	return newInbox(true, messages, workers, crashes, redeliveries)
}

// LostAcks gives the protocol in which a redelivery may also bring back a message
// that was acknowledged (the acknowledgment was lost on the way to disk), as the
// queues of the protocol language do.
func (b *Inbox) LostAcks() *Inbox {
	c := *b
	c.late = true
	return &c
}

func newInbox(setnx bool, m, w, c, r int) *Inbox {
	b := &Inbox{setnx: setnx, m: m, w: w, none: uint64(m)}
	var l shaper
	l.shape.Words = 1
	l.shape.Sets = []modelcheck.Set{{Name: "message", Size: m}, {Name: "worker", Size: w}}
	row := "row"
	if setnx {
		row = "key"
	}
	b.msg = l.block(setMessages, m, num("q", 1), num("ak", 1), num(row, 1), num("eff", 2))
	cur := ref("cur", setMessages, m)
	b.wk = l.block(setWorkers, w, num("pc", pcDone), cur)
	b.wkBits = 3 + cur.Bits
	b.cShift = l.global(num("c", c))
	b.rShift = l.global(num("r", r))
	b.actions = actionTable{workers: w, messages: m, kinds: []actionKind{
		kReceive:   {text: "receive", actor: "worker", kind: modelcheck.Delivery},
		kInsert:    {text: "insert", actor: "worker"},
		kDuplicate: {text: "duplicate", actor: "worker"},
		kApply:     {text: "apply", actor: "worker"},
		kCommit:    {text: "commit", actor: "worker"},
		kAck:       {text: "ack", actor: "worker"},
		kCrash:     {text: "crash", actor: "worker", kind: modelcheck.Fault, fault: "crash"},
		kRedeliver: {text: "redeliver", proc: 1, kind: modelcheck.Fault, fault: "redelivery", rank: 1},
	}}
	l.shape.Steps = b.actions.steps()
	if setnx {
		b.actions.kinds[kInsert].text = "setnx-win"
		b.actions.kinds[kDuplicate].text = "setnx-lose"
		b.actions.kinds[kCommit].text = "" // one step less than B1
		l.shape.Steps = b.actions.steps()
	}
	l.shape.Actions = b.actions.count()
	b.shape = l.shape
	for i := range m {
		b.start |= bitQ << (b.msg + i*msgBits)
	}
	for i := range w {
		b.start |= b.none << (b.wk + i*b.wkBits + 3)
	}
	b.start |= uint64(c)<<b.cShift | uint64(r)<<b.rShift
	return b
}

// Shape implements modelcheck.Model.
func (b *Inbox) Shape() *modelcheck.Shape { return &b.shape }

// Initial implements modelcheck.Model.
func (b *Inbox) Initial(emit func([]uint64)) { emit([]uint64{b.start}) }

// Describe implements modelcheck.Model.
func (b *Inbox) Describe(a modelcheck.ActionID) modelcheck.Action { return b.actions.describe(a) }

// Expand implements modelcheck.Model.
func (b *Inbox) Expand(state []uint64, x *modelcheck.Sink) {
	s := state[0]
	var held, locked uint64 // bit per message
	crashes := s>>b.cShift&(1<<(b.rShift-b.cShift)-1) > 0
	for w := range b.w {
		off := b.wk + w*b.wkBits
		pc := s >> off & 7
		if pc != pcIdle {
			bit := uint64(1) << (s >> (off + 3) & (1<<(b.wkBits-3) - 1))
			held |= bit
			if pc == pcTX || pc == pcEff {
				locked |= bit
			}
		}
	}
	for w := range b.w {
		off := b.wk + w*b.wkBits
		pc := s >> off & 7
		rest := s &^ (7 << off)
		if pc == pcIdle {
			b.receive(s, w, x)
			continue
		}
		m := int(s >> (off + 3) & (1<<(b.wkBits-3) - 1))
		mo := b.msg + m*msgBits
		free := rest&^((1<<(b.wkBits-3)-1)<<(off+3)) | b.none<<(off+3)
		switch pc {
		case pcRecv:
			b.record(s, rest, m, w, locked, x)
		case pcTX:
			if b.setnx {
				x.EmitWord(b.actions.id(kApply, w, m), sat(rest|pcDone<<off, mo+effOff, 2))
			} else {
				x.EmitWord(b.actions.id(kApply, w, m), rest|pcEff<<off)
			}
		case pcEff:
			x.EmitWord(b.actions.id(kCommit, w, m), sat(rest|pcDone<<off|bitRow<<mo, mo+effOff, 2))
		case pcDone:
			x.EmitWord(b.actions.id(kAck, w, m), free&^(bitQ<<mo)|bitAk<<mo)
		}
		if crashes {
			n := free - 1<<b.cShift
			if s>>mo&bitAk == 0 {
				n |= bitQ << mo
			}
			x.EmitWord(b.actions.id(kCrash, w, m), n)
		}
	}
	if s>>b.rShift > 0 {
		b.redeliver(s, held, x)
	}
}

func (b *Inbox) receive(s uint64, w int, x *modelcheck.Sink) {
	off := b.wk + w*b.wkBits
	base := s&^((1<<b.wkBits-1)<<off) | pcRecv<<off
	for m := range b.m {
		mo := b.msg + m*msgBits
		if s>>mo&bitQ != 0 {
			x.EmitWord(b.actions.id(kReceive, w, m), base&^(bitQ<<mo)|uint64(m)<<(off+3))
		}
	}
}

func (b *Inbox) record(s, rest uint64, m, w int, locked uint64, x *modelcheck.Sink) {
	off := b.wk + w*b.wkBits
	mo := b.msg + m*msgBits
	switch {
	case s>>mo&bitRow != 0:
		x.EmitWord(b.actions.id(kDuplicate, w, m), rest|pcDone<<off)
	case b.setnx:
		x.EmitWord(b.actions.id(kInsert, w, m), rest|pcTX<<off|bitRow<<mo)
	case locked>>m&1 == 0:
		x.EmitWord(b.actions.id(kInsert, w, m), rest|pcTX<<off)
	}
}

func (b *Inbox) redeliver(s, held uint64, x *modelcheck.Sink) {
	for m := range b.m {
		mo := b.msg + m*msgBits
		if s>>mo&bitQ == 0 && (held>>m&1 != 0 && s>>mo&bitAk == 0 || b.late && s>>mo&bitAk != 0) {
			x.EmitWord(b.actions.id(kRedeliver, 0, m), s-1<<b.rShift|bitQ<<mo)
		}
	}
}

// Quiescent tells whether every message is acknowledged and every worker idle.
func (b *Inbox) Quiescent(s []uint64) bool {
	for m := range b.m {
		if s[0]>>(b.msg+m*msgBits)&bitAk == 0 {
			return false
		}
	}
	for w := range b.w {
		if s[0]>>(b.wk+w*b.wkBits)&7 != pcIdle {
			return false
		}
	}
	return true
}

func (b *Inbox) effects(s uint64, m int) uint64 { return s >> (b.msg + m*msgBits + effOff) & 3 }

// NoDup: no effect happens twice.
func (b *Inbox) NoDup() modelcheck.Property {
	var twice uint64
	for m := range b.m {
		twice |= 2 << (b.msg + m*msgBits + effOff)
	}
	return modelcheck.Property{Name: "NoDup", Goal: func(s []uint64) bool { return s[0]&twice == 0 }}
}

// NoLost: when everything is at rest, every effect happened once. It is judged
// as an invariant over quiescent states.
func (b *Inbox) NoLost() modelcheck.Property {
	return modelcheck.Property{Name: "NoLost", Goal: func(s []uint64) bool {
		return !b.Quiescent(s) || b.allOnce(s)
	}}
}

// Delivered: every message eventually has its effect, judged on the whole graph.
func (b *Inbox) Delivered() modelcheck.Property {
	return modelcheck.Property{Name: "Delivered", Kind: modelcheck.Eventually, Latched: true,
		Goal: func(s []uint64) bool {
			for m := range b.m {
				if b.effects(s[0], m) == 0 {
					return false
				}
			}
			return true
		}}
}

// RestOnly: states without enabled actions are the quiescent ones.
func (b *Inbox) RestOnly() modelcheck.Property {
	return modelcheck.Property{Name: "RestOnly", Kind: modelcheck.NoDeadlock, Goal: b.Quiescent}
}

func (b *Inbox) allOnce(s []uint64) bool {
	for m := range b.m {
		if b.effects(s[0], m) != 1 {
			return false
		}
	}
	return true
}
