package replay

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/modelcheck/replay/faultproxy"
	"github.com/relplan/relplan/specs/ast"
)

// standby is a replica of a Redis server, to which a failover moves a store. A
// proxy keeps the last writes of the store from it; those are lost.
type standby struct {
	s        *redisResource
	url      *url.URL             // of the server that the store's address names
	primary  *engines.RedisClient // to it
	replica  *engines.RedisClient
	host     string            // "host:port" of the replica
	listen   string            // address of this machine as the replica sees it
	claim    string            // name of the user that marks the replica as taken
	were     map[string]string // settings of the replica before
	stop     func() error      // of a server started here
	gate     *faultproxy.Proxy // where workers connect
	link     *faultproxy.Replication
	promoted bool

	keep    int     // how many writes a failover can lose
	began   int64   // offset at the beginning of a step
	writes  []write // the last ones, the oldest first
	expired []expiry
}

// write is a step that has written.
type write struct {
	from    int64    // offset before it
	touched []string // keys; of a script, and of a worker's process, they are not known
}

// expiry is the end of a ttl.
type expiry struct {
	entry
	at int64 // offset before it
}

// replicaPatience is how long a replica may take to copy, or to come to an
// offset.
const replicaPatience = 10 * time.Second

// failoverLoses is the largest number of writes that a failover of the store
// loses; 0: the spec has no failovers of it.
func failoverLoses(spec *ast.Spec, r *ast.Resource) int {
	most := 0
	for _, f := range spec.Faults {
		if f.Kind == ast.FaultFailover && (len(f.Resources) == 0 || slices.Contains(f.Resources, r)) {
			most = max(most, f.LosesLast, 1)
		}
	}
	return most
}

// replicate gives a store its replica, if the spec has failovers of it.
func replicate(ctx context.Context, res resource, replica string) error {
	if replica == "" {
		return nil
	}
	s, ok := res.(*redisResource)
	if !ok {
		return fmt.Errorf("%w: %s has no replica here, only a kv on redis has", errUnsupported, res.engine())
	}
	if !s.moves {
		return nil
	}
	u, err := url.Parse(s.dsn)
	if err != nil {
		return err
	}
	b := &standby{s: s, url: u, primary: s.admin, keep: failoverLoses(s.spec, s.r), stop: func() error { return nil }}
	s.standby = b
	if replica == string(engines.Redis) {
		return b.startReplica(ctx)
	}
	return b.useReplica(ctx, replica)
}

// startReplica starts a private server that takes the primary's password.
func (b *standby) startReplica(ctx context.Context) error {
	server, err := engines.Start(ctx, engines.Redis)
	if err != nil {
		return err
	}
	b.stop = server.Stop
	c, err := engines.OpenRedis(server.DSN)
	if err != nil {
		return err
	}
	defer c.Close()
	password, _ := b.url.User.Password()
	if _, err := c.Command(ctx, "config", "set", "requirepass", password); err != nil {
		return err
	}
	u, err := url.Parse(server.DSN)
	if err != nil {
		return err
	}
	u.User = nil
	return b.useReplica(ctx, u.String())
}

// useReplica takes an empty server as the replica and marks it.
func (b *standby) useReplica(ctx context.Context, dsn string) error {
	given, err := url.Parse(dsn)
	if err != nil || given.Scheme != "redis" {
		return fmt.Errorf("%w: a replica has an address such as redis://host:6379", errUnsupported)
	}
	if given.User != nil && given.User.String() != b.url.User.String() {
		return fmt.Errorf("%w: clients keep their user and password in a failover, so the replica must take the same", errUnsupported)
	}
	b.host = redisHost(given)
	if b.listen, err = localAddress(b.host); err != nil {
		return err
	}
	at := *b.url
	at.Host = b.host
	if b.replica, err = engines.OpenRedis(at.String()); err != nil {
		return err
	}
	if err := b.take(ctx, engines.OnThisMachine(at.String())); err != nil {
		return err
	}
	if b.gate, err = faultproxy.Listen(faultproxy.Redis, redisHost(b.url)); err != nil {
		return err
	}
	through := *b.url
	through.Host = b.gate.Addr()
	b.s.dsn = through.String()
	return nil
}

// localAddress is the address of this machine from which it reaches a server.
func localAddress(host string) (string, error) {
	c, err := net.Dial("tcp", host)
	if err != nil {
		return "", err
	}
	defer c.Close()
	local, _, err := net.SplitHostPort(c.LocalAddr().String())
	return local, err
}

// take makes the server ours: it must be empty, or a replica that a run on this
// machine has left when it was killed. A user, who may do nothing, marks it: his
// name has the number of the process, and replication does not touch users.
func (b *standby) take(ctx context.Context, here bool) error {
	users, err := b.replica.Do(ctx, "acl", "users").StringSlice()
	if err != nil {
		return err
	}
	left := false
	for _, name := range users {
		if !strings.HasPrefix(name, engines.OwnPrefix) {
			continue
		}
		if !here || !engines.Abandoned(name) {
			return fmt.Errorf("%w: another run uses %s as a replica", errUnsupported, b.host)
		}
		left = true
		if _, err := b.replica.Command(ctx, "acl", "deluser", name); err != nil {
			return err
		}
	}
	if left {
		if err := b.empty(ctx); err != nil {
			return err
		}
	}
	if err := b.mustBeEmpty(ctx); err != nil {
		return err
	}
	b.claim = b.s.prefix + "replica"
	if _, err := b.replica.Command(ctx, "acl", "setuser", b.claim, "off"); err != nil {
		return err
	}
	b.were = map[string]string{}
	password, _ := b.url.User.Password()
	for name, value := range map[string]string{"masterauth": password, "masteruser": b.url.User.Username()} {
		was, err := b.replica.ConfigGet(ctx, name).Result()
		if err != nil {
			return err
		}
		b.were[name] = was[name]
		if _, err := b.replica.Command(ctx, "config", "set", name, value); err != nil {
			return err
		}
	}
	return nil
}

func (b *standby) mustBeEmpty(ctx context.Context) error {
	keys, err := b.replica.Info(ctx, "keyspace").Result()
	if err != nil {
		return err
	}
	role, err := infoField(ctx, b.replica, "replication", "role")
	if err != nil {
		return err
	}
	mine, err := infoField(ctx, b.replica, "server", "run_id")
	if err != nil {
		return err
	}
	its, err := infoField(ctx, b.primary, "server", "run_id")
	switch {
	case err != nil:
		return err
	case mine == its:
		return fmt.Errorf("%w: %s is the store's own server", errUnsupported, b.host)
	case strings.Contains(keys, "keys="):
		return fmt.Errorf("%w: %s holds keys, and a replica is overwritten: give an empty server", errUnsupported, b.host)
	case role != "master":
		return fmt.Errorf("%w: %s is the replica of another server", errUnsupported, b.host)
	}
	return nil
}

// infoField reads one line of INFO.
func infoField(ctx context.Context, c *engines.RedisClient, section, field string) (string, error) {
	text, err := c.Info(ctx, section).Result()
	if err != nil {
		return "", err
	}
	for _, line := range strings.Split(text, "\r\n") {
		if v, ok := strings.CutPrefix(line, field+":"); ok {
			return v, nil
		}
	}
	return "", fmt.Errorf("INFO %s has no %s", section, field)
}

func infoNumber(ctx context.Context, c *engines.RedisClient, section, field string) (int64, error) {
	text, err := infoField(ctx, c, section, field)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// standBack moves the store back to the server that its address names.
func (b *standby) standBack() {
	if b == nil || b.gate == nil || !b.promoted {
		return
	}
	b.promoted = false
	b.s.admin = b.primary
	b.gate.Redirect(redisHost(b.url))
}

// follow begins a schedule: the replica follows, and nothing has been written.
func (b *standby) follow(ctx context.Context) error {
	if b == nil {
		return nil
	}
	b.writes, b.expired = nil, nil
	if b.link != nil && b.link.Err() == nil {
		b.link.Unlimited()
		return nil
	}
	if err := b.closeLink(); err != nil {
		return err
	}
	var err error
	if b.link, err = faultproxy.ListenReplication(b.listen, redisHost(b.url)); err != nil {
		return err
	}
	if _, err := b.replica.Command(ctx, "replicaof", b.listen, strconv.Itoa(b.link.Port())); err != nil {
		return err
	}
	return eventually(ctx, replicaPatience, func() (bool, error) {
		state, err := infoField(ctx, b.replica, "replication", "master_link_status")
		return state == "up", errors.Join(err, b.link.Err())
	})
}

func (b *standby) closeLink() error {
	if b.link == nil {
		return nil
	}
	err := b.link.Close()
	b.link = nil
	return err
}

// before a step on the store: what it writes is not to reach the replica.
func (s *redisResource) before(ctx context.Context) (err error) {
	b := s.standby
	if b == nil || b.promoted {
		return nil
	}
	if b.began, err = infoNumber(ctx, b.primary, "replication", "master_repl_offset"); err == nil {
		b.hold()
	}
	return err
}

// after a step: whether it has written, the server's offset tells.
func (s *redisResource) after(ctx context.Context, step *ast.Step, out *outcome) error {
	b := s.standby
	if b == nil || b.promoted || step.Verb == ast.VerbGet || step.Verb == ast.VerbSelect || !out.done && (out.branch == ast.IfExists || out.branch == ast.IfNone) {
		return nil
	}
	offset, err := infoNumber(ctx, b.primary, "replication", "master_repl_offset")
	if err != nil || offset == b.began {
		return err
	}
	b.writes = append(b.writes, write{b.began, out.touched})
	if len(b.writes) > b.keep {
		b.writes = b.writes[1:]
	}
	b.hold()
	return nil
}

// hold lets everything pass that no failover can lose.
func (b *standby) hold() {
	if len(b.writes) > 0 {
		b.link.Limit(b.writes[0].from)
		return
	}
	b.link.Limit(b.began)
}

func (b *standby) noteExpiry(ctx context.Context, e entry) error {
	if b == nil || b.promoted {
		return nil
	}
	at, err := infoNumber(ctx, b.primary, "replication", "master_repl_offset")
	b.expired = append(b.expired, expiry{e, at})
	return err
}

// failover makes the replica the primary, without the last n writes.
func (b *standby) failover(ctx context.Context, n int) error {
	if b.promoted {
		return fmt.Errorf("%w: a second failover needs a third server", errUnsupported)
	}
	lost := b.writes[max(0, len(b.writes)-n):]
	if len(lost) == 0 {
		return fmt.Errorf("internal: a failover of %s before its first write", b.s.r.Name)
	}
	from := lost[0].from
	b.link.Limit(from)
	err := eventually(ctx, replicaPatience, func() (bool, error) {
		at, err := infoNumber(ctx, b.replica, "replication", "slave_repl_offset")
		return at >= from, errors.Join(err, b.link.Err())
	})
	if err != nil {
		return fmt.Errorf("the replica of %s does not follow: %w", b.s.r.Name, err)
	}
	if _, err := b.replica.Command(ctx, "replicaof", "no", "one"); err != nil {
		return err
	}
	if err := b.closeLink(); err != nil {
		return err
	}
	if err := b.keepCounts(ctx); err != nil {
		return err
	}
	b.promoted = true
	b.s.admin = b.replica
	b.gate.Redirect(b.host)
	return b.expireAgain(ctx, lost)
}

// keepCounts: business effects have happened, whatever the store forgets.
func (b *standby) keepCounts(ctx context.Context) error {
	all, err := b.primary.HGetAll(ctx, b.s.journal()).Result()
	if err != nil || len(all) == 0 {
		return err
	}
	return b.replica.HSet(ctx, b.s.journal(), all).Err()
}

// expireAgain: a ttl that ended after the first lost write ends on the replica
// too, unless the lost writes were to that key.
func (b *standby) expireAgain(ctx context.Context, lost []write) error {
	for _, e := range b.expired {
		if e.at < lost[0].from || slices.ContainsFunc(lost, func(w write) bool { return slices.Contains(w.touched, e.name) }) {
			continue
		}
		stored, err := b.replica.Command(ctx, "get", e.name)
		if err != nil {
			return err
		}
		if stored != encode(e.value) {
			continue
		}
		if err := b.s.expire(ctx, e.name); err != nil {
			return err
		}
	}
	return nil
}

// empty makes the replica what it was: a server of its own without keys.
func (b *standby) empty(ctx context.Context) error {
	if _, err := b.replica.Command(ctx, "replicaof", "no", "one"); err != nil {
		return err
	}
	_, err := b.replica.Command(ctx, "flushall")
	return err
}

func (b *standby) close(ctx context.Context) error {
	if b == nil {
		return nil
	}
	errs := []error{b.closeLink()}
	if b.claim != "" {
		errs = append(errs, b.empty(ctx))
		for name, value := range b.were {
			_, err := b.replica.Command(ctx, "config", "set", name, value)
			errs = append(errs, err)
		}
		_, err := b.replica.Command(ctx, "acl", "deluser", b.claim)
		errs = append(errs, err)
	}
	if b.gate != nil {
		errs = append(errs, b.gate.Close())
	}
	if b.replica != nil {
		errs = append(errs, b.replica.Close())
	}
	return errors.Join(append(errs, b.stop())...)
}
