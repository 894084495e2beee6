package engines_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/internal/engines/enginetest"
)

// TestClassify provokes every failure on every engine that has it.
func TestClassify(t *testing.T) {
	for _, kind := range sqlKinds {
		t.Run(string(kind), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			own, err := engines.CreateOwn(ctx, enginetest.Need(t, kind).DSN)
			if err != nil {
				t.Fatal(err)
			}
			defer own.Drop(context.Background())
			a, b := session(t, own.DSN), session(t, own.DSN)
			for _, s := range []string{"create table t (k int primary key, v int)", "insert into t values (1, 0), (2, 0)"} {
				must(t, a, s)
			}
			want(t, "a taken key", run(a, "insert into t values (1, 1)"), engines.Duplicate)
			code := map[engines.Kind]string{engines.SQLite: "CONSTRAINT_PRIMARYKEY", engines.Postgres: "23505", engines.MySQL: "1062"}[kind]
			if got := engines.Code(fmt.Errorf("wrapped: %w", run(a, "insert into t values (1, 1)"))); got != code {
				t.Errorf("code of a taken key: got %q, want %q", got, code)
			}
			want(t, "nonsense", run(a, "select from where"), engines.OtherFailure)
			short := map[engines.Kind]string{engines.Postgres: "set lock_timeout = '50ms'", engines.MySQL: "set innodb_lock_wait_timeout = 1"}[kind]
			must(t, a, "begin")
			must(t, a, "update t set v = 1 where k = 1")
			if short != "" {
				must(t, b, short)
			}
			want(t, "a locked row", run(b, "update t set v = 2 where k = 1"), engines.LockTimeout)
			must(t, a, "rollback")
			if kind == engines.SQLite {
				return // one writer at a time: no deadlock
			}
			if kind == engines.MySQL {
				must(t, b, "set innodb_lock_wait_timeout = 20")
			} else {
				must(t, b, "set lock_timeout = 0")
			}
			want(t, "a cycle of waits", deadlock(t, a, b), engines.Deadlock)
		})
	}
}

func TestCodeOfOtherErrors(t *testing.T) {
	if got := engines.Code(errors.New("no engine said this")); got != "" {
		t.Errorf("got %q, want none", got)
	}
}

func TestJournalModeOfSQLite(t *testing.T) {
	for suffix, want := range map[string]string{"": "wal", "?journal_mode=delete": "delete"} {
		own, err := engines.CreateOwn(context.Background(), "sqlite://x")
		if err != nil {
			t.Fatal(err)
		}
		defer own.Drop(context.Background())
		var got string
		if err := session(t, own.DSN+suffix).QueryRowContext(context.Background(), "pragma journal_mode").Scan(&got); err != nil || got != want {
			t.Errorf("%q: journal mode %q, %v, want %q", suffix, got, err, want)
		}
	}
}

func session(t *testing.T, dsn string) *sql.Conn {
	t.Helper()
	db, err := engines.OpenSQL(dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	c, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func run(c *sql.Conn, text string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_, err := c.ExecContext(ctx, text)
	return err
}

func must(t *testing.T, c *sql.Conn, text string) {
	t.Helper()
	if err := run(c, text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

func want(t *testing.T, what string, err error, f engines.Failure) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error, want %s", what, f)
	} else if got := engines.Classify(err); got != f {
		t.Errorf("%s: %v is %s, want %s", what, err, got, f)
	}
}

// deadlock lets two transactions lock two rows crosswise and gives the error of
// the victim.
func deadlock(t *testing.T, a, b *sql.Conn) error {
	t.Helper()
	must(t, a, "begin")
	must(t, b, "begin")
	must(t, a, "update t set v = 1 where k = 1")
	must(t, b, "update t set v = 1 where k = 2")
	errs := make(chan error, 2)
	go func() { errs <- run(a, "update t set v = 1 where k = 2") }()
	go func() { errs <- run(b, "update t set v = 1 where k = 1") }()
	first := <-errs
	if first != nil {
		return first
	}
	return <-errs
}
