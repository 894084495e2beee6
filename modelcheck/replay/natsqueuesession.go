package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

// Bounds of the wait for an answer of the server, and for a message of an
// ordered queue.
const (
	requestPatience = 5 * time.Second
	orderedPatience = 20 * time.Millisecond
)

// natsQueueSession is the connection of one worker to a queue.
type natsQueueSession struct {
	s      *natsQueue
	worker natsWorker
	seen   map[uint64]*stored // by number; messages never change
	last   uint64             // the highest number seen
	held   []*delivery        // of this run, neither acked nor given back
	later  []*delivery        // of a batch: those whose turn has not come
}

// delivery is what the server needs to hear about a message that was taken.
type delivery struct {
	*stored
	reply     string // "" without acks
	delivered int
}

// take fetches the messages that the model has chosen, if the server offers
// them all: the first is the one that the run starts with.
func (x *natsQueueSession) take(ctx context.Context, t *ast.Trigger, _ *scope, e *lower.Event) (Value, error) {
	if err := x.look(ctx); err != nil {
		return nil, err
	}
	wanted := []lower.Record{nil}
	if e != nil {
		wanted = append([]lower.Record{e.Of.Fields}, e.Of.Rest...)
	}
	for i, of := range wanted {
		d, err := x.offered(ctx, of)
		if err != nil {
			return nil, err
		}
		if d == nil {
			return nil, x.end(ctx)
		}
		x.held = append(x.held, d)
		if i > 0 {
			x.later = append(x.later, d)
		}
	}
	return x.handed(x.held[0]), nil
}

// next gives the message of a batch whose turn comes.
func (x *natsQueueSession) next(context.Context) (Value, bool, error) {
	if len(x.later) == 0 {
		return nil, false, nil
	}
	d := x.later[0]
	x.later = x.later[1:]
	return x.handed(d), true, nil
}

// handed is a message as its run sees it.
func (x *natsQueueSession) handed(d *delivery) *Message {
	m := d.message()
	m.Fields["deliveries"], m.Fields["last"] = int64(d.delivered), len(x.later) == 0
	m.Handle = d
	return m
}

// look reads what was sent since the last time.
func (x *natsQueueSession) look(ctx context.Context) error {
	if err := x.worker.revive(); err != nil {
		return err
	}
	more, err := x.s.all(ctx, x.worker.js, x.last+1)
	for _, m := range more {
		x.seen[m.seq] = m
		x.last = max(x.last, m.seq)
	}
	return err
}

// offered fetches the first message like that which the server delivers now.
func (x *natsQueueSession) offered(ctx context.Context, of lower.Record) (*delivery, error) {
	asked := map[string]bool{}
	for seq := uint64(1); seq <= x.last; seq++ {
		m := x.seen[seq]
		if m == nil || m.rec == nil || !m.like(of) || ordered(x.s.q) && asked[m.group] {
			continue
		}
		asked[m.group] = true
		if d, err := x.fetch(ctx, m); d != nil || err != nil {
			return d, err
		}
	}
	return nil, nil
}

// fetch asks the server once for what the consumer of a message has to deliver.
func (x *natsQueueSession) fetch(ctx context.Context, m *stored) (*delivery, error) {
	c, err := x.s.consumer(ctx, x.worker.js, m)
	if err != nil {
		return nil, err
	}
	batch, err := x.ask(c)
	if err != nil {
		return nil, err
	}
	for got := range batch.Messages() {
		meta, err := got.Metadata()
		if err != nil {
			return nil, err
		}
		st, err := parseStored(meta.Sequence.Stream, got.Subject(), got.Headers(), got.Data())
		if err != nil {
			return nil, err
		}
		d := &delivery{stored: st, delivered: int(meta.NumDelivered), reply: got.Reply()}
		if x.s.q.Delivery == "at_most_once" {
			d.reply = ""
		}
		return d, nil
	}
	return nil, batch.Error()
}

// ask does not wait; where another message of the same consumer is held, the
// server would let a request wait for its return all the same.
func (x *natsQueueSession) ask(c jetstream.Consumer) (jetstream.MessageBatch, error) {
	if ordered(x.s.q) {
		return c.Fetch(1, jetstream.FetchMaxWait(orderedPatience))
	}
	return c.FetchNoWait(1)
}

func (x *natsQueueSession) do(ctx context.Context, c *call) ending {
	ctx, cancel := context.WithTimeout(ctx, requestPatience)
	defer cancel()
	switch c.step.Verb {
	case ast.VerbSend:
		return x.send(ctx, c)
	case ast.VerbAck, ast.VerbNack:
		m, _ := c.names.vars[c.step.Message].(*Message)
		if m == nil {
			return failed(fmt.Errorf("%s: no message is bound", c.step.Pos))
		}
		d, _ := m.Handle.(*delivery)
		if d == nil {
			return failed(fmt.Errorf("%s: the message is not of %s", c.step.Pos, x.s.r.Name))
		}
		return x.answer(ctx, c, d)
	}
	return failed(fmt.Errorf("%w: %s on JetStream", errUnsupported, c.step.Verb))
}

// send publishes a message and waits for the server's confirmation.
func (x *natsQueueSession) send(ctx context.Context, c *call) ending {
	m, err := x.messageOf(c)
	if err != nil {
		return failed(err)
	}
	return x.worker.under(c.fault, func() ending {
		if err := x.s.publish(ctx, x.worker.nc, m); err != nil {
			return lostOrFailed(err)
		}
		return ending{done: true}
	})
}

func (x *natsQueueSession) messageOf(c *call) (*nats.Msg, error) {
	rec, err := sentRecord(c, x.s.q)
	if err != nil {
		return nil, err
	}
	m := x.s.draft(rec, "")
	if by := x.s.q.DedupBy; by != nil && rec[by.Name] != nil {
		key := []Value{rec[by.Name]}
		if x.s.q.DedupScope == ast.DedupField && x.s.q.DedupField != nil {
			key = append(key, rec[x.s.q.DedupField.Name])
		}
		m.Header.Set(jetstream.MsgIDHeader, fmt.Sprint(hash(key)))
	}
	marks, err := marksOf(c.names, c.step)
	setEffects(m, marks)
	return m, err
}

// sentRecord is what a send puts into its message.
func sentRecord(c *call, q *ast.Queue) (Record, error) {
	rec, err := c.names.cells(c.step.Row)
	if err != nil {
		return nil, err
	}
	switch {
	case c.step.MessageID != nil:
		if rec["id"], err = c.names.eval(c.step.MessageID); err != nil {
			return nil, err
		}
	case q.IDs && rec["id"] == nil:
		rec["id"] = c.names.world.freshValue()
	}
	return rec, nil
}

// answer sends ack or nack and waits until the server has taken note.
func (x *natsQueueSession) answer(ctx context.Context, c *call, d *delivery) ending {
	marks, err := marksOf(c.names, c.step)
	if err != nil {
		return failed(err)
	}
	return x.worker.under(c.fault, func() ending {
		word := "+ACK"
		if c.step.Verb == ast.VerbNack {
			word = "-NAK"
		}
		if err := x.tell(ctx, d, word); err != nil {
			return lostOrFailed(err)
		}
		if err := x.s.publishEffects(ctx, x.worker.nc, marks); err != nil {
			return lostOrFailed(err)
		}
		x.held = slices.DeleteFunc(x.held, func(h *delivery) bool { return h.seq == d.seq })
		return ending{done: true}
	})
}

// tell answers a delivery. An ack finishes every copy of the message.
func (x *natsQueueSession) tell(ctx context.Context, d *delivery, word string) error {
	if d.reply == "" {
		return nil
	}
	if _, err := x.worker.nc.RequestWithContext(ctx, d.reply, []byte(word)); err != nil {
		return err
	}
	if word == "-NAK" {
		return x.usedUp(ctx, d)
	}
	return x.removeCopies(ctx, d)
}

// removeCopies deletes the other copies of a message: those that still wait, and
// those that were acked before.
func (x *natsQueueSession) removeCopies(ctx context.Context, d *delivery) error {
	all, err := x.s.all(ctx, x.worker.js, 0)
	if err != nil {
		return err
	}
	st, err := x.worker.js.Stream(ctx, x.s.name)
	if err != nil {
		return err
	}
	for _, m := range all {
		if m.rec == nil || m.identity != d.identity || m.seq == d.seq || len(m.effects) > 0 {
			continue
		}
		if err := st.DeleteMsg(ctx, m.seq); err != nil {
			return err
		}
	}
	return nil
}

// usedUp lets the server notice that a message has no delivery left: it looks
// only when somebody asks for the next one.
func (x *natsQueueSession) usedUp(ctx context.Context, d *delivery) error {
	if x.s.q.MaxDeliveries == 0 || d.delivered < x.s.q.MaxDeliveries {
		return nil
	}
	c, err := x.s.consumer(ctx, x.worker.js, d.stored)
	if err != nil {
		return err
	}
	batch, err := c.FetchNoWait(1)
	if err != nil {
		return err
	}
	for range batch.Messages() {
		return errors.New("the server delivers a message whose deliveries are used up")
	}
	return batch.Error()
}

// end gives back what the run has taken and not acked.
func (x *natsQueueSession) end(ctx context.Context) error {
	held := x.held
	if x.held, x.later = nil, nil; len(held) == 0 {
		return nil
	}
	if err := x.worker.revive(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestPatience)
	defer cancel()
	for _, d := range held {
		if err := x.tell(ctx, d, "-NAK"); err != nil {
			return err
		}
	}
	return nil
}

func (x *natsQueueSession) cut() { x.worker.cut() }
