package replay

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

// Times of a queue on JetStream.
const (
	// defaultAckWait is how long a crashed worker's message stays away.
	defaultAckWait = 100 * time.Millisecond
	// lastAckWait applies with max_deliveries: there the end of the last wait
	// buries the message, so a working run must not get near it.
	lastAckWait = time.Second
	// longWindow is the duplicate window while no event ends it, shortWindow the
	// shortest that the server has.
	longWindow  = time.Hour
	shortWindow = 100 * time.Millisecond
)

// natsQueue is a queue on JetStream: a stream of its own whose messages have a
// subject each, STREAM.GROUP.ID. Every message has a durable pull consumer of
// its own, so that a schedule can take the one that the model has chosen;
// messages that must stay in order share one that has a single message out at a
// time.
type natsQueue struct {
	*natsStream
	q    *ast.Queue
	wait time.Duration // before a message comes back

	outside map[uint64]bool // messages whose id is in the duplicate window no more
	mover   *deadLetterMover
}

// openNATSQueue reaches the server.
func openNATSQueue(ctx context.Context, spec *ast.Spec, r *ast.Resource, b binding) (resource, error) {
	if r.Queue.RefuseStale {
		return nil, fmt.Errorf("%w: JetStream accepts an ack of a message that somebody else has acked (stale_ack: refused)", errUnsupported)
	}
	if r.Queue.MaxDeliveries > 0 && ordered(r.Queue) {
		return nil, fmt.Errorf("%w: JetStream says that the deliveries of a message are used up only when the next one is asked for, which an ordered queue (%s) must not deliver yet", errUnsupported, r.Name)
	}
	if ordered(r.Queue) && takesBatches(spec, r) {
		return nil, fmt.Errorf("%w: JetStream keeps the order of %s only with one message out at a time, not with a batch", errUnsupported, r.Name)
	}
	st, err := openNATSStream(ctx, spec, r, b)
	if err != nil {
		return nil, err
	}
	s := &natsQueue{natsStream: st, q: r.Queue, wait: defaultAckWait}
	if s.q.MaxDeliveries > 0 {
		s.wait = lastAckWait
	}
	if e := engineOf(spec, r); e != nil && e.AckWait > 0 {
		s.wait = e.AckWait
	}
	return s, nil
}

// boundary says what of the queue is not the engine's own.
func (s *natsQueue) boundary() []string {
	var out []string
	if s.q.DeadLetter != nil {
		out = append(out, fmt.Sprintf("JetStream has no dead letter queue: the driver moves a message of %s to %s when the server says that its deliveries are used up", s.r.Name, s.q.DeadLetter.Name))
	}
	if s.q.ReplayTo != nil {
		out = append(out, "the replay of an operator is a message published again by the driver")
	}
	for _, f := range s.spec.Faults {
		if f.Kind == ast.FaultRedelivery {
			out = append(out, fmt.Sprintf("a message of %s that comes back although it was acked is the same message published again by the driver", s.r.Name))
			break
		}
	}
	return out
}

func (s *natsQueue) reset(ctx context.Context) error {
	config := jetstream.StreamConfig{}
	if s.q.DedupBy != nil {
		config.Duplicates = longWindow
	}
	if s.mover != nil {
		s.mover.stop()
	}
	info, err := s.remake(ctx, config)
	if err != nil {
		return err
	}
	s.outside = map[uint64]bool{}
	if s.q.MaxDeliveries > 0 && s.q.DeadLetter != nil {
		if s.mover, err = s.startMover(info.Created); err != nil {
			return err
		}
	}
	first, err := initialMessages(s.spec, s.r)
	if err != nil {
		return err
	}
	for _, m := range first {
		if err := s.publish(ctx, s.admin, s.draft(m.rec, m.identity)); err != nil {
			return err
		}
	}
	return nil
}

// draft is a message without effects and without an id for the duplicate
// window: what the environment publishes.
func (s *natsQueue) draft(rec Record, identity string) *nats.Msg {
	return draftFor(s.prefix, s.r, rec, identity)
}

func draftFor(prefix string, r *ast.Resource, rec Record, identity string) *nats.Msg {
	id := freshToken()
	if identity == "" {
		identity = id
	}
	m := nats.NewMsg(streamName(prefix, r) + "." + groupOf(r.Queue, rec) + "." + id)
	m.Header.Set(identityHeader, identity)
	m.Data = []byte(encode(rec))
	return m
}

// groupOf is what must stay in order.
func groupOf(q *ast.Queue, rec Record) string {
	switch {
	case q.Ordered:
		return "all"
	case q.OrderBy != nil:
		return fmt.Sprint(hash([]Value{rec[q.OrderBy.Name]}))
	}
	return "any"
}

func ordered(q *ast.Queue) bool { return q.Ordered || q.OrderBy != nil }

// takesBatches says whether some process takes several messages at once.
func takesBatches(spec *ast.Spec, r *ast.Resource) bool {
	for _, p := range spec.Processes {
		if p.Trigger.Kind == ast.OnMessage && p.Trigger.Queue == r && p.Trigger.Batch > 1 {
			return true
		}
	}
	return false
}

// consumer is what delivers a message.
func (s *natsQueue) consumer(ctx context.Context, js jetstream.JetStream, m *stored) (jetstream.Consumer, error) {
	config := jetstream.ConsumerConfig{Durable: "message-" + m.id, FilterSubject: m.subject, AckPolicy: jetstream.AckExplicitPolicy, AckWait: s.wait, MaxDeliver: -1}
	if ordered(s.q) {
		config.Durable, config.MaxAckPending = "group-"+m.group, 1
		config.FilterSubject = s.name + "." + m.group + ".*"
	}
	if s.q.MaxDeliveries > 0 {
		config.MaxDeliver = s.q.MaxDeliveries
	}
	if s.q.Delivery == "at_most_once" {
		config.AckPolicy, config.AckWait, config.MaxDeliver = jetstream.AckNonePolicy, 0, 0
	}
	return js.CreateOrUpdateConsumer(ctx, s.name, config)
}

// happen carries out what the environment does to a queue.
func (s *natsQueue) happen(ctx context.Context, e *lower.Event) error {
	if s.mover != nil {
		if err := s.mover.failure(); err != nil {
			return fmt.Errorf("moving a message of %s to its dead letter queue: %w", s.r.Name, err)
		}
	}
	switch e.What {
	case lower.Redelivery:
		return s.redeliver(ctx, e.Of.Fields)
	case lower.VisibilityEnds:
		m, _, err := s.find(ctx, e.Of.Fields, isHeld)
		if err != nil || m == nil { // its wait has ended before
			return err
		}
		return s.awaitAckWait(ctx, m)
	case lower.DedupWindowEnds:
		return s.endWindow(ctx, e.Of.Fields["id"])
	case lower.OperatorReplay:
		return s.replay(ctx, &e.Of)
	case lower.ReplayWindow: // from now on no operator replays it
		return nil
	}
	return fmt.Errorf("%w: %q on JetStream", errUnsupported, e.What)
}

// state of a message at its consumer.
type state struct {
	held, acked bool
	delivered   time.Time // last
	deliveries  int
}

func isHeld(st state) bool  { return st.held }
func isAcked(st state) bool { return st.acked }

// find gives the first message like the one of an event that is in that state.
func (s *natsQueue) find(ctx context.Context, of lower.Record, is func(state) bool) (*stored, state, error) {
	all, err := s.messages(ctx)
	if err != nil {
		return nil, state{}, err
	}
	for _, m := range all {
		if !m.like(of) {
			continue
		}
		st, err := s.stateOf(ctx, m)
		if err != nil {
			return nil, st, err
		}
		if is(st) {
			return m, st, nil
		}
	}
	return nil, state{}, nil
}

// stateOf asks the server. In an ordered queue one consumer serves several
// messages: those up to its ack floor are acked.
func (s *natsQueue) stateOf(ctx context.Context, m *stored) (state, error) {
	c, err := s.consumer(ctx, s.js, m)
	if err != nil {
		return state{}, err
	}
	info, err := c.Info(ctx)
	if err != nil {
		return state{}, err
	}
	st := state{acked: info.AckFloor.Stream >= m.seq, deliveries: int(info.Delivered.Consumer)}
	st.held = !st.acked && info.Delivered.Stream >= m.seq && info.NumAckPending > 0
	if info.Delivered.Last != nil {
		st.delivered = *info.Delivered.Last
	}
	return st, nil
}

// redeliver makes a message available again that is held, by the end of its
// ack-wait, or that was acked, by publishing it again.
func (s *natsQueue) redeliver(ctx context.Context, of lower.Record) error {
	m, _, err := s.find(ctx, of, isHeld)
	if err != nil {
		return err
	}
	if m != nil {
		return s.awaitAckWait(ctx, m)
	}
	if m, _, err = s.find(ctx, of, isAcked); err != nil {
		return err
	}
	if m == nil {
		return fmt.Errorf("no message of %s like %v was delivered", s.r.Name, of)
	}
	return s.publish(ctx, s.admin, s.draft(m.rec, m.identity))
}

// awaitAckWait waits until the server would deliver the message again.
func (s *natsQueue) awaitAckWait(ctx context.Context, m *stored) error {
	if m == nil {
		return fmt.Errorf("no message of %s is held", s.r.Name)
	}
	st, err := s.stateOf(ctx, m)
	if err != nil {
		return err
	}
	select {
	case <-time.After(time.Until(st.delivered.Add(s.wait + s.wait/4))):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// endWindow lets the duplicate window of one id really end: the window of the
// stream is made short and long again. The ids that are still inside theirs are
// sent again, on a subject that nobody reads.
func (s *natsQueue) endWindow(ctx context.Context, id lower.Value) error {
	all, err := s.messages(ctx)
	if err != nil {
		return err
	}
	found := false
	for _, m := range all {
		if m.dedup != "" && agrees(id, m.rec[s.q.DedupBy.Name]) && !s.outside[m.seq] {
			s.outside[m.seq], found = true, true
		}
	}
	if !found {
		return fmt.Errorf("no id of %s like %v is in the duplicate window", s.r.Name, id)
	}
	// Ids leave the window in the order in which they came: once the newest is
	// outside, all are.
	newest := freshToken()
	if _, err := s.hold(ctx, newest); err != nil {
		return err
	}
	if err := s.passWindow(ctx, newest); err != nil {
		return err
	}
	if err := s.setWindow(ctx, longWindow); err != nil {
		return err
	}
	for _, m := range all {
		if m.dedup == "" || s.outside[m.seq] {
			continue
		}
		if _, err := s.hold(ctx, m.dedup); err != nil {
			return err
		}
	}
	return nil
}

// passWindow waits until an id is outside a short duplicate window. A server that
// looks before the new length is in force looks again after the old one only, so
// it is told another length then.
func (s *natsQueue) passWindow(ctx context.Context, id string) error {
	const times = 10
	for i := range times {
		if err := s.setWindow(ctx, shortWindow+time.Duration(i)*time.Millisecond); err != nil {
			return err
		}
		for until := time.Now().Add(3 * shortWindow); time.Now().Before(until); time.Sleep(pollEvery) {
			if inside, err := s.hold(ctx, id); err != nil || !inside {
				return err
			}
		}
	}
	return fmt.Errorf("the duplicate window of %s does not end", s.r.Name)
}

func (s *natsQueue) setWindow(ctx context.Context, w time.Duration) error {
	st, err := s.js.Stream(ctx, s.name)
	if err != nil {
		return err
	}
	config := st.CachedInfo().Config
	config.Duplicates = w
	_, err = s.js.UpdateStream(ctx, config)
	return err
}

// hold sends a message with an id on a subject that nobody reads, so that the id
// is in the duplicate window; inside says that it was there already.
func (s *natsQueue) hold(ctx context.Context, id string) (inside bool, err error) {
	m := nats.NewMsg(s.name + "." + placeholders + "." + freshToken())
	ack, err := s.js.PublishMsg(ctx, m, jetstream.WithMsgID(id), jetstream.WithRetryAttempts(0))
	if err != nil {
		return false, err
	}
	return ack.Duplicate, nil
}

// replay moves a message from this dead letter queue to another queue.
func (s *natsQueue) replay(ctx context.Context, of *lower.Subject) error {
	var m *stored
	err := eventually(ctx, goneSoon, func() (bool, error) { // the mover may be at work
		var err error
		m, _, err = s.find(ctx, of.Fields, func(st state) bool { return !st.held && !st.acked })
		return m != nil, err
	})
	if err != nil {
		return fmt.Errorf("no message like %v waits in %s: %w", of.Fields, s.r.Name, err)
	}
	if err := s.publish(ctx, s.admin, draftFor(s.prefix, of.To, m.rec, "")); err != nil {
		return err
	}
	return s.remove(ctx, m)
}

func (s *natsQueue) close(ctx context.Context) error {
	if s.mover != nil {
		s.mover.stop()
	}
	return s.natsStream.close(ctx)
}

func (s *natsQueue) connect(context.Context) (session, error) {
	x := &natsQueueSession{s: s, worker: natsWorker{dsn: s.dsn}, seen: map[uint64]*stored{}}
	return x, x.worker.revive()
}

// firstMessage is a message that exists before the first step; copies of one message
// share its identity.
type firstMessage struct {
	rec      Record
	identity string
}

// initialMessages are those of starts_with and of initially.
func initialMessages(spec *ast.Spec, r *ast.Resource) ([]firstMessage, error) {
	var out []firstMessage
	if sw := r.Queue.StartsWith; sw != nil {
		for i := range sw.Per.Count {
			for k := range sw.Count {
				op := opName(sw.Per, i)
				id := op
				if sw.Count > 1 {
					id = messageName(r, i, k)
				}
				identity := freshToken()
				for range max(sw.Copies, 1) {
					out = append(out, firstMessage{Record{"id": id, "op": op}, identity})
				}
			}
		}
	}
	for _, row := range spec.Initially {
		if row.Resource != r {
			continue
		}
		rec, err := newScope(&world{}).cells(row.Cells)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", row.Pos, err)
		}
		out = append(out, firstMessage{rec, ""})
	}
	return out, nil
}

// messageName is the id of message k of operation i, as engines store it.
func messageName(r *ast.Resource, i, k int) string { return fmt.Sprintf("%s-%d-%d", r.Name, i+1, k+1) }

// engineOf is what `run:` says of the resource, nil without.
func engineOf(spec *ast.Spec, r *ast.Resource) *ast.Engine {
	if spec.Run == nil {
		return nil
	}
	for _, e := range spec.Run.Engines {
		if e.Resource == r {
			return e
		}
	}
	return nil
}

// streamName is the name of the resource's stream: letters, digits, - and _.
func streamName(prefix string, r *ast.Resource) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			return c
		}
		return '_'
	}, prefix+r.Name)
}

// freshToken is a name that nobody else uses.
func freshToken() string { return strings.TrimPrefix(nats.NewInbox(), nats.InboxPrefix) }
