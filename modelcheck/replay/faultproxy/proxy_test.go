package faultproxy_test

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/internal/engines/enginetest"
	"github.com/relplan/relplan/modelcheck/replay/faultproxy"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

var protocols = map[engines.Kind]faultproxy.Protocol{engines.Postgres: faultproxy.Postgres, engines.MySQL: faultproxy.MySQL, engines.Redis: faultproxy.Redis}

// through starts a proxy in front of the server and gives the address to use.
func through(t *testing.T, kind engines.Kind, dsn string) (*faultproxy.Proxy, string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	p, err := faultproxy.Listen(protocols[kind], u.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	u.Host = p.Addr()
	return p, u.String()
}

// setup gives a database with table t(a), seen directly and through a proxy.
func setup(t *testing.T, kind engines.Kind) (direct, proxied *engines.DB, p *faultproxy.Proxy) {
	t.Helper()
	ctx := context.Background()
	own, err := engines.CreateOwn(ctx, enginetest.Need(t, kind).DSN)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = own.Drop(context.Background()) })
	p, via := through(t, kind, own.DSN)
	if direct, err = engines.OpenSQL(own.DSN); err != nil {
		t.Fatal(err)
	}
	if proxied, err = engines.OpenSQL(via); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { direct.Close(); proxied.Close() })
	if _, err := direct.ExecContext(ctx, "create table t (a int primary key)"); err != nil {
		t.Fatal(err)
	}
	return direct, proxied, p
}

func rows(t *testing.T, db *engines.DB) (n int) {
	t.Helper()
	if err := db.QueryRow("select count(*) from t").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

var sqlKinds = []engines.Kind{engines.Postgres, engines.MySQL}

func TestLostCommitAnswerIsCommittedAndTheClientSeesAnError(t *testing.T) {
	ctx := context.Background()
	for _, kind := range sqlKinds {
		t.Run(string(kind), func(t *testing.T) {
			direct, proxied, p := setup(t, kind)
			tx, err := proxied.BeginTx(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.ExecContext(ctx, "insert into t values (1)"); err != nil {
				t.Fatal(err)
			}
			shot := p.Arm(faultproxy.Exactly("commit"), faultproxy.LoseAnswer)
			if err := tx.Commit(); err == nil {
				t.Error("the client got the answer that was to be lost")
			}
			wait(t, shot.Done())
			if shot.Err() != nil || rows(t, direct) != 1 {
				t.Errorf("server: %v, rows %d; want the commit done", shot.Err(), rows(t, direct))
			}
		})
	}
}

// TestStatementsThatContainTheWordPass is the mistake of proxies that look for
// bytes: none of these is a COMMIT.
func TestStatementsThatContainTheWordPass(t *testing.T) {
	ctx := context.Background()
	for _, kind := range sqlKinds {
		t.Run(string(kind), func(t *testing.T) {
			direct, proxied, p := setup(t, kind)
			shot := p.Arm(faultproxy.Exactly("commit"), faultproxy.LoseAnswer)
			harmless := []string{"select 'commit'", "select 1 -- commit", "insert into t values (7) /* commit */", "create table commit_log (a int)", "  select 'a;commit'  "}
			if kind == engines.MySQL {
				harmless = append(harmless, "SET autocommit=0", "SET autocommit=1", "select @@autocommit")
			}
			for _, s := range harmless {
				if _, err := proxied.ExecContext(ctx, s); err != nil {
					t.Errorf("%q was hit: %v", s, err)
				}
			}
			if !p.Disarm(shot) {
				t.Errorf("hit %q", shot.Statement())
			}
			if rows(t, direct) != 1 {
				t.Error("the insert with a comment did not run")
			}
		})
	}
}

func TestPreparedStatementIsRecognisedByItsText(t *testing.T) {
	ctx := context.Background()
	for _, kind := range sqlKinds {
		t.Run(string(kind), func(t *testing.T) {
			direct, proxied, p := setup(t, kind)
			text := map[engines.Kind]string{engines.Postgres: "insert into t values ($1)", engines.MySQL: "insert into t values (?)"}[kind]
			st, err := proxied.PrepareContext(ctx, text)
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			if _, err := st.ExecContext(ctx, 1); err != nil {
				t.Fatal(err)
			}
			shot := p.Arm(faultproxy.Exactly(text), faultproxy.LoseAnswer)
			conn, err := proxied.Conn(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := conn.ExecContext(ctx, "select 1"); err != nil {
				t.Fatal(err)
			}
			_, _ = st.ExecContext(ctx, 2) // the pool may repeat it on a new connection
			wait(t, shot.Done())
			if n := rows(t, direct); n != 2 {
				t.Errorf("%d rows, want 2: the statement ran once and its answer was lost", n)
			}
		})
	}
}

func TestLostAndLateRequests(t *testing.T) {
	ctx := context.Background()
	for _, kind := range sqlKinds {
		t.Run(string(kind), func(t *testing.T) {
			direct, proxied, p := setup(t, kind)
			insert := func(n string) error {
				conn, err := proxied.Conn(ctx)
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				_, err = conn.ExecContext(ctx, "insert into t values ("+n+")")
				return err
			}
			shot := p.Arm(faultproxy.Exactly("insert into t values (1)"), faultproxy.LoseRequest)
			if err := insert("1"); err == nil {
				t.Error("a lost request was answered")
			}
			wait(t, shot.Done())
			if rows(t, direct) != 0 {
				t.Error("a lost request was executed")
			}
			late := p.Arm(faultproxy.Exactly("insert into t values (2)"), faultproxy.Hold)
			if err := insert("2"); err == nil {
				t.Error("a held request was answered")
			}
			wait(t, late.Hit())
			time.Sleep(20 * time.Millisecond)
			if rows(t, direct) != 0 {
				t.Error("a held request was executed before its release")
			}
			late.Release()
			wait(t, late.Done())
			if late.Err() != nil || rows(t, direct) != 1 {
				t.Errorf("after the release: %v, %d rows", late.Err(), rows(t, direct))
			}
		})
	}
}

func TestRedisAnswerIsLost(t *testing.T) {
	ctx := context.Background()
	s := enginetest.Need(t, engines.Redis)
	p, via := through(t, engines.Redis, s.DSN)
	direct, err := engines.OpenRedis(s.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer direct.Close()
	c, err := engines.OpenRedis(via)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	shot := p.Arm(func(s string) bool { return strings.EqualFold(s, "set proxied 1 nx") }, faultproxy.LoseAnswer)
	if err := c.Do(ctx, "set", "proxied", 1, "nx").Err(); err == nil {
		t.Error("the client got the answer")
	}
	wait(t, shot.Done())
	if v, err := direct.Get(ctx, "proxied").Result(); err != nil || v != "1" {
		t.Errorf("the key is %q, %v; want it set", v, err)
	}
}

func wait(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(10 * time.Second):
		t.Fatal("nothing happened for 10 s")
	}
}
