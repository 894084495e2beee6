package replay

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

// natsKV is a kv in a JetStream bucket. A key is k. and the encoded key in
// hexadecimal digits; a value is the encoded value behind a sign that says
// whether a ttl runs. The history of the bucket keeps every write, and with a
// write the effect that it is.
type natsKV struct {
	spec   *ast.Spec
	r      *ast.Resource
	dsn    string
	bucket string
	admin  natsWorker
	made   bool
}

// Signs before a value.
const (
	ttlRuns = "t"
	noTTL   = "-"
)

// keyPrefix starts the keys of entries; effectKeys those of effects that no
// write carries.
const (
	keyPrefix  = "k."
	effectKeys = "effects."
)

// mostWrites is the history of a bucket, the longest that the server keeps.
const mostWrites = 64

func openNATSKV(_ context.Context, spec *ast.Spec, r *ast.Resource, b binding) (resource, error) {
	s := &natsKV{spec: spec, r: r, dsn: b.DSN, bucket: streamName(b.Prefix, r)}
	nc, err := engines.OpenNATS(b.DSN)
	if err != nil {
		return nil, err
	}
	s.admin.nc = nc
	if s.admin.js, err = jetstream.New(nc.Conn); err != nil {
		nc.Close()
		return nil, err
	}
	return s, nil
}

func (s *natsKV) engine() string { return natsEngine(s.admin.nc) }

// boundary says what the driver does.
func (s *natsKV) boundary() []string {
	if !s.r.KV.HasTTL {
		return nil
	}
	return []string{fmt.Sprintf("the end of a ttl of %s is a delete by the driver: a bucket has one time to live for all keys", s.r.Name)}
}

func (s *natsKV) reset(ctx context.Context) error {
	s.made = true
	if err := s.drop(ctx); err != nil {
		return err
	}
	if _, err := s.admin.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: s.bucket, History: mostWrites, Storage: natsStorage}); err != nil {
		return err
	}
	first, err := initialEntries(s.spec, s.r)
	if err != nil {
		return err
	}
	for _, e := range first {
		if err := s.write(ctx, &s.admin, keyPrefix+natsKey(encode(e.key)), &cell{value: encode(e.value)}, 0, nil); err != nil {
			return err
		}
	}
	return nil
}

func (s *natsKV) drop(ctx context.Context) error {
	if err := s.admin.js.DeleteKeyValue(ctx, s.bucket); err != nil && !errors.Is(err, jetstream.ErrBucketNotFound) {
		return err
	}
	return nil
}

func (s *natsKV) close(ctx context.Context) error {
	var err error
	if s.made {
		err = s.drop(ctx)
	}
	s.admin.nc.Close()
	return err
}

func natsKey(encoded string) string { return hex.EncodeToString([]byte(encoded)) }

// read gives what stands under a key, and the revision that a write must name:
// that of a delete too, 0 where nothing was ever written.
func (s *natsKV) read(ctx context.Context, w *natsWorker, key string) (*cell, uint64, error) {
	st, err := w.js.Stream(ctx, "KV_"+s.bucket)
	if err != nil {
		return nil, 0, err
	}
	m, err := st.GetLastMsgForSubject(ctx, "$KV."+s.bucket+"."+key)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return nil, 0, nil
	case err != nil:
		return nil, 0, err
	case m.Header.Get("KV-Operation") != "":
		return nil, m.Sequence, nil
	}
	c, err := parseCell(string(m.Data))
	return c, m.Sequence, err
}

func parseCell(data string) (*cell, error) {
	for _, sign := range []string{ttlRuns, noTTL} {
		if v, ok := strings.CutPrefix(data, sign); ok {
			return &cell{v, sign == ttlRuns}, nil
		}
	}
	return nil, fmt.Errorf("a key of the bucket holds %q", data)
}

// write stores or deletes (nil) under a key if its revision is still the one
// that was read: the messages that Create, Update and Delete of the client
// library send, and the effects of the step with them.
func (s *natsKV) write(ctx context.Context, w *natsWorker, key string, c *cell, revision uint64, marks []mark) error {
	m := nats.NewMsg("$KV." + s.bucket + "." + key)
	m.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(revision, 10))
	setEffects(m, marks)
	switch {
	case c == nil:
		m.Header.Set("KV-Operation", "DEL")
	case c.expires:
		m.Data = []byte(ttlRuns + c.value)
	default:
		m.Data = []byte(noTTL + c.value)
	}
	_, err := w.js.PublishMsg(ctx, m, jetstream.WithRetryAttempts(0))
	return err
}

// changedMeanwhile: the revision is no longer the one that was read. The server
// says so with one of two codes.
func changedMeanwhile(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// entries reads every key.
func (s *natsKV) entries(ctx context.Context, w *natsWorker) ([]entry, error) {
	kv, err := w.js.KeyValue(ctx, s.bucket)
	if err != nil {
		return nil, err
	}
	names, err := kv.ListKeysFiltered(ctx, keyPrefix+"*")
	if err != nil {
		return nil, err
	}
	defer names.Stop()
	var out []entry
	for name := range names.Keys() {
		text, err := hex.DecodeString(strings.TrimPrefix(name, keyPrefix))
		if err != nil {
			return nil, err
		}
		e := entry{name: name}
		if e.key, err = decode(string(text)); err != nil {
			return nil, err
		}
		c, _, err := s.read(ctx, w, name)
		if err != nil {
			return nil, err
		}
		if c == nil {
			continue
		}
		e.expires = c.expires
		if e.value, err = decode(c.value); err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// happen ends the ttl of a key.
func (s *natsKV) happen(ctx context.Context, e *lower.Event) error {
	switch e.What {
	case lower.TTLEnds:
		all, err := s.entries(ctx, &s.admin)
		if err != nil {
			return err
		}
		x, err := expiring(all, e.Of.Fields)
		if err != nil {
			return fmt.Errorf("%s: %w", s.r.Name, err)
		}
		_, revision, err := s.read(ctx, &s.admin, x.name)
		if err != nil {
			return err
		}
		return s.write(ctx, &s.admin, x.name, nil, revision, nil)
	case lower.Restart:
		return fmt.Errorf("%w: a bucket does not lose its memory at a restart", errUnsupported)
	}
	return fmt.Errorf("%w: %q on a bucket of NATS", errUnsupported, e.What)
}

// effects counts over the history of the bucket.
func (s *natsKV) effects(ctx context.Context, e *ast.Effect) (map[string]int, error) {
	if !keeps(s.spec, s.r, e) {
		return nil, nil
	}
	st, err := s.admin.js.Stream(ctx, "KV_"+s.bucket)
	if err != nil {
		return nil, err
	}
	out := map[string]int{}
	state := st.CachedInfo().State
	for seq := max(state.FirstSeq, 1); seq <= state.LastSeq; seq++ {
		m, err := st.GetMsg(ctx, seq)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil, fmt.Errorf("%s: a key was written more than %d times: the history of the bucket no longer holds every effect", s.r.Name, mostWrites)
		}
		if err != nil {
			return nil, err
		}
		marks, err := parseMarks(m.Header.Values(effectHeader))
		if err != nil {
			return nil, err
		}
		for _, k := range marks {
			if k.effect == e.Name {
				out[k.op] += k.n
			}
		}
	}
	return out, nil
}

func (s *natsKV) connect(context.Context) (session, error) {
	x := &natsKVSession{s: s, worker: natsWorker{dsn: s.dsn}}
	return x, x.worker.revive()
}

// natsKVSession is the connection of one worker to a bucket.
type natsKVSession struct {
	s      *natsKV
	worker natsWorker
}

func (x *natsKVSession) take(ctx context.Context, t *ast.Trigger, names *scope, e *lower.Event) (Value, error) {
	if err := x.worker.revive(); err != nil {
		return nil, err
	}
	all, err := x.s.entries(ctx, &x.worker)
	if err != nil {
		return nil, err
	}
	return takeEntry(all, t, names, e)
}

func (x *natsKVSession) do(ctx context.Context, c *call) ending {
	ctx, cancel := context.WithTimeout(ctx, requestPatience)
	defer cancel()
	return x.worker.under(c.fault, func() ending {
		if c.step.Verb == ast.VerbSelect {
			all, err := x.s.entries(ctx, &x.worker)
			if err != nil {
				return lostOrFailed(err)
			}
			return selectEntry(all, c.step, c.names, c.event)
		}
		for range maxLocal {
			tx := &oneKey{s: x.s, w: &x.worker}
			e := tx.run(ctx, c)
			if errors.Is(e.err, errUnsupported) {
				return e
			}
			err := tx.commit(ctx)
			if changedMeanwhile(err) {
				time.Sleep(pollEvery)
				continue
			}
			if err != nil {
				return lostOrFailed(err)
			}
			return e
		}
		return failed(fmt.Errorf("%s: somebody else was always faster", x.s.r.Name))
	})
}

func (x *natsKVSession) end(context.Context) error { return nil }

func (x *natsKVSession) cut() { x.worker.cut() }

// oneKey reads one key, changes it and writes it back if its revision is still
// the same: that is all the atomicity a bucket has.
type oneKey struct {
	s        *natsKV
	w        *natsWorker
	key      string
	known    bool
	revision uint64
	now      *cell
	dirty    bool
	marks    []mark
}

func (k *oneKey) run(ctx context.Context, c *call) ending {
	if c.step.Verb == ast.VerbScript {
		return runScript(ctx, k, c)
	}
	op, err := kvOpOf(c.names, c.step)
	if err != nil {
		return failed(err)
	}
	return kvEnding(k.apply(ctx, c.step.Resource, op))
}

func (k *oneKey) apply(ctx context.Context, r *ast.Resource, op kvOp) (kvResult, error) {
	key := keyPrefix + natsKey(op.key)
	if r != k.s.r || k.known && key != k.key {
		return kvResult{}, fmt.Errorf("%w: no atomic scripts over several keys on NATS", errUnsupported)
	}
	if !k.known {
		var err error
		if k.now, k.revision, err = k.s.read(ctx, k.w, key); err != nil {
			return kvResult{}, err
		}
		k.key, k.known = key, true
	}
	old := k.now
	next, res := change(old, op)
	k.now = next
	k.dirty = k.dirty || next != old
	if res.done {
		k.marks = append(k.marks, op.marks...)
	}
	return res, nil
}

// commit writes what has changed; effects of reads have a key of their own.
func (k *oneKey) commit(ctx context.Context) error {
	switch {
	case k.dirty:
		return k.s.write(ctx, k.w, k.key, k.now, k.revision, k.marks)
	case len(k.marks) > 0:
		return k.s.write(ctx, k.w, effectKeys+freshToken(), &cell{value: encode(nil)}, 0, k.marks)
	}
	return nil
}
