package replay

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/modelcheck/replay/faultproxy"
	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

// redisResource is a kv on a Redis server. Its keys are PREFIX RESOURCE : KEY,
// where KEY is the encoded value; one more key counts business effects.
type redisResource struct {
	spec    *ast.Spec
	r       *ast.Resource
	dsn     string
	prefix  string
	version string
	admin   *engines.RedisClient
	made    bool     // the keys are this process's to remove
	standby *standby // nil: without a replica
	moves   bool     // a failover may come: connections are tried before they are used
}

// openRedis reaches the server.
func openRedis(ctx context.Context, spec *ast.Spec, r *ast.Resource, b binding) (resource, error) {
	u, err := url.Parse(b.DSN)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "redis" {
		return nil, fmt.Errorf("%w: the faults of %s need a server at redis://, found %s://", errUnsupported, r.Name, u.Scheme)
	}
	c, err := engines.OpenRedis(b.DSN)
	if err != nil {
		return nil, err
	}
	s := &redisResource{spec: spec, r: r, dsn: b.DSN, prefix: b.Prefix, admin: c, moves: failoverLoses(spec, r) > 0}
	if s.version, err = c.Version(ctx); err != nil {
		return nil, errors.Join(&engines.Unavailable{Kind: engines.Redis, Reason: err.Error()}, c.Close())
	}
	if err := removeOrphans(ctx, c, b.DSN); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return s, nil
}

// removeOrphans removes the keys of runs on this machine that were killed.
func removeOrphans(ctx context.Context, c *engines.RedisClient, dsn string) error {
	if !engines.OnThisMachine(dsn) {
		return nil
	}
	names, err := keysWith(ctx, c, engines.OwnPrefix)
	if err != nil {
		return err
	}
	for _, n := range names {
		if !engines.Abandoned(n) {
			continue
		}
		if _, err := c.Command(ctx, "del", n); err != nil {
			return err
		}
	}
	return nil
}

func (s *redisResource) engine() string { return "redis " + s.version }

// base starts the name of every key of the resource. A script names the keys of
// other stores on the same server the same way.
func (s *redisResource) base(r *ast.Resource) string { return s.prefix + r.Name + ":" }

func (s *redisResource) key(encoded string) string { return s.base(s.r) + encoded }

// journal is a hash: effect and operation to number. No encoded value begins
// with an e.
func (s *redisResource) journal() string { return s.base(s.r) + "effects" }

func journalField(effect, op string) string { return effect + " " + op }

func (s *redisResource) reset(ctx context.Context) error {
	s.made = true
	s.standby.standBack()
	if err := s.clear(ctx); err != nil {
		return err
	}
	first, err := initialEntries(s.spec, s.r)
	if err != nil {
		return err
	}
	for _, e := range first {
		if _, err := s.admin.Command(ctx, "set", s.key(encode(e.key)), encode(e.value)); err != nil {
			return err
		}
	}
	return s.standby.follow(ctx)
}

// clear removes the keys of this resource and run, and no others.
func (s *redisResource) clear(ctx context.Context) error {
	names, err := s.names(ctx)
	if err != nil {
		return err
	}
	for _, n := range names {
		if _, err := s.admin.Command(ctx, "del", n); err != nil {
			return err
		}
	}
	return nil
}

// names lists the keys of the resource.
func (s *redisResource) names(ctx context.Context) ([]string, error) {
	return keysWith(ctx, s.admin, s.base(s.r))
}

// keysWith lists the keys whose names begin so. SCAN may give a name twice.
func keysWith(ctx context.Context, c *engines.RedisClient, prefix string) ([]string, error) {
	seen := map[string]bool{}
	var out []string
	for cursor := "0"; ; {
		answer, err := c.Command(ctx, "scan", cursor, "match", globQuote(prefix)+"*", "count", "1000")
		if err != nil {
			return nil, err
		}
		page, ok := answer.([]any)
		if !ok || len(page) != 2 {
			return nil, fmt.Errorf("SCAN answers %v", answer)
		}
		found, _ := page[1].([]any)
		for _, f := range found {
			if n, ok := f.(string); ok && strings.HasPrefix(n, prefix) && !seen[n] {
				seen[n] = true
				out = append(out, n)
			}
		}
		if cursor = fmt.Sprint(page[0]); cursor == "0" {
			return out, nil
		}
	}
}

// globQuote takes the meaning from the special characters of a pattern.
func globQuote(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `^`, `\^`).Replace(s)
}

// entries reads every key.
func (s *redisResource) entries(ctx context.Context, c *engines.RedisClient) ([]entry, error) {
	names, err := s.names(ctx)
	if err != nil {
		return nil, err
	}
	var out []entry
	for _, n := range names {
		if n == s.journal() {
			continue
		}
		e := entry{name: n}
		if e.key, err = decode(strings.TrimPrefix(n, s.base(s.r))); err != nil {
			return nil, err
		}
		stored, err := c.Command(ctx, "get", n)
		if err != nil {
			return nil, err
		}
		text, ok := stored.(string)
		if !ok {
			continue // it has expired meanwhile
		}
		if e.value, err = decode(text); err != nil {
			return nil, err
		}
		left, err := c.Command(ctx, "pttl", n)
		if err != nil {
			return nil, err
		}
		ms, _ := left.(int64)
		e.expires = ms > 0
		out = append(out, e)
	}
	return out, nil
}

// happen ends the ttl of a key.
func (s *redisResource) happen(ctx context.Context, e *lower.Event) error {
	switch e.What {
	case lower.TTLEnds:
		all, err := s.entries(ctx, s.admin)
		if err != nil {
			return err
		}
		x, err := expiring(all, e.Of.Fields)
		if err != nil {
			return fmt.Errorf("%s: %w", s.r.Name, err)
		}
		if err := s.standby.noteExpiry(ctx, x); err != nil {
			return err
		}
		return s.expire(ctx, x.name)
	case lower.Restart:
		return fmt.Errorf("%w: the server is not restarted: it may hold what is not of this run", errUnsupported)
	case lower.Failover:
		if s.standby == nil {
			return fmt.Errorf("%w: a failover needs a replica of %s: --replica %s=redis, or replica: in the run section", errUnsupported, s.r.Name, s.r.Name)
		}
		return s.standby.failover(ctx, e.Of.Number)
	}
	return fmt.Errorf("%w: %q on redis", errUnsupported, e.What)
}

// expire lets the ttl of a key end now and waits until the server has removed it.
func (s *redisResource) expire(ctx context.Context, name string) error {
	if _, err := s.admin.Command(ctx, "pexpire", name, "1"); err != nil {
		return err
	}
	return awaitGone(ctx, func() (bool, error) {
		n, err := s.admin.Command(ctx, "exists", name)
		return n != int64(0), err
	})
}

// effects reads the journal that the marked commands have written.
func (s *redisResource) effects(ctx context.Context, e *ast.Effect) (map[string]int, error) {
	if !keeps(s.spec, s.r, e) {
		return nil, nil
	}
	all, err := s.admin.HGetAll(ctx, s.journal()).Result()
	if err != nil {
		return nil, err
	}
	out := map[string]int{}
	for field, count := range all {
		effect, op, _ := strings.Cut(field, " ")
		if effect != e.Name {
			continue
		}
		if out[op], err = strconv.Atoi(count); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (s *redisResource) close(ctx context.Context) error {
	s.standby.standBack()
	var err error
	if s.made {
		err = s.clear(ctx)
	}
	return errors.Join(err, s.standby.close(ctx), s.admin.Close())
}

// address is where workers reach the store.
func (s *redisResource) address() string { return s.dsn }

// redisHost is the "host:port" of an address.
func redisHost(u *url.URL) string {
	if u.Port() == "" {
		return net.JoinHostPort(u.Hostname(), "6379")
	}
	return u.Host
}

// connect gives a worker its own connection behind a proxy of its own.
func (s *redisResource) connect(context.Context) (session, error) {
	u, err := url.Parse(s.dsn)
	if err != nil {
		return nil, err
	}
	x := &redisSession{s: s}
	if x.proxy, err = faultproxy.Listen(faultproxy.Redis, redisHost(u)); err != nil {
		return nil, err
	}
	u.Host = x.proxy.Addr()
	if x.c, err = engines.OpenRedis(u.String()); err != nil {
		return nil, errors.Join(err, x.proxy.Close())
	}
	return x, nil
}
