package replay

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/internal/engines/enginetest"
	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

const queueSpec = `
relplan: v1
system: messages
operations: {job: {count: 2, key: distinct}}
resources:
  jobs: {kind: queue, starts_with: one per job}
  out: {kind: queue}
processes:
  worker:
    instances: 2
    on: {message: jobs, as: m}
    steps:
      - {at: forward, send: out, message: {op: m.op, n: 7}, effect: {forwards: m.op}}
      - {at: ack, ack: m, effect: {handles: m.op}}
      - {at: nack, nack: m}
  next:
    on: {message: out, as: o}
    steps:
      - {at: done, ack: o}
promises:
  once: effect forwards happens at most once per job
  handled: effect handles happens at most once per job
`

// ofJob is how the model names a message.
func (g *rig) ofJob(i int) lower.Record {
	return lower.Record{"op": lower.OperationID{Of: g.spec.Operations[0], Index: i}}
}

func TestMessagesAreTakenInTheOrderOfTheSchedule(t *testing.T) {
	g := newRig(t, engines.NATS, "jobs", queueSpec)
	a, b := g.worker("worker", 0), g.worker("worker", 1)
	if m, _ := a.take(g.ofJob(1)).(*Message); m == nil || m.Op != "job-2" || m.ID != "job-2" || m.Fields["deliveries"] != int64(1) {
		t.Fatalf("asked for job 2, got %+v", m)
	}
	if m, _ := b.take(g.ofJob(0)).(*Message); m == nil || m.Op != "job-1" {
		t.Fatalf("asked for job 1, got %+v", m)
	}
	if m := b.take(g.ofJob(1)); m != nil {
		t.Errorf("a held message is offered: %v", m)
	}
	a.done("ack")
	g.counts("handles", map[string]int{"job-2": 1})
	if err := a.x.end(g.ctx); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * defaultAckWait)
	if m := b.take(g.ofJob(1)); m != nil {
		t.Errorf("an acked message is offered: %v", m)
	}
}

func TestMessagesComeBack(t *testing.T) {
	g := newRig(t, engines.NATS, "jobs", queueSpec)
	a, b := g.worker("worker", 0), g.worker("worker", 1)
	a.take(g.ofJob(0))
	if err := a.x.end(g.ctx); err != nil {
		t.Fatal(err)
	}
	if m, _ := b.take(g.ofJob(0)).(*Message); m == nil || m.Fields["deliveries"] != int64(2) {
		t.Fatalf("a run that ends without ack gives its message back at once, got %+v", m)
	}
	b.done("nack")
	if m := a.take(g.ofJob(0)); m == nil {
		t.Fatal("a nack gives the message back at once")
	}
	start := time.Now()
	a.x.cut()
	if m := b.take(g.ofJob(0)); m != nil {
		t.Fatal("after a crash the message comes back only when its ack-wait has ended")
	}
	b.awaited(g.ofJob(0))
	if waited := time.Since(start); waited < defaultAckWait/2 {
		t.Errorf("the message of a crashed worker came back after %s", waited)
	}
}

func TestRedeliveryOfAHeldAndOfAnAckedMessage(t *testing.T) {
	g := newRig(t, engines.NATS, "jobs", queueSpec)
	a, b := g.worker("worker", 0), g.worker("worker", 1)
	first, _ := a.take(g.ofJob(0)).(*Message)
	g.happens(lower.Redelivery, lower.Subject{Fields: g.ofJob(0)})
	if again, _ := b.take(g.ofJob(0)).(*Message); again == nil || again.ID != first.ID {
		t.Fatalf("a held message that is redelivered: %+v", again)
	}
	a.done("ack") // both hold it; the ack of the first is for both
	b.done("ack")
	if m := a.take(g.ofJob(0)); m != nil {
		t.Fatalf("acked twice, and offered: %v", m)
	}
	g.happens(lower.Redelivery, lower.Subject{Fields: g.ofJob(0)})
	if again, _ := b.take(g.ofJob(0)).(*Message); again == nil || again.ID != first.ID {
		t.Fatalf("an acked message that is redelivered: %+v", again)
	}
	b.done("ack")
	g.happens(lower.Redelivery, lower.Subject{Fields: g.ofJob(0)})
	a.awaited(g.ofJob(0))
	a.done("ack")
	g.counts("handles", map[string]int{"job-1": 4})

	a.take(g.ofJob(1))
	g.happens(lower.VisibilityEnds, lower.Subject{Fields: g.ofJob(1)})
	if m := b.take(g.ofJob(1)); m == nil {
		t.Error("its visibility has ended, and the message is not offered")
	}
	g.unsupported(lower.Restart)
}

func TestLostAnswersOfSendAndAck(t *testing.T) {
	g := newRig(t, engines.NATS, "jobs", queueSpec)
	out, err := openStore(g.ctx, g.spec, g.resource("out"), g.b)
	if err != nil {
		t.Fatal(err)
	}
	defer out.close(g.ctx)
	if err := out.reset(g.ctx); err != nil {
		t.Fatal(err)
	}
	a, b := g.worker("worker", 0), g.worker("worker", 1)
	a.take(g.ofJob(0))
	x, err := out.connect(g.ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.cut)
	sender := &rigWorker{g: g, x: x, names: a.names, p: a.p}
	forwards := func(n int) {
		t.Helper()
		got, err := out.effects(g.ctx, g.spec.Effects[0])
		if err != nil || got["job-1"] != n {
			t.Errorf("forwarded %v times, %v; want %d", got, err, n)
		}
	}
	sender.ends("forward", requestLost, ast.OnUnknown)
	sender.ends("forward", refused, ast.OnError)
	forwards(0)
	sender.ends("forward", answerLost, ast.OnUnknown)
	forwards(1)
	sender.done("forward")
	forwards(2)
	next := g.worker("next", 0)
	next.x = sender.x
	if m, _ := next.take(nil).(*Message); m == nil || m.Op != "job-1" || m.Fields["n"] != int64(7) || m.ID != nil {
		t.Errorf("what was sent arrives as %+v", m)
	}

	a.ends("ack", requestLost, ast.OnUnknown)
	if err := a.x.end(g.ctx); err != nil {
		t.Fatal(err)
	}
	if m := b.take(g.ofJob(0)); m == nil {
		t.Error("an ack that never arrived has removed the message")
	}
	b.ends("ack", answerLost, ast.OnUnknown)
	if err := b.x.end(g.ctx); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * defaultAckWait)
	if m := a.take(g.ofJob(0)); m != nil {
		t.Error("an ack whose answer was lost has not removed the message")
	}
}

const deadLetterSpec = `
relplan: v1
system: dead letters
operations: {job: 2}
resources:
  jobs: {kind: queue, starts_with: one per job, max_deliveries: 2, dead_letter: morgue}
  morgue: {kind: queue, replay: {to: jobs, within: 7d}}
processes:
  worker:
    instances: 2
    on: {message: jobs, as: m}
    steps:
      - {at: nack, nack: m}
      - {at: ack, ack: m}
  doctor:
    on: {message: morgue, as: d}
    steps:
      - {at: bury, ack: d}
faults: {operator_replay: {of: morgue, max: 1}}
promises:
  rest: {check: "count(jobs) <= 4", always: true}
run:
  jobs: {engine: nats, ack_wait: 150ms}
`

func TestDeadLetterAndOperatorReplay(t *testing.T) {
	g := newRig(t, engines.NATS, "jobs", deadLetterSpec)
	morgue, err := openStore(g.ctx, g.spec, g.resource("morgue"), g.b)
	if err != nil {
		t.Fatal(err)
	}
	defer morgue.close(g.ctx)
	if err := morgue.reset(g.ctx); err != nil {
		t.Fatal(err)
	}
	a, doctor := g.worker("worker", 0), g.worker("doctor", 0)
	if doctor.x, err = morgue.connect(g.ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(doctor.x.cut)
	a.take(g.ofJob(0))
	a.done("nack")
	if m := doctor.take(g.ofJob(0)); m != nil {
		t.Fatal("buried after one delivery")
	}
	a.take(g.ofJob(0))
	if err := a.x.end(g.ctx); err != nil { // the second end without an ack
		t.Fatal(err)
	}
	if m, _ := doctor.awaited(g.ofJob(0)).(*Message); m.Op != "job-1" {
		t.Errorf("buried: %+v", m)
	}
	if m := a.take(g.ofJob(0)); m != nil {
		t.Error("a message whose deliveries are used up is offered")
	}
	if err := doctor.x.end(g.ctx); err != nil { // it goes on waiting there
		t.Fatal(err)
	}

	a.take(g.ofJob(1))
	a.x.cut()
	b := g.worker("worker", 1)
	b.awaited(g.ofJob(1))
	b.x.cut() // the end of the ack-wait uses up the last delivery
	doctor.awaited(g.ofJob(1))
	doctor.done("bury")

	replay := &lower.Event{What: lower.OperatorReplay, Of: lower.Subject{Resource: g.resource("morgue"), Fields: g.ofJob(0), To: g.r}}
	if err := morgue.happen(g.ctx, replay); err == nil {
		t.Error("a message that is held in the dead letter queue was replayed")
	}
	if err := morgue.happen(g.ctx, &lower.Event{What: lower.ReplayWindow}); err != nil {
		t.Error(err)
	}
	if b, ok := g.res.(bounded); !ok || len(b.boundary()) != 1 {
		t.Error("the boundary does not say who moves dead letters")
	}
}

const dedupSpec = `
relplan: v1
system: duplicates
operations: {job: 2}
resources:
  out: {kind: queue, dedup: {by: id, window: 5m}}
processes:
  sender:
    on: {request: job, as: q}
    steps:
      - {at: send, send: out, id: q, message: {op: q}, effect: {sends: q}}
  reader:
    on: {message: out, as: m}
    steps:
      - {at: ack, ack: m}
promises:
  once: effect sends happens at most once per job
`

func TestDuplicateWindowOfAnID(t *testing.T) {
	g := newRig(t, engines.NATS, "out", dedupSpec)
	w, r := g.worker("sender", 0), g.worker("reader", 0)
	for range 2 {
		for op := range 2 {
			w.operation(op)
			w.done("send")
		}
	}
	g.counts("sends", map[string]int{"job-1": 1, "job-2": 1})
	r.take(nil)
	r.done("ack")
	w.operation(0)
	w.done("send")
	g.counts("sends", map[string]int{"job-1": 1, "job-2": 1})
	g.happens(lower.DedupWindowEnds, lower.Subject{Fields: lower.Record{"id": lower.OperationID{Of: g.spec.Operations[0], Index: 0}}})
	for op := range 2 {
		w.operation(op)
		w.done("send")
	}
	g.counts("sends", map[string]int{"job-1": 2, "job-2": 1})
	g.happens(lower.DedupWindowEnds, lower.Subject{Fields: lower.Record{"id": lower.OperationID{Of: g.spec.Operations[0], Index: 0}}})
	w.operation(0)
	w.done("send")
	g.counts("sends", map[string]int{"job-1": 3, "job-2": 1})
	if err := g.res.happen(g.ctx, &lower.Event{What: lower.DedupWindowEnds, Of: lower.Subject{Fields: lower.Record{"id": "unknown"}}}); err == nil {
		t.Error("the window of an id that nobody sent has ended")
	}
}

const orderedSpec = `
relplan: v1
system: order
operations: {job: {count: 3, k: [1, 1, 2]}}
resources:
  jobs: {kind: queue, order: k}
  all: {kind: queue, order: queue, starts_with: one per job}
  once: {kind: queue, delivery: at_most_once, starts_with: {one per job}}
initially: {jobs: [{op: each job, k: job.k}]}
processes:
  worker:
    instances: 2
    on: {message: jobs, as: m}
    steps:
      - {at: ack, ack: m}
  serial:
    instances: 2
    on: {message: all, as: m}
    steps:
      - {at: ack2, ack: m}
  casual:
    instances: 2
    on: {message: once, as: m}
    steps:
      - {at: ack3, ack: m}
promises:
  rest: {check: "count(jobs) <= 4", always: true}
`

func TestOrderedQueues(t *testing.T) {
	text := strings.Replace(orderedSpec, "{one per job}", "one per job", 1)
	g := newRig(t, engines.NATS, "jobs", text)
	a, b := g.worker("worker", 0), g.worker("worker", 1)
	if m, _ := a.take(g.ofJob(1)).(*Message); m == nil || m.Op != "job-1" {
		t.Errorf("the first of the key comes first, got %+v", m)
	}
	if m := b.take(g.ofJob(1)); m != nil {
		t.Errorf("a second message of a key is offered: %+v", m)
	}
	if m, _ := b.take(g.ofJob(2)).(*Message); m == nil || m.Op != "job-3" {
		t.Errorf("another key waits: %+v", m)
	}
	if err := a.x.end(g.ctx); err != nil {
		t.Fatal(err)
	}
	if m, _ := a.take(nil).(*Message); m == nil || m.Op != "job-1" {
		t.Errorf("given back, the first comes again: %+v", m)
	}
	a.done("ack")
	if m, _ := a.take(g.ofJob(1)).(*Message); m == nil || m.Op != "job-2" {
		t.Errorf("then the second: %+v", m)
	}

	g = newRig(t, engines.NATS, "all", text)
	a = g.worker("serial", 0)
	if m, _ := a.take(g.ofJob(2)).(*Message); m == nil || m.Op != "job-1" {
		t.Errorf("first in, first out: %+v", m)
	}

	g = newRig(t, engines.NATS, "once", text)
	a, b = g.worker("casual", 0), g.worker("casual", 1)
	if m := a.take(g.ofJob(0)); m == nil {
		t.Fatal("not delivered at all")
	}
	if err := a.x.end(g.ctx); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * defaultAckWait)
	if m := b.take(g.ofJob(0)); m != nil {
		t.Errorf("delivered twice: %+v", m)
	}
	b.take(g.ofJob(1))
	b.done("ack3")
}

func TestCopiesOfAMessage(t *testing.T) {
	g := newRig(t, engines.NATS, "jobs", strings.Replace(queueSpec, "starts_with: one per job", "starts_with: one per job, copies: 2", 1))
	a, b := g.worker("worker", 0), g.worker("worker", 1)
	if a.take(g.ofJob(0)) == nil || b.take(g.ofJob(0)) == nil {
		t.Fatal("two copies can be held at once")
	}
	if err := b.x.end(g.ctx); err != nil {
		t.Fatal(err)
	}
	a.done("ack")
	if m := b.take(g.ofJob(0)); m != nil {
		t.Errorf("the ack has left a copy: %v", m)
	}
	if m := b.take(g.ofJob(1)); m == nil {
		t.Error("the ack has removed another message")
	}
}

func TestStaleAckThatMustBeRefusedIsNotSupported(t *testing.T) {
	spec := loadSpec(t, strings.Replace(queueSpec, "starts_with: one per job", "starts_with: one per job, stale_ack: refused", 1))
	_, err := openStore(t.Context(), spec, spec.Resources[0], binding{Kind: engines.NATS, DSN: "nats://127.0.0.1:1"})
	if !errors.Is(err, errUnsupported) {
		t.Errorf("got %v", err)
	}
}

func TestNATSQueueLeavesNothingAndTouchesNothingElse(t *testing.T) {
	g := newRig(t, engines.NATS, "jobs", queueSpec)
	nc, err := engines.OpenNATS(enginetest.Need(t, engines.NATS).DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc.Conn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(g.ctx, jetstream.StreamConfig{Name: "relplan_test_jobs2", Subjects: []string{"relplan_test_jobs2.>"}}); err != nil {
		t.Fatal(err)
	}
	defer js.DeleteStream(g.ctx, "relplan_test_jobs2")
	if _, err := js.Publish(g.ctx, "relplan_test_jobs2.a.b", nil); err != nil {
		t.Fatal(err)
	}
	g.worker("worker", 0).take(g.ofJob(0))
	if err := g.res.reset(g.ctx); err != nil {
		t.Fatal(err)
	}
	if m := g.worker("worker", 0).take(g.ofJob(0)); m == nil {
		t.Error("after reset a message that was held is not offered")
	}
	second, err := openStore(g.ctx, g.spec, g.r, g.b)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.close(g.ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Stream(g.ctx, "relplan_test_jobs"); err != nil {
		t.Errorf("closing in another process: %v", err)
	}
	if err := g.res.close(g.ctx); err != nil {
		t.Fatal(err)
	}
	var names []string
	for n := range js.StreamNames(g.ctx).Name() {
		names = append(names, n)
	}
	if len(names) != 1 || names[0] != "relplan_test_jobs2" {
		t.Errorf("left on the server: %q", names)
	}
	g.reopen()
}

func TestBatchOfMessages(t *testing.T) {
	g := newRig(t, engines.NATS, "jobs", strings.Replace(queueSpec, "on: {message: jobs, as: m}", "on: {message: jobs, as: m, batch: 2}", 1))
	a, b := g.worker("worker", 0), g.worker("worker", 1)
	event := &lower.Event{Start: true, Of: lower.Subject{Fields: g.ofJob(1), Rest: []lower.Record{g.ofJob(0)}}}
	v, err := a.x.take(g.ctx, a.p.Trigger, a.names, event)
	first, _ := v.(*Message)
	if err != nil || first == nil || first.Op != "job-2" || first.Fields["last"] != false {
		t.Fatalf("took %+v, %v", v, err)
	}
	if v := b.take(g.ofJob(0)); v != nil {
		t.Error("a message of a batch is offered to others")
	}
	a.names.vars[a.p.Trigger.As] = first
	a.done("ack")
	v, more, err := a.x.(batched).next(g.ctx)
	second, _ := v.(*Message)
	if err != nil || !more || second.Op != "job-1" || second.Fields["last"] != true {
		t.Fatalf("the second is %+v, %v, %v", v, more, err)
	}
	if _, more, err := a.x.(batched).next(g.ctx); more || err != nil {
		t.Errorf("a third: %v, %v", more, err)
	}
	if err := a.x.end(g.ctx); err != nil {
		t.Fatal(err)
	}
	if v := b.take(g.ofJob(1)); v != nil {
		t.Error("an acked message of a batch is offered")
	}
	v, err = b.x.take(g.ctx, b.p.Trigger, b.names, event)
	if v != nil || err != nil {
		t.Errorf("a batch of which one message is not there: %v, %v", v, err)
	}
	if v := b.take(g.ofJob(0)); v == nil {
		t.Error("a message that was not acked does not come back")
	}
}

// TestResetForgetsAtOnce sends and resets in quick succession.
func TestResetForgetsAtOnce(t *testing.T) {
	g := newRig(t, engines.NATS, "out", strings.Replace(dedupSpec, ", dedup: {by: id, window: 5m}", "", 1))
	for range 50 {
		w := g.worker("sender", 0)
		w.operation(0)
		w.done("send")
		w.x.cut()
		g.counts("sends", map[string]int{"job-1": 1})
		if err := g.res.reset(g.ctx); err != nil {
			t.Fatal(err)
		}
	}
}
