package replay

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/internal/engines/enginetest"
	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

const logSpec = `
relplan: v1
system: events
operations: {event: 3}
resources:
  events: {kind: log, starts_with: one per event, fenced: true}
processes:
  consumer:
    instances: 2
    on: {message: events, as: m}
    steps:
      - {at: commit, commit_offset: events, up_to: m, effect: {reads: m.op}}
      - {at: lower, commit_offset: events, up_to: 0, lower: refused}
      - {at: back, commit_offset: events, up_to: 0}
      - {at: again, commit_offset: events, up_to: m.offset}
  producer:
    on: {request: event, as: q}
    steps:
      - {at: send, send: events, message: {op: q}, effect: {sends: q}}
faults: {rebalance: 1, offset_reset: 1}
promises:
  once: effect reads happens at most once per event
  sent: effect sends happens at most once per event
`

func (w *rigWorker) takes(op string) *Message {
	w.g.t.Helper()
	m, _ := w.take(nil).(*Message)
	if m == nil || m.Op != op {
		w.g.t.Fatalf("%v fetched %+v, want %s", w.names.me, m, op)
	}
	return m
}

func (w *rigWorker) ended() {
	w.g.t.Helper()
	if err := w.x.end(w.g.ctx); err != nil {
		w.g.t.Fatal(err)
	}
}

func TestLogMemberFetchesFromTheCommittedOffset(t *testing.T) {
	g := newRig(t, engines.NATS, "events", logSpec)
	a, b := g.worker("consumer", 0), g.worker("consumer", 1)
	if m := a.takes("event-1"); m.ID != "event-1" || m.Fields["offset"] != int64(0) || m.Fields["last"] != true {
		t.Errorf("%+v", m)
	}
	if v := b.take(nil); v != nil {
		t.Errorf("a member without a partition fetches %v", v)
	}
	a.done("commit")
	a.ended()
	a.takes("event-2")
	a.ended() // without a commit: a log gives nothing back
	a.takes("event-3")
	a.crash()
	a = g.worker("consumer", 0)
	a.takes("event-2")
	a.done("commit")
	a.ends("lower", noFault, ast.OnError)
	a.done("back")
	a.done("again") // before its message: it is fetched again
	a.crash()
	a = g.worker("consumer", 0)
	a.takes("event-2")
	g.counts("reads", map[string]int{"event-1": 1, "event-2": 1})
	g.unsupported(lower.Restart)
}

func (g *rig) group(part, instance, number int) lower.Subject {
	return lower.Subject{Process: g.spec.Processes[0], Instance: instance, Partition: part, Number: number}
}

func TestRebalanceWithAZombieOwner(t *testing.T) {
	for _, fenced := range []bool{true, false} {
		g := newRig(t, engines.NATS, "events", logSpec)
		g.r.Queue.Fenced = fenced
		a, b := g.worker("consumer", 0), g.worker("consumer", 1)
		a.takes("event-1")
		a.done("commit")
		a.ended()
		a.takes("event-2") // and holds it as a zombie
		g.happens(lower.Rebalance, g.group(0, 1, -1))
		b.takes("event-2")
		b.done("commit")
		b.ended()
		if fenced {
			a.ends("back", noFault, ast.OnError)
		} else {
			a.done("back")
		}
		a.ended()
		if v := a.take(nil); v != nil {
			t.Errorf("the old owner fetches %v", v)
		}
		g.happens(lower.Rebalance, g.group(0, 0, -1))
		if fenced {
			a.takes("event-3")
		} else {
			a.takes("event-1") // what the zombie committed
		}
	}
}

// The new owner's position is that of the rebalance: what the old owner commits
// later moves the committed offset alone.
func TestZombieCommitDoesNotMoveTheNewOwner(t *testing.T) {
	g := newRig(t, engines.NATS, "events", strings.Replace(logSpec, "fenced: true", "fenced: false", 1))
	a, b := g.worker("consumer", 0), g.worker("consumer", 1)
	a.takes("event-1")
	g.happens(lower.Rebalance, g.group(0, 1, -1))
	a.done("commit")
	b.takes("event-1")
	b.crash()
	g.worker("consumer", 1).takes("event-2")
}

func TestOffsetResetAndRetentionOfALog(t *testing.T) {
	g := newRig(t, engines.NATS, "events", logSpec)
	a := g.worker("consumer", 0)
	for _, op := range []string{"event-1", "event-2", "event-3"} {
		a.takes(op)
		a.done("commit")
		a.ended()
	}
	if v := a.take(nil); v != nil {
		t.Errorf("behind the end of the log: %v", v)
	}
	g.happens(lower.OffsetReset, g.group(0, -1, 0))
	a.takes("event-1")
	a.ended()
	g.happens(lower.LogRetention, lower.Subject{Partition: 0, Number: 0})
	g.happens(lower.OffsetReset, g.group(0, -1, 0))
	if m := a.takes("event-2"); m.Fields["offset"] != int64(1) {
		t.Errorf("after retention the position is %v", m.Fields["offset"])
	}
}

func TestSendsAndLostAnswersOfALog(t *testing.T) {
	g := newRig(t, engines.NATS, "events", logSpec)
	p, a := g.worker("producer", 0), g.worker("consumer", 0)
	p.operation(1)
	p.ends("send", requestLost, ast.OnUnknown)
	p.ends("send", answerLost, ast.OnUnknown)
	p.done("send")
	p.ends("send", refused, ast.OnError)
	g.counts("sends", map[string]int{"event-2": 2})
	for _, op := range []string{"event-1", "event-2", "event-3", "event-2", "event-2"} {
		a.takes(op)
		a.ended()
	}
	a.crash()
	a = g.worker("consumer", 0)
	a.takes("event-1")
	a.ends("commit", requestLost, ast.OnUnknown)
	a.crash()
	a = g.worker("consumer", 0)
	a.takes("event-1")
	a.ends("commit", answerLost, ast.OnUnknown)
	a.crash()
	g.worker("consumer", 0).takes("event-2")
}

const parallelSpec = `
relplan: v1
system: parallel
operations: {event: {count: 4, k: [1, 2, 1, 2]}}
resources:
  events: {kind: log, partitions: 2, partition_by: k, fenced: true}
  batches: {kind: log, starts_with: one per event}
initially: {events: [{op: each event, k: event.k}]}
processes:
  consumer:
    on: {message: events, as: m, workers: 2}
    steps:
      - {at: commit, commit_offset: events, up_to: contiguous}
  reader:
    on: {message: batches, as: m, batch: 3}
    steps:
      - {at: all, commit_offset: batches, up_to: contiguous}
      - {go: end, when: not m.last}
  producer:
    on: {request: event, as: q}
    steps:
      - {at: old, send: events, epoch: 1, message: {op: q, k: q.k}, on_refused: stop}
      - {at: new, send: events, epoch: 2, message: {op: q, k: q.k}}
promises:
  rest: {check: "count(events) <= 9", always: true}
`

func TestContiguousOffsetOfParallelRuns(t *testing.T) {
	g := newRig(t, engines.NATS, "events", parallelSpec)
	a, b := g.worker("consumer", 0), g.worker("consumer", 1) // two runs of one member
	a.takes("event-1")
	b.takes("event-2")
	b.done("commit") // the first is still at work
	b.ended()
	a.crash()
	a = g.worker("consumer", 0)
	a.takes("event-1")
	b.takes("event-2")
	b.ended()
	a.done("commit")
	a.ended()
	a.crash()
	b.crash()
	g.worker("consumer", 1).takes("event-3")
}

func TestBatchOfALog(t *testing.T) {
	g := newRig(t, engines.NATS, "batches", parallelSpec)
	r := g.worker("reader", 0)
	if m := r.takes("event-1"); m.Fields["last"] != false {
		t.Errorf("%+v", m)
	}
	r.done("all") // two messages have not had their turn
	for _, want := range []string{"event-2", "event-3"} {
		v, more, err := r.x.(batched).next(g.ctx)
		if m, _ := v.(*Message); !more || err != nil || m.Op != want || m.Fields["last"] != (want == "event-3") {
			t.Fatalf("next: %+v, %v, %v", v, more, err)
		}
	}
	if _, more, _ := r.x.(batched).next(g.ctx); more {
		t.Error("a batch of four")
	}
	r.crash()
	r = g.worker("reader", 0)
	r.takes("event-2")
}

func TestProducerEpochs(t *testing.T) {
	g := newRig(t, engines.NATS, "events", parallelSpec)
	p := g.worker("producer", 0)
	p.operation(0)
	p.done("old")
	p.done("new")
	p.ends("old", noFault, ast.OnRefused)
	p.done("new")
}

func TestPartitionsOfALog(t *testing.T) {
	g := newRig(t, engines.NATS, "events", parallelSpec)
	p, c := g.worker("producer", 0), g.worker("consumer", 0)
	p.operation(3)
	event := &lower.Event{Step: g.step("new"), Of: lower.Subject{Partition: 1}}
	if e := p.x.do(g.ctx, &call{step: g.step("new"), names: p.names, event: event}); !e.done {
		t.Fatalf("%+v", e)
	}
	v, err := c.x.take(g.ctx, c.p.Trigger, c.names, &lower.Event{Of: lower.Subject{Partition: 1, Fields: g.ofJob(3)}})
	if m, _ := v.(*Message); err != nil || m == nil || m.Op != "event-4" || m.Fields["offset"] != int64(0) {
		t.Errorf("of partition 1: %+v, %v", v, err)
	}
	if v, err = c.x.take(g.ctx, c.p.Trigger, c.names, &lower.Event{Of: lower.Subject{Partition: 0, Fields: g.ofJob(0)}}); err != nil || v == nil {
		t.Errorf("of partition 0: %+v, %v", v, err)
	}
}

func TestNATSLogLeavesNothing(t *testing.T) {
	g := newRig(t, engines.NATS, "events", strings.Replace(logSpec, "starts_with: one per event", "starts_with: two per event", 1))
	g.worker("consumer", 0).takes("event-1")
	nc, err := engines.OpenNATS(enginetest.Need(t, engines.NATS).DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc.Conn)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.res.close(g.ctx); err != nil {
		t.Fatal(err)
	}
	for n := range js.StreamNames(g.ctx).Name() {
		t.Errorf("left on the server: %q", n)
	}
	g.reopen()
	if n := len(g.res.(bounded).boundary()); n != 1 {
		t.Errorf("the boundary has %d lines", n)
	}
}
