package specs

import (
	"fmt"
	"strconv"
)

// Proc records the steps of a process, or of a block in it. Each method adds one
// step, one round trip; branches and effects are added to what it returns.
type Proc struct {
	steps *node
	label string
}

// Tx is a Proc inside a transaction or script.
type Tx = Proc

// StepBuilder is the step just recorded.
type StepBuilder struct{ n *node }

// Branch is what happens at an outcome.
type Branch string

// Branches without arguments.
const (
	Stop     Branch = "stop"
	Continue Branch = "continue"
	AskHuman Branch = "ask_human"
)

// Retry runs the step again at most n times, then stops.
func Retry(n int) Branch { return Branch(fmt.Sprintf("retry %d", n)) }

// ReplyWith answers the request and ends the run.
func ReplyWith(class string) Branch { return Branch("reply " + class) }

// Goto jumps to a label.
func (p *Proc) Goto(label string) Branch { return Branch("go " + label) }

// Commit commits the transaction here, then jumps.
func (p *Proc) Commit(label string) Branch { return Branch("commit " + label) }

// At gives the next step a label.
func (p *Proc) At(label string) *Proc {
	p.label = label
	return p
}

func (p *Proc) add(verb string, subject *node) *StepBuilder {
	n := newMap()
	if p.label != "" {
		n.set("at", scalar(p.label))
		p.label = ""
	}
	n.set(verb, subject)
	p.steps.list = append(p.steps.list, n)
	return &StepBuilder{n}
}

// Set adds any further key of the step.
func (s *StepBuilder) Set(key string, value any) *StepBuilder {
	s.n.set(key, value_(value))
	return s
}

func (s *StepBuilder) branch(key string, b Branch) *StepBuilder { return s.Set(key, string(b)) }

// IfExists is taken when the row or key is there already.
func (s *StepBuilder) IfExists(b Branch) *StepBuilder { return s.branch("if_exists", b) }

// IfNone is taken when nothing matches.
func (s *StepBuilder) IfNone(b Branch) *StepBuilder { return s.branch("if_none", b) }

// IfHeld is taken when another holds the lock.
func (s *StepBuilder) IfHeld(b Branch) *StepBuilder { return s.branch("if_held", b) }

// OnRefused is taken when a provider or fenced log refuses.
func (s *StepBuilder) OnRefused(b Branch) *StepBuilder { return s.branch("on_refused", b) }

// OnError is taken at a definite failure: nothing was done.
func (s *StepBuilder) OnError(b Branch) *StepBuilder { return s.branch("on_error", b) }

// OnUnknown is taken without an answer: it was done, or not.
func (s *StepBuilder) OnUnknown(b Branch) *StepBuilder { return s.branch("on_unknown", b) }

// Effect says that the step is the business effect for the operation.
func (s *StepBuilder) Effect(name string, op Expr) *StepBuilder {
	return s.mark("effect", name, op)
}

// Undo says that the step takes the effect back.
func (s *StepBuilder) Undo(name string, op Expr) *StepBuilder { return s.mark("undo", name, op) }

func (s *StepBuilder) mark(key, name string, op Expr) *StepBuilder {
	n := s.n.vals[key]
	if n == nil {
		n = newMap()
		s.n.set(key, n)
	}
	n.set(name, scalar(string(op)))
	return s
}

// As binds the answer to a name; fields are read by Expr(name + ".field").
func (s *StepBuilder) As(name string) *StepBuilder { return s.Set("as", name) }

// Where selects rows by a condition.
func (s *StepBuilder) Where(cond Expr) *StepBuilder { return s.Set("where", cond) }

// When makes a local step conditional.
func (s *StepBuilder) When(cond Expr) *StepBuilder { return s.Set("when", cond) }

// TTL lets the key expire.
func (s *StepBuilder) TTL(d string) *StepBuilder { return s.Set("ttl", d) }

// IfAbsent makes a put conditional (SETNX).
func (s *StepBuilder) IfAbsent() *StepBuilder { return s.Set("if_absent", true) }

// Tx records a transaction.
func (p *Proc) Tx(db *Store, body func(tx *Tx)) *StepBuilder {
	return p.block("transaction", db, body)
}

// Script records a script on a kv: isolated, not rolled back.
func (p *Proc) Script(kv *Store, body func(tx *Tx)) *StepBuilder { return p.block("script", kv, body) }

func (p *Proc) block(verb string, s *Store, body func(tx *Tx)) *StepBuilder {
	b := p.add(verb, scalar(s.name))
	inner := &Proc{steps: newList()}
	body(inner)
	b.n.set("do", inner.steps)
	return b
}

// Insert adds a row.
func (p *Proc) Insert(table string, row Row) *StepBuilder {
	return p.add("insert", scalar(table)).Set("row", row)
}

// Update changes the rows that Where selects.
func (p *Proc) Update(table string, set Row) *StepBuilder {
	return p.add("update", scalar(table)).Set("set", set)
}

// Delete removes the rows that Where selects.
func (p *Proc) Delete(table string) *StepBuilder { return p.add("delete", scalar(table)) }

// Select reads a row, or none, into a name.
func (p *Proc) Select(table, as string) *StepBuilder {
	return p.add("select", scalar(table)).As(as)
}

// Put writes a key; a nil value marks it present.
func (p *Proc) Put(kv *Store, key Expr, value any) *StepBuilder {
	b := p.add("put", scalar(kv.name)).Set("key", key)
	if value != nil {
		b.Set("value", value)
	}
	return b
}

// Get reads a key, or none, into a name.
func (p *Proc) Get(kv *Store, key Expr, as string) *StepBuilder {
	return p.add("get", scalar(kv.name)).Set("key", key).As(as)
}

// Remove removes a key.
func (p *Proc) Remove(kv *Store, key Expr) *StepBuilder {
	return p.add("remove", scalar(kv.name)).Set("key", key)
}

// Send sends a message.
func (p *Proc) Send(q *Store, message Row) *StepBuilder {
	return p.add("send", scalar(q.name)).Set("message", message)
}

// Ack acknowledges the message; Nack gives it back.
func (p *Proc) Ack(m Msg) *StepBuilder { return p.add("ack", scalar(m.Name)) }

// Nack gives the message back.
func (p *Proc) Nack(m Msg) *StepBuilder { return p.add("nack", scalar(m.Name)) }

// CommitOffset commits up to the message of this run.
func (p *Proc) CommitOffset(log *Store) *StepBuilder {
	return p.add("commit_offset", scalar(log.name))
}

// Call calls a method of a provider.
func (p *Proc) Call(provider *Store, method string, with Row) *StepBuilder {
	return p.add("call", scalar(provider.name+"."+method)).Set("with", with)
}

// Reply answers a request: "ok", "refused", "try_later" or a word of yours.
func (p *Proc) Reply(class string) *StepBuilder { return p.add("reply", scalar(class)) }

// AskHuman hands the operation over.
func (p *Proc) AskHuman(op Expr) *StepBuilder { return p.add("ask_human", scalar(string(op))) }

// Go jumps, always or When.
func (p *Proc) Go(label string) *StepBuilder { return p.add("go", scalar(label)) }

// Stop ends the run.
func (p *Proc) Stop() *StepBuilder { return p.add("stop", scalar("true")) }

// Let binds local names.
func (p *Proc) Let(values Row) *StepBuilder { return p.add("let", value_(values)) }

// LetRange declares a local number from lo to hi, starting at lo.
func (p *Proc) LetRange(name string, lo, hi int) *StepBuilder {
	return p.add("let", newMap().set(name, scalar(strconv.Itoa(lo)+" .. "+strconv.Itoa(hi))))
}

// Step records any step of the language by its verb, for what has no method.
func (p *Proc) Step(verb string, subject any) *StepBuilder { return p.add(verb, value_(subject)) }
