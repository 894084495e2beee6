package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

// natsLog is a partitioned log on JetStream: a stream whose subjects are
// STREAM.PARTITION.ID, and a bucket with what the groups have committed. The
// server knows neither partitions nor groups: a member fetches from a position
// that it keeps itself, and commits by compare and set in the bucket.
type natsLog struct {
	*natsStream
	q      *ast.Queue
	bucket string

	mu      sync.Mutex
	members map[string]*logMember // of this process, by group and number
}

// logMember is what a member of a group remembers, lost at its crash.
type logMember struct {
	group      string
	number     int
	next       map[int]int                  // position to fetch, by partition
	generation map[int]int                  // of the assignment that next is from
	busy       map[*natsLogSession]*fetched // the messages of the runs in progress
}

// committed is what the bucket holds of a group and partition.
type committed struct {
	offset     int
	owner      int // member
	generation int // of the assignment: a rebalance, reset or crash begins a new one
	from       int // where the owner of this assignment begins to fetch
	revision   uint64
}

func openNATSLog(ctx context.Context, spec *ast.Spec, r *ast.Resource, b binding) (resource, error) {
	st, err := openNATSStream(ctx, spec, r, b)
	if err != nil {
		return nil, err
	}
	return &natsLog{natsStream: st, q: r.Queue, bucket: st.name + "_offsets", members: map[string]*logMember{}}, nil
}

// boundary says what the driver does.
func (s *natsLog) boundary() []string {
	return []string{fmt.Sprintf("JetStream has no partitions, consumer groups or producer epochs: for %s the driver keeps owners, offsets and epochs in a bucket, changed by compare and set", s.r.Name)}
}

func (s *natsLog) partitions() int { return max(s.q.Partitions, 1) }

// groups are the processes that read the log.
func (s *natsLog) groups() []*ast.Process {
	var out []*ast.Process
	for _, p := range s.spec.Processes {
		if p.Trigger.Kind == ast.OnMessage && p.Trigger.Queue == s.r {
			out = append(out, p)
		}
	}
	return out
}

func (s *natsLog) reset(ctx context.Context) error {
	if _, err := s.remake(ctx, jetstream.StreamConfig{}); err != nil {
		return err
	}
	kv, err := s.newBucket(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	clear(s.members)
	s.mu.Unlock()
	for _, p := range s.groups() {
		for part := range s.partitions() {
			if err := writeCommitted(ctx, kv, offsetKey(p.Name, part), committed{owner: part % max(p.Instances, 1)}); err != nil {
				return err
			}
		}
	}
	first, err := initialMessages(s.spec, s.r)
	if err != nil {
		return err
	}
	perOperation := 0
	if sw := s.q.StartsWith; sw != nil {
		perOperation = sw.Per.Count * sw.Count
	}
	for i, m := range first {
		part := 0 // of initially
		if i < perOperation {
			part = i % s.partitions()
		}
		if err := s.publish(ctx, s.admin, s.draft(part, m.rec)); err != nil {
			return err
		}
	}
	return nil
}

// newBucket makes the bucket anew. A write whose answer a worker of the last
// schedule did not wait for can still arrive while that is done.
func (s *natsLog) newBucket(ctx context.Context) (kv jetstream.KeyValue, err error) {
	return kv, eventually(ctx, goneWithin, func() (bool, error) {
		if err := s.dropBucket(ctx); err != nil {
			return false, err
		}
		if kv, err = s.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: s.bucket, Storage: natsStorage}); err != nil {
			return false, err
		}
		status, err := kv.Status(ctx)
		return err == nil && status.Values() == 0, err
	})
}

func (s *natsLog) dropBucket(ctx context.Context) error {
	if err := s.js.DeleteKeyValue(ctx, s.bucket); err != nil && !errors.Is(err, jetstream.ErrBucketNotFound) {
		return err
	}
	return nil
}

func (s *natsLog) close(ctx context.Context) error {
	var err error
	if s.made {
		err = s.dropBucket(ctx)
	}
	return errors.Join(err, s.natsStream.close(ctx))
}

func partitionToken(part int) string { return "p" + strconv.Itoa(part) }

func offsetKey(group string, part int) string { return "offset." + group + "." + strconv.Itoa(part) }

// firstKey holds the oldest position that retention has left in a partition.
func firstKey(part int) string { return "first." + strconv.Itoa(part) }

// epochKey holds the newest producer epoch.
const epochKey = "epoch"

const committedForm = "offset %d owner %d generation %d from %d"

func readCommitted(ctx context.Context, kv jetstream.KeyValue, key string) (committed, error) {
	e, err := kv.Get(ctx, key)
	if err != nil {
		return committed{}, err
	}
	c := committed{revision: e.Revision()}
	_, err = fmt.Sscanf(string(e.Value()), committedForm, &c.offset, &c.owner, &c.generation, &c.from)
	return c, err
}

// writeCommitted writes if the revision is still the one that was read (0: the
// key was never written).
func writeCommitted(ctx context.Context, kv jetstream.KeyValue, key string, c committed) error {
	_, err := kv.Update(ctx, key, []byte(fmt.Sprintf(committedForm, c.offset, c.owner, c.generation, c.from)), c.revision)
	return err
}

// readNumber reads a counter, 0 if it was never written.
func readNumber(ctx context.Context, kv jetstream.KeyValue, key string) (n int64, revision uint64, err error) {
	e, err := kv.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	n, err = strconv.ParseInt(string(e.Value()), 10, 64)
	return n, e.Revision(), err
}

// partition reads the messages of a partition in their order; the first of them
// is at position first.
func (s *natsLog) partition(ctx context.Context, js jetstream.JetStream, kv jetstream.KeyValue, part int) (all []*stored, first int, err error) {
	n, _, err := readNumber(ctx, kv, firstKey(part))
	if err != nil {
		return nil, 0, err
	}
	all, err = s.all(ctx, js, 0)
	return slices.DeleteFunc(all, func(m *stored) bool { return m.group != partitionToken(part) }), int(n), err
}

// happen carries out what the environment does to a log.
func (s *natsLog) happen(ctx context.Context, e *lower.Event) error {
	kv, err := s.js.KeyValue(ctx, s.bucket)
	if err != nil {
		return err
	}
	switch e.What {
	case lower.Rebalance, lower.OffsetReset:
		if e.Of.Process == nil {
			return fmt.Errorf("internal: no group is named for %s", s.r.Name)
		}
		return s.assign(ctx, kv, e.Of.Process.Name, e.Of.Partition, func(c *committed) bool {
			if e.What == lower.Rebalance {
				c.owner = e.Of.Instance
			} else {
				c.offset = e.Of.Number
			}
			return true
		})
	case lower.LogRetention:
		return s.retire(ctx, kv, e.Of.Partition)
	}
	return fmt.Errorf("%w: %q of a log on JetStream", errUnsupported, e.What)
}

// crashed: a member that comes back fetches from what is committed now.
func (s *natsLog) crashed(ctx context.Context, p *ast.Process, instance int) error {
	if !slices.Contains(s.groups(), p) {
		return nil
	}
	kv, err := s.js.KeyValue(ctx, s.bucket)
	if err != nil {
		return err
	}
	member := instance / max(p.Trigger.Workers, 1)
	for part := range s.partitions() {
		if err := s.assign(ctx, kv, p.Name, part, func(c *committed) bool { return c.owner == member }); err != nil {
			return err
		}
	}
	return nil
}

// assign begins a new assignment of a partition, if change says so: its owner
// fetches from the offset that is committed at this moment, whatever is
// committed later.
func (s *natsLog) assign(ctx context.Context, kv jetstream.KeyValue, group string, part int, change func(*committed) bool) error {
	key := offsetKey(group, part)
	return compareAndSet(func() error {
		c, err := readCommitted(ctx, kv, key)
		if err != nil || !change(&c) {
			return err
		}
		c.generation++
		c.from = c.offset
		return writeCommitted(ctx, kv, key, c)
	})
}

// compareAndSet repeats until nobody came between.
func compareAndSet(try func() error) error {
	for range maxLocal {
		err := try()
		if !changedMeanwhile(err) {
			return err
		}
		time.Sleep(pollEvery)
	}
	return errors.New("somebody else was always faster")
}

// retire removes the oldest message of a partition.
func (s *natsLog) retire(ctx context.Context, kv jetstream.KeyValue, part int) error {
	all, _, err := s.partition(ctx, s.js, kv, part)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return fmt.Errorf("partition %d of %s is empty", part, s.r.Name)
	}
	if err := s.remove(ctx, all[0]); err != nil {
		return err
	}
	return compareAndSet(func() error {
		n, revision, err := readNumber(ctx, kv, firstKey(part))
		if err != nil {
			return err
		}
		_, err = kv.Update(ctx, firstKey(part), []byte(strconv.FormatInt(n+1, 10)), revision)
		return err
	})
}

// member is who a worker is in its group; the workers of one member share it.
func (s *natsLog) member(names *scope, workers int) (*logMember, error) {
	me, _ := names.me.(string)
	at := strings.LastIndexByte(me, '-')
	n, err := strconv.Atoi(me[at+1:])
	if at < 0 || err != nil {
		return nil, fmt.Errorf("internal: %q is no member of a group", me)
	}
	number := (n - 1) / max(workers, 1)
	key := me[:at] + "/" + strconv.Itoa(number)
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.members[key]
	if m == nil {
		m = &logMember{group: me[:at], number: number, next: map[int]int{}, generation: map[int]int{}, busy: map[*natsLogSession]*fetched{}}
		s.members[key] = m
	}
	return m, nil
}

// crash forgets what a member knew.
func (s *natsLog) crash(m *logMember) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, x := range s.members {
		if x == m {
			delete(s.members, key)
		}
	}
}

func (s *natsLog) connect(context.Context) (session, error) {
	x := &natsLogSession{s: s, worker: natsWorker{dsn: s.dsn}}
	return x, x.worker.revive()
}
