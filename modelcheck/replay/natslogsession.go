package replay

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

// natsLogSession is the connection of one worker to a log.
type natsLogSession struct {
	s      *natsLog
	worker natsWorker
	member *logMember // of the runs of this worker
	batch  []*fetched // of the run: what comes after the current message
}

// fetched is a message at its place.
type fetched struct {
	*stored
	partition, position int
	last                bool
}

// take fetches at the next position of a partition that the member owns, if
// possible of the message that the model has chosen.
func (x *natsLogSession) take(ctx context.Context, t *ast.Trigger, names *scope, e *lower.Event) (Value, error) {
	if err := x.worker.revive(); err != nil {
		return nil, err
	}
	m, err := x.s.member(names, t.Workers)
	if err != nil {
		return nil, err
	}
	x.member = m
	kv, err := x.worker.js.KeyValue(ctx, x.s.bucket)
	if err != nil {
		return nil, err
	}
	var other []*fetched
	for part := range x.s.partitions() {
		batch, err := x.available(ctx, kv, part, max(t.Batch, 1))
		if err != nil {
			return nil, err
		}
		if len(batch) == 0 {
			continue
		}
		if e == nil || e.Of.Partition < 0 || e.Of.Partition == part || batch[0].like(e.Of.Fields) && other == nil {
			other = batch
		}
		if e != nil && e.Of.Partition == part {
			break
		}
	}
	if other == nil {
		return nil, nil
	}
	last := other[len(other)-1]
	x.s.mu.Lock()
	m.next[last.partition] = last.position + 1
	x.s.mu.Unlock()
	x.batch = other[1:]
	return x.handed(other[0]), nil
}

// available are the messages that the member would fetch from a partition.
func (x *natsLogSession) available(ctx context.Context, kv jetstream.KeyValue, part, most int) ([]*fetched, error) {
	m := x.member
	c, err := readCommitted(ctx, kv, offsetKey(m.group, part))
	if err != nil || c.owner != m.number {
		return nil, err
	}
	all, first, err := x.s.partition(ctx, x.worker.js, kv, part)
	if err != nil {
		return nil, err
	}
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	if g, known := m.generation[part]; !known || g != c.generation {
		m.generation[part], m.next[part] = c.generation, c.from
	}
	m.next[part] = max(m.next[part], first)
	var out []*fetched
	for i, at := 0, m.next[part]; i < most && at-first < len(all); i, at = i+1, at+1 {
		out = append(out, &fetched{stored: all[at-first], partition: part, position: at})
	}
	if len(out) > 0 {
		out[len(out)-1].last = true
	}
	return out, nil
}

func (x *natsLogSession) handed(f *fetched) *Message {
	x.s.mu.Lock()
	x.member.busy[x] = f
	x.s.mu.Unlock()
	m := f.message()
	m.Fields["offset"], m.Fields["last"] = int64(f.position), f.last
	m.Handle = f
	return m
}

// next gives the message of a batch whose turn comes.
func (x *natsLogSession) next(context.Context) (Value, bool, error) {
	if len(x.batch) == 0 {
		return nil, false, nil
	}
	f := x.batch[0]
	x.batch = x.batch[1:]
	return x.handed(f), true, nil
}

func (x *natsLogSession) do(ctx context.Context, c *call) ending {
	ctx, cancel := context.WithTimeout(ctx, requestPatience)
	defer cancel()
	switch c.step.Verb {
	case ast.VerbSend:
		return x.send(ctx, c)
	case ast.VerbCommitOffset:
		return x.commit(ctx, c)
	}
	return failed(fmt.Errorf("%w: %s on a log of JetStream", errUnsupported, c.step.Verb))
}

func (s *natsLog) draft(part int, rec Record) *nats.Msg {
	m := nats.NewMsg(s.name + "." + partitionToken(part) + "." + freshToken())
	m.Data = []byte(encode(rec))
	return m
}

// send appends to a partition: the client chooses which, as the model does.
func (x *natsLogSession) send(ctx context.Context, c *call) ending {
	rec, err := sentRecord(c, x.s.q)
	if err != nil {
		return failed(err)
	}
	m := x.s.draft(x.s.choose(c, rec), rec)
	marks, err := marksOf(c.names, c.step)
	if err != nil {
		return failed(err)
	}
	setEffects(m, marks)
	var epoch *int64
	if c.step.Epoch != nil && x.s.q.Fenced {
		v, err := c.names.eval(c.step.Epoch)
		n, ok := v.(int64)
		if err != nil || !ok {
			return failed(errors.Join(err, fmt.Errorf("%s: the epoch is %v", c.step.Pos, v)))
		}
		epoch = &n
	}
	return x.worker.under(c.fault, func() ending {
		if epoch != nil {
			newer, err := x.announce(ctx, *epoch)
			if err != nil {
				return lostOrFailed(err)
			}
			if newer {
				return fencedOff(c.step)
			}
		}
		if err := x.s.publish(ctx, x.worker.nc, m); err != nil {
			return lostOrFailed(err)
		}
		return ending{done: true}
	})
}

// choose is the partition of a message: the model's, else by its key.
func (s *natsLog) choose(c *call, rec Record) int {
	if c.event != nil && c.event.Step == c.step && c.event.Of.Partition >= 0 {
		return c.event.Of.Partition
	}
	if s.q.PartitionBy == nil {
		return 0
	}
	n := 0
	for _, b := range []byte(fmt.Sprint(hash([]Value{rec[s.q.PartitionBy.Name]}))) {
		n = (n*31 + int(b)) % s.partitions()
	}
	return n
}

// announce remembers the newest producer epoch, or says that there is a newer one.
func (x *natsLogSession) announce(ctx context.Context, epoch int64) (newer bool, err error) {
	kv, err := x.worker.js.KeyValue(ctx, x.s.bucket)
	if err != nil {
		return false, err
	}
	err = compareAndSet(func() error {
		n, revision, err := readNumber(ctx, kv, epochKey)
		if err != nil {
			return err
		}
		if newer = revision > 0 && epoch < n; newer {
			return nil
		}
		_, err = kv.Update(ctx, epochKey, []byte(strconv.FormatInt(epoch, 10)), revision)
		return err
	})
	return newer, err
}

// fencedOff is the refusal of an old epoch.
func fencedOff(s *ast.Step) ending {
	e := ending{branch: ast.OnError, err: errors.New("a newer epoch has written")}
	if b := s.Branches[ast.OnRefused]; b != nil && !b.Implicit {
		e.branch = ast.OnRefused
	}
	return e
}

// commit moves the group's offset, by compare and set.
func (x *natsLogSession) commit(ctx context.Context, c *call) ending {
	m, _ := c.names.vars[c.step.Process.Trigger.As].(*Message)
	if m == nil {
		return failed(fmt.Errorf("%s: the run has no message of %s", c.step.Pos, x.s.r.Name))
	}
	f, ok := m.Handle.(*fetched)
	if !ok || x.member == nil {
		return failed(fmt.Errorf("%s: the message is not of %s", c.step.Pos, x.s.r.Name))
	}
	to, err := x.upTo(c, f)
	if err != nil {
		return failed(err)
	}
	marks, err := marksOf(c.names, c.step)
	if err != nil {
		return failed(err)
	}
	return x.worker.under(c.fault, func() ending {
		refusal, err := x.move(ctx, c.step, f.partition, to)
		if err == nil && refusal == nil {
			err = x.s.publishEffects(ctx, x.worker.nc, marks)
		}
		switch {
		case err != nil:
			return lostOrFailed(err)
		case refusal != nil:
			return ending{branch: ast.OnError, err: refusal}
		}
		return ending{done: true}
	})
}

// move writes the offset unless the group refuses it.
func (x *natsLogSession) move(ctx context.Context, s *ast.Step, part, to int) (refusal, err error) {
	kv, err := x.worker.js.KeyValue(ctx, x.s.bucket)
	if err != nil {
		return nil, err
	}
	err = compareAndSet(func() error {
		c, err := readCommitted(ctx, kv, offsetKey(x.member.group, part))
		switch {
		case err != nil:
			return err
		case x.s.q.Fenced && c.owner != x.member.number:
			refusal = fmt.Errorf("the partition belongs to member %d", c.owner+1)
			return nil
		case s.Lower && to < c.offset:
			refusal = fmt.Errorf("offset %d is below the committed offset %d", to, c.offset)
			return nil
		}
		refusal, c.offset = nil, to
		return writeCommitted(ctx, kv, offsetKey(x.member.group, part), c)
	})
	return refusal, err
}

// upTo is the offset to commit: behind the run's message, at the position named,
// or the highest below which everything that the member has fetched is done.
func (x *natsLogSession) upTo(c *call, f *fetched) (int, error) {
	if c.step.UpTo == ast.UpToContiguous {
		return x.contiguous(f), nil
	}
	if c.step.UpToExpr != nil {
		v, err := c.names.eval(c.step.UpToExpr)
		if err != nil {
			return 0, err
		}
		if n, ok := v.(int64); ok {
			return int(n), nil
		}
	}
	return f.position + 1, nil
}

func (x *natsLogSession) contiguous(f *fetched) int {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	to := x.member.next[f.partition]
	if len(x.batch) > 0 {
		to = f.position + 1
	}
	for other, at := range x.member.busy {
		if other != x && at.partition == f.partition {
			to = min(to, at.position)
		}
	}
	return to
}

// end: the run is over; a log gives nothing back.
func (x *natsLogSession) end(context.Context) error {
	x.batch = nil
	if x.member != nil {
		x.s.mu.Lock()
		delete(x.member.busy, x)
		x.s.mu.Unlock()
	}
	return nil
}

// cut is the crash of the whole member: it fetches again from what is committed.
func (x *natsLogSession) cut() {
	if x.member != nil {
		x.s.crash(x.member)
	}
	x.worker.cut()
}
