package models

import "github.com/relplan/relplan/modelcheck"

// Outbox is a transactional outbox with leases, relays and one deduplicating
// consumer (B3). A state is one word: 3 rows and 2 relays with 2 crashes and 2
// expiries use all 64 bits.
type Outbox struct {
	shape   modelcheck.Shape
	actions actionTable
	m, w    int
	v       uint64 // largest claim version

	row, rowBits                           int // shift of row 0 and bits of a row
	verOff, ownOff, dlvOff, bqOff, seenOff int // within a row; st is at 0
	effOff                                 int
	wk, wkBits                             int // shift of relay 0: pc:2, cur, tok
	tokOff                                 int
	verMask, ownMask, curMask              uint64
	noRow, noRelay                         uint64
	cpc, ccur, cShift, lShift              int
	cMask, lMask                           uint64
	start                                  uint64
	freeClear, freeSet                     uint64 // of a relay record
}

const (
	stPending = iota
	stClaimed
	stSent
)

const (
	rIdle = iota
	rHave
	rPub
)

const (
	cIdle = iota
	cGot
	cDone
)

const (
	kClaim = iota
	kPublish
	kMarkOK
	kMarkFail
	kCrashRelay
	kExpireLive
	kExpireOrphan
	kFetch
	kConsume
	kConsumerAck
	kCrashConsumer
)

// NewOutbox makes B3 with the given numbers of rows, relays, crashes and
// premature lease expiries.
func NewOutbox(rows, relays, crashes, expiries int) *Outbox {
	b := &Outbox{m: rows, w: relays, v: uint64(1 + crashes + expiries), noRow: uint64(rows), noRelay: uint64(relays)}
	var l shaper
	l.shape.Words = 1
	l.shape.Sets = []modelcheck.Set{{Name: "row", Size: rows}, {Name: "relay", Size: relays}}
	ver, own := num("ver", int(b.v)), ref("own", setWorkers, relays)
	b.row = l.block(setMessages, rows, num("st", 2), ver, own, num("dlv", 3), num("bq", 3), num("seen", 1), num("eff", 2))
	b.verOff = 2
	b.ownOff = b.verOff + ver.Bits
	b.dlvOff = b.ownOff + own.Bits
	b.bqOff, b.seenOff, b.effOff = b.dlvOff+2, b.dlvOff+4, b.dlvOff+5
	b.rowBits = b.dlvOff + 7
	cur := ref("cur", setMessages, rows)
	b.wk = l.block(setWorkers, relays, num("pc", 2), cur, num("tok", int(b.v)))
	b.tokOff = 2 + cur.Bits
	b.wkBits = b.tokOff + ver.Bits
	b.verMask, b.ownMask, b.curMask = 1<<ver.Bits-1, 1<<own.Bits-1, 1<<cur.Bits-1
	b.cpc = l.global(num("cpc", 2))
	b.ccur = l.global(ref("ccur", setMessages, rows))
	c, e := num("c", crashes), num("l", expiries)
	b.cShift, b.lShift = l.global(c), l.global(e)
	b.cMask, b.lMask = 1<<c.Bits-1, 1<<e.Bits-1
	b.actions = outboxActions(rows, relays)
	l.shape.Steps = b.actions.steps()
	l.shape.Actions = b.actions.count()
	b.shape = l.shape
	b.freeClear, b.freeSet = 1<<b.wkBits-1, b.noRow<<2
	for i := range rows {
		b.start |= b.noRelay << (b.row + i*b.rowBits + b.ownOff)
	}
	for i := range relays {
		b.start |= b.freeSet << (b.wk + i*b.wkBits)
	}
	b.start |= b.noRow<<b.ccur | uint64(crashes)<<b.cShift | uint64(expiries)<<b.lShift
	return b
}

func outboxActions(rows, relays int) actionTable {
	return actionTable{workers: relays, messages: rows, kinds: []actionKind{
		kClaim:         {text: "claim", actor: "relay", kind: modelcheck.Delivery},
		kPublish:       {text: "publish", actor: "relay"},
		kMarkOK:        {text: "mark sent", actor: "relay"},
		kMarkFail:      {text: "mark refused", actor: "relay"},
		kCrashRelay:    {text: "crash", actor: "relay", kind: modelcheck.Fault, fault: "crash"},
		kExpireLive:    {text: "lease expires early", proc: 2, kind: modelcheck.Fault, fault: "expiry", rank: 1},
		kExpireOrphan:  {text: "lease of a dead relay expires", proc: 2, kind: modelcheck.Expiry},
		kFetch:         {text: "fetch", actor: "consumer", proc: 1, kind: modelcheck.Delivery, single: true},
		kConsume:       {text: "consume", actor: "consumer", proc: 1, single: true},
		kConsumerAck:   {text: "ack", actor: "consumer", proc: 1, single: true},
		kCrashConsumer: {text: "crash", actor: "consumer", proc: 1, kind: modelcheck.Fault, fault: "crash", single: true},
	}}
}

// Shape implements modelcheck.Model.
func (b *Outbox) Shape() *modelcheck.Shape { return &b.shape }

// Initial implements modelcheck.Model.
func (b *Outbox) Initial(emit func([]uint64)) { emit([]uint64{b.start}) }

// Describe implements modelcheck.Model.
func (b *Outbox) Describe(a modelcheck.ActionID) modelcheck.Action { return b.actions.describe(a) }

// Expand implements modelcheck.Model.
func (b *Outbox) Expand(state []uint64, x *modelcheck.Sink) {
	s := state[0]
	var live uint64 // bit per row whose claim's owner still works on it
	crashes := s>>b.cShift&b.cMask > 0
	for w := range b.w {
		r := s >> (b.wk + w*b.wkBits)
		if r&3 == rIdle {
			b.claim(s, w, x)
			continue
		}
		m := int(r >> 2 & b.curMask)
		ro := b.row + m*b.rowBits
		row := s >> ro
		owns := row>>b.ownOff&b.ownMask == uint64(w) && row>>b.verOff&b.verMask == r>>b.tokOff&b.verMask
		if owns {
			live |= 1 << m
		}
		b.relay(s, w, m, owns, x)
		if crashes {
			x.EmitWord(b.actions.id(kCrashRelay, w, m), b.free(s, w)-1<<b.cShift)
		}
	}
	expiries := s>>b.lShift&b.lMask > 0
	for m := range b.m {
		ro := b.row + m*b.rowBits
		if s>>ro&3 != stClaimed {
			continue
		}
		n := s&^(3<<ro|b.ownMask<<(ro+b.ownOff)) | b.noRelay<<(ro+b.ownOff)
		if live>>m&1 == 0 {
			x.EmitWord(b.actions.id(kExpireOrphan, 0, m), n)
		} else if expiries {
			x.EmitWord(b.actions.id(kExpireLive, 0, m), n-1<<b.lShift)
		}
	}
	b.consumer(s, crashes, x)
}

// free gives s with relay w idle.
func (b *Outbox) free(s uint64, w int) uint64 {
	off := b.wk + w*b.wkBits
	return s&^(b.freeClear<<off) | b.freeSet<<off
}

func (b *Outbox) claim(s uint64, w int, x *modelcheck.Sink) {
	off := b.wk + w*b.wkBits
	base := s&^(b.freeClear<<off) | rHave<<off
	for m := range b.m {
		ro := b.row + m*b.rowBits
		ver := s >> (ro + b.verOff) & b.verMask
		if s>>ro&3 != stPending || ver >= b.v {
			continue
		}
		n := base&^(b.ownMask<<(ro+b.ownOff)) | uint64(w)<<(ro+b.ownOff) | stClaimed<<ro
		n += 1 << (ro + b.verOff)
		x.EmitWord(b.actions.id(kClaim, w, m), n|uint64(m)<<(off+2)|(ver+1)<<(off+b.tokOff))
	}
}

func (b *Outbox) relay(s uint64, w, m int, owns bool, x *modelcheck.Sink) {
	off := b.wk + w*b.wkBits
	ro := b.row + m*b.rowBits
	switch {
	case s>>off&3 == rHave:
		n := sat(sat(s, ro+b.dlvOff, 3), ro+b.bqOff, 3)
		x.EmitWord(b.actions.id(kPublish, w, m), n&^(3<<off)|rPub<<off)
	case owns && s>>ro&3 == stClaimed:
		n := b.free(s, w)&^(3<<ro|b.ownMask<<(ro+b.ownOff)) | stSent<<ro | b.noRelay<<(ro+b.ownOff)
		x.EmitWord(b.actions.id(kMarkOK, w, m), n)
	default:
		x.EmitWord(b.actions.id(kMarkFail, w, m), b.free(s, w))
	}
}

func (b *Outbox) consumer(s uint64, crashes bool, x *modelcheck.Sink) {
	idle := s&^(3<<b.cpc|b.curMask<<b.ccur) | b.noRow<<b.ccur
	pc := s >> b.cpc & 3
	if pc == cIdle {
		for m := range b.m {
			bq := b.row + m*b.rowBits + b.bqOff
			if s>>bq&3 > 0 {
				n := s&^(b.curMask<<b.ccur) | uint64(m)<<b.ccur | cGot<<b.cpc
				x.EmitWord(b.actions.id(kFetch, 0, m), n-1<<bq)
			}
		}
		return
	}
	m := int(s >> b.ccur & b.curMask)
	ro := b.row + m*b.rowBits
	if pc == cGot {
		n := s&^(3<<b.cpc) | cDone<<b.cpc
		if s>>(ro+b.seenOff)&1 == 0 {
			n = sat(n|1<<(ro+b.seenOff), ro+b.effOff, 2)
		}
		x.EmitWord(b.actions.id(kConsume, 0, m), n)
	} else {
		x.EmitWord(b.actions.id(kConsumerAck, 0, m), idle)
	}
	if crashes {
		x.EmitWord(b.actions.id(kCrashConsumer, 0, m), sat(idle, ro+b.bqOff, 3)-1<<b.cShift)
	}
}

// Quiescent tells whether every row is sent and consumed and everybody idle.
func (b *Outbox) Quiescent(s []uint64) bool {
	for w := range b.w {
		if s[0]>>(b.wk+w*b.wkBits)&3 != rIdle {
			return false
		}
	}
	for m := range b.m {
		r := s[0] >> (b.row + m*b.rowBits)
		if r&3 != stSent || r>>b.bqOff&3 != 0 {
			return false
		}
	}
	return s[0]>>b.cpc&3 == cIdle
}

// NoDup: no effect happens twice.
func (b *Outbox) NoDup() modelcheck.Property {
	var twice uint64
	for m := range b.m {
		twice |= 2 << (b.row + m*b.rowBits + b.effOff)
	}
	return modelcheck.Property{Name: "NoDup", Goal: func(s []uint64) bool { return s[0]&twice == 0 }}
}

// SentDelivered: a row marked as sent was published.
func (b *Outbox) SentDelivered() modelcheck.Property {
	return modelcheck.Property{Name: "SentDelivered", Goal: func(s []uint64) bool {
		for m := range b.m {
			r := s[0] >> (b.row + m*b.rowBits)
			if r&3 == stSent && r>>b.dlvOff&3 == 0 {
				return false
			}
		}
		return true
	}}
}

// NoLost: when everything is at rest, every effect happened once.
func (b *Outbox) NoLost() modelcheck.Property {
	return modelcheck.Property{Name: "NoLost", Goal: func(s []uint64) bool {
		if !b.Quiescent(s) {
			return true
		}
		for m := range b.m {
			if s[0]>>(b.row+m*b.rowBits+b.effOff)&3 != 1 {
				return false
			}
		}
		return true
	}}
}

// Delivered: every row eventually has its effect, judged on the whole graph.
func (b *Outbox) Delivered() modelcheck.Property {
	return modelcheck.Property{Name: "Delivered", Kind: modelcheck.Eventually, Latched: true,
		Goal: func(s []uint64) bool {
			for m := range b.m {
				if s[0]>>(b.row+m*b.rowBits+b.effOff)&3 == 0 {
					return false
				}
			}
			return true
		}}
}

// RestOnly: states without enabled actions are the quiescent ones.
func (b *Outbox) RestOnly() modelcheck.Property {
	return modelcheck.Property{Name: "RestOnly", Kind: modelcheck.NoDeadlock, Goal: b.Quiescent}
}
