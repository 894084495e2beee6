package replay

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

// Headers of a message in a stream.
const (
	// identityHeader is shared by everything that is the same message: copies,
	// and what was published again.
	identityHeader = "Relplan-Message"
	// effectHeader says which business effect the message is: name, operation
	// and number.
	effectHeader = "Relplan-Effect"
)

// natsStorage of streams and buckets. A stream in files that is deleted and made
// again at once can come back with its old messages: the server moves the folder
// to a name that the last removal may still occupy.
const natsStorage = jetstream.MemoryStorage

// natsEngine names the server and how it stores.
func natsEngine(nc *engines.NATSConn) string {
	return "nats " + nc.ConnectedServerVersion() + " (memory storage)"
}

// Groups of subjects that are no messages: effects of steps that store none,
// and ids that are kept in the duplicate window.
const (
	effectsOnly  = "effects"
	placeholders = "placeholders"
)

// natsStream is the stream of a queue or log, seen by the environment.
type natsStream struct {
	spec   *ast.Spec
	r      *ast.Resource
	dsn    string
	prefix string
	name   string
	admin  *engines.NATSConn
	js     jetstream.JetStream
	made   bool // the stream is this process's to remove
}

func openNATSStream(_ context.Context, spec *ast.Spec, r *ast.Resource, b binding) (*natsStream, error) {
	nc, err := engines.OpenNATS(b.DSN)
	if err != nil {
		return nil, err
	}
	s := &natsStream{spec: spec, r: r, dsn: b.DSN, prefix: b.Prefix, name: streamName(b.Prefix, r), admin: nc}
	if s.js, err = jetstream.New(nc.Conn); err != nil {
		nc.Close()
		return nil, err
	}
	return s, nil
}

func (s *natsStream) engine() string { return natsEngine(s.admin) }

// remake makes the stream anew.
func (s *natsStream) remake(ctx context.Context, config jetstream.StreamConfig) (*jetstream.StreamInfo, error) {
	s.made = true
	if err := s.drop(ctx); err != nil {
		return nil, err
	}
	config.Name, config.Subjects, config.AllowDirect, config.Storage = s.name, []string{s.name + ".>"}, true, natsStorage
	st, err := s.js.CreateStream(ctx, config)
	if err != nil {
		return nil, err
	}
	return st.CachedInfo(), nil
}

func (s *natsStream) drop(ctx context.Context) error {
	if err := s.js.DeleteStream(ctx, s.name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	return nil
}

func (s *natsStream) close(ctx context.Context) error {
	var err error
	if s.made {
		err = s.drop(ctx)
	}
	s.admin.Close()
	return err
}

// publish sends a message and waits until the stream has stored it.
func (s *natsStream) publish(ctx context.Context, nc *engines.NATSConn, m *nats.Msg) error {
	js, err := jetstream.New(nc.Conn)
	if err != nil {
		return err
	}
	_, err = js.PublishMsg(ctx, m, jetstream.WithRetryAttempts(0))
	return err
}

// stored is a message of the stream.
type stored struct {
	seq       uint64
	subject   string
	group, id string
	identity  string
	dedup     string // in the duplicate window under this id
	effects   []mark
	rec       Record
}

// like tells whether the message is the one that an event is about. How often it
// was delivered is not part of what it is.
func (m *stored) like(of lower.Record) bool {
	for name, v := range of {
		if name != "deliveries" && !agrees(v, m.rec[name]) {
			return false
		}
	}
	return true
}

func (m *stored) message() *Message {
	out := &Message{ID: m.rec["id"], Op: m.rec["op"], Fields: Record{}}
	for name, v := range m.rec {
		if name != "id" && name != "op" {
			out.Fields[name] = v
		}
	}
	return out
}

func parseStored(seq uint64, subject string, header nats.Header, data []byte) (*stored, error) {
	m := &stored{seq: seq, subject: subject, identity: header.Get(identityHeader), dedup: header.Get(jetstream.MsgIDHeader)}
	parts := strings.Split(subject, ".")
	if len(parts) < 3 {
		return nil, fmt.Errorf("a message with the subject %q", subject)
	}
	m.group, m.id = parts[len(parts)-2], parts[len(parts)-1]
	var err error
	if m.effects, err = parseMarks(header.Values(effectHeader)); err != nil {
		return nil, err
	}
	if m.group == effectsOnly || m.group == placeholders {
		return m, nil
	}
	v, err := decode(string(data))
	if err != nil {
		return nil, err
	}
	rec, ok := v.(Record)
	if !ok {
		return nil, fmt.Errorf("a message holds %v", v)
	}
	m.rec = rec
	return m, nil
}

// setEffects writes the effects of a step into a message.
func setEffects(m *nats.Msg, marks []mark) {
	for _, e := range marks {
		m.Header.Add(effectHeader, formatMark(e))
	}
}

// publishEffects stores effects of a step that sends nothing.
func (s *natsStream) publishEffects(ctx context.Context, nc *engines.NATSConn, marks []mark) error {
	if len(marks) == 0 {
		return nil
	}
	m := nats.NewMsg(s.name + "." + effectsOnly + "." + freshToken())
	setEffects(m, marks)
	return s.publish(ctx, nc, m)
}

// message reads one message by its number, nil if it is not there any more.
func (s *natsStream) message(ctx context.Context, seq uint64) (*stored, error) {
	return readMessage(ctx, s.js, s.name, seq)
}

func readMessage(ctx context.Context, js jetstream.JetStream, stream string, seq uint64) (*stored, error) {
	st, err := js.Stream(ctx, stream)
	if err != nil {
		return nil, err
	}
	raw, err := st.GetMsg(ctx, seq)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseStored(raw.Sequence, raw.Subject, raw.Header, raw.Data)
}

// all reads the whole stream in its order, from a number on.
func (s *natsStream) all(ctx context.Context, js jetstream.JetStream, from uint64) ([]*stored, error) {
	st, err := js.Stream(ctx, s.name)
	if err != nil {
		return nil, err
	}
	state := st.CachedInfo().State
	var out []*stored
	for seq := max(from, state.FirstSeq, 1); seq <= state.LastSeq; seq++ {
		m, err := readMessage(ctx, js, s.name, seq)
		if err != nil {
			return nil, err
		}
		if m != nil {
			out = append(out, m)
		}
	}
	return out, nil
}

// messages leaves out what is no message.
func (s *natsStream) messages(ctx context.Context) ([]*stored, error) {
	all, err := s.all(ctx, s.js, 0)
	var out []*stored
	for _, m := range all {
		if m.rec != nil {
			out = append(out, m)
		}
	}
	return out, err
}

func (s *natsStream) remove(ctx context.Context, m *stored) error {
	st, err := s.js.Stream(ctx, s.name)
	if err != nil {
		return err
	}
	return st.DeleteMsg(ctx, m.seq)
}

// effects reads the stream: what was sent is the effect.
func (s *natsStream) effects(ctx context.Context, e *ast.Effect) (map[string]int, error) {
	if !keeps(s.spec, s.r, e) {
		return nil, nil
	}
	all, err := s.all(ctx, s.js, 0)
	if err != nil {
		return nil, err
	}
	out := map[string]int{}
	for _, m := range all {
		for _, x := range m.effects {
			if x.effect == e.Name {
				out[x.op] += x.n
			}
		}
	}
	return out, nil
}

// natsWorker is the connection of one worker; it opens another after a fault has
// cut it.
type natsWorker struct {
	dsn string
	nc  *engines.NATSConn
	js  jetstream.JetStream
}

func (w *natsWorker) revive() error {
	if w.nc != nil {
		return nil
	}
	nc, err := engines.OpenNATSOnce(w.dsn)
	if err != nil {
		return err
	}
	if w.js, err = jetstream.New(nc.Conn); err != nil {
		nc.Close()
		return err
	}
	w.nc = nc
	return nil
}

func (w *natsWorker) cut() {
	if w.nc != nil {
		w.nc.Cut()
		w.nc.Close()
		w.nc = nil
	}
}

// under lets the network do to one request what the fault says. The driver
// itself waits for the server's answer, so that the request is known to be
// carried out when its answer is lost.
func (w *natsWorker) under(f fault, request func() ending) ending {
	switch f {
	case refused:
		return refusal()
	case arrivesLate:
		return failed(fmt.Errorf("%w: a request to NATS that arrives late", errUnsupported))
	case requestLost:
		w.cut()
		return lostOrFailed(errNoAnswer)
	}
	if err := w.revive(); err != nil {
		return lostOrFailed(err)
	}
	e := request()
	if f == answerLost && (e.done || e.branch != ast.OnError) {
		w.cut()
		return lostOrFailed(errNoAnswer)
	}
	return e
}
