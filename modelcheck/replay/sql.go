package replay

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/modelcheck/replay/faultproxy"
	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

// Times of a replay on a database. Everything that expires does so for real,
// but soon.
const (
	leaseLasts   = 60 * time.Millisecond
	lockPatience = 30 * time.Second       // before a statement that nobody answers is given up
	goneWithin   = time.Minute            // for the engine to notice a dead connection
	pollEvery    = 500 * time.Microsecond // while something is awaited
)

// sqlResource is a database of its own on a SQL engine.
type sqlResource struct {
	spec    *ast.Spec
	r       *ast.Resource
	dsn     string
	kind    engines.Kind
	version string
	dialect dialect
	admin   *engines.DB
	counts  map[*ast.Effect]*counter
	made    bool // the tables exist
}

// openSQL reaches the database; reset makes its tables.
func openSQL(ctx context.Context, spec *ast.Spec, r *ast.Resource, b binding) (resource, error) {
	db, err := engines.OpenSQL(b.DSN)
	if err != nil {
		return nil, err
	}
	s := &sqlResource{spec: spec, r: r, dsn: b.DSN, kind: db.Kind, dialect: dialect{db.Kind}, admin: db, counts: counters(spec, r)}
	db.SetMaxOpenConns(2)
	if s.version, err = db.Version(ctx); err != nil {
		_ = db.Close()
		return nil, err
	}
	return s, nil
}

func (s *sqlResource) engine() string { return string(s.kind) + " " + s.version }

func (s *sqlResource) close(context.Context) error { return s.admin.Close() }

// reset empties the tables, making them first where they do not exist, and puts
// in the rows that exist before the first step.
func (s *sqlResource) reset(ctx context.Context) error {
	if !s.made {
		if err := s.create(ctx); err != nil {
			return err
		}
		s.made = true
	} else if err := s.empty(ctx); err != nil {
		return err
	}
	for _, row := range s.spec.Initially {
		if row.Table == nil || row.Table.Resource != s.r {
			continue
		}
		names := newScope(&world{})
		cells, err := names.cells(row.Cells)
		if err != nil {
			return err
		}
		st, err := s.dialect.insert(names, row.Table, cells, false)
		if err != nil {
			return err
		}
		if _, err := s.admin.ExecContext(ctx, st.text, st.args...); err != nil {
			return fmt.Errorf("%s: %w", row.Pos, err)
		}
	}
	return nil
}

func (s *sqlResource) create(ctx context.Context) error {
	texts := []string{s.dialect.journal()}
	for _, t := range s.r.SQL.Tables {
		more, err := s.dialect.schema(t)
		if err != nil {
			return fmt.Errorf("%w: %w", errUnsupported, err)
		}
		texts = append(texts, more...)
	}
	for _, text := range texts {
		if _, err := s.admin.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	return nil
}

// empty removes all rows; numbers begin anew. MySQL truncates: rows that are
// deleted stay in an index until the purge, and a new row with such a key locks
// the gap before it.
func (s *sqlResource) empty(ctx context.Context) error {
	names := []string{journalTable}
	texts := []string{}
	for _, t := range s.r.SQL.Tables {
		names = append(names, t.Name)
	}
	for _, n := range names {
		text := "delete from " + s.dialect.quote(n)
		if s.kind == engines.MySQL {
			text = "truncate table " + s.dialect.quote(n)
		}
		texts = append(texts, text)
	}
	for _, t := range s.r.SQL.Tables {
		if t.Sequence != nil && s.kind == engines.Postgres {
			texts = append(texts, fmt.Sprintf("alter table %s alter column %s restart", s.dialect.quote(t.Name), s.dialect.quote(t.Sequence.Name)))
		}
	}
	if s.kind == engines.SQLite {
		texts = append(texts, "delete from sqlite_sequence")
	}
	for _, text := range texts {
		if _, err := s.admin.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	return nil
}

// workerName marks the sessions of workers on the server.
const workerName = "relplan worker"

// connect gives a worker its own connection, behind a proxy of its own where
// the engine is a server: so exactly one statement of exactly one worker can
// lose its answer.
func (s *sqlResource) connect(ctx context.Context) (session, error) {
	x := &sqlSession{s: s}
	dsn := s.dsn
	if s.kind != engines.SQLite {
		u, err := url.Parse(s.dsn)
		if err != nil {
			return nil, err
		}
		protocol, q := faultproxy.Postgres, u.Query()
		if s.kind == engines.MySQL {
			protocol = faultproxy.MySQL
			q.Set("found_rows", "1")
		} else {
			q.Set("application_name", workerName)
		}
		u.RawQuery = q.Encode()
		if x.proxy, err = faultproxy.Listen(protocol, hostPort(u, s.kind)); err != nil {
			return nil, err
		}
		u.Host = x.proxy.Addr()
		dsn = u.String()
	}
	var err error
	if x.db, err = engines.OpenSQL(dsn); err != nil {
		return nil, err
	}
	x.db.SetMaxOpenConns(1)
	return x, x.dial(ctx)
}

func hostPort(u *url.URL, kind engines.Kind) string {
	if u.Port() != "" {
		return u.Host
	}
	return net.JoinHostPort(u.Hostname(), map[engines.Kind]string{engines.Postgres: "5432", engines.MySQL: "3306"}[kind])
}

// blocked asks the engine whether the session waits for a lock.
func (s *sqlResource) blocked(ctx context.Context, id int64) (bool, error) {
	return engines.WaitsForLock(ctx, s.kind, s.admin, id)
}

// awaitEnd waits until the engine has noticed that the session's connection is
// gone, so that its locks are free.
func (s *sqlResource) awaitEnd(ctx context.Context, id int64) error {
	var query string
	switch s.kind {
	case engines.Postgres:
		query = "select count(*) from pg_stat_activity where pid = $1"
	case engines.MySQL:
		query = "select count(*) from information_schema.processlist where id = ?"
	default:
		return nil
	}
	return eventually(ctx, goneWithin, func() (bool, error) {
		var n int
		err := s.admin.QueryRowContext(ctx, query, id).Scan(&n)
		return n == 0, err
	})
}

// eventually polls until done holds; the error says that it did not.
func eventually(ctx context.Context, within time.Duration, done func() (bool, error)) error {
	for deadline := time.Now().Add(within); ; {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("nothing happened within %s", within)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollEvery):
		}
	}
}

// happen carries out what the environment does to a database.
func (s *sqlResource) happen(ctx context.Context, e *lower.Event) error {
	switch e.What {
	case lower.LeaseEnds:
		return s.endLease(ctx, &e.Of)
	case lower.RetentionEnds:
		return s.retire(ctx, &e.Of)
	}
	return fmt.Errorf("%w: %q on %s", errUnsupported, e.What, s.kind)
}

// endLease waits until the lease has really run out and does what the sweep of
// the spec does.
func (s *sqlResource) endLease(ctx context.Context, of *lower.Subject) error {
	t := of.Table
	names := newScope(&world{})
	return eventually(ctx, goneWithin, func() (bool, error) {
		var st statement
		sets := []string{s.dialect.quote(leaseColumn) + " = null"}
		for _, c := range t.Lease.Then {
			v, err := names.eval(c.Value)
			if err != nil {
				return false, err
			}
			sets = append(sets, s.dialect.quote(c.Name)+" = "+s.dialect.columnArg(&st, c.Column, v))
		}
		cond := s.dialect.quote(leaseColumn) + " <= " + s.dialect.clock(0)
		if id := s.dialect.identity(&st, t, of.Fields); id != "" {
			cond += " and " + id
		}
		st.text = fmt.Sprintf("update %s set %s where %s", s.dialect.quote(t.Name), strings.Join(sets, ", "), cond)
		n, err := s.change(ctx, st)
		return n > 0, err
	})
}

// retire deletes the row that the retention of its table is about.
func (s *sqlResource) retire(ctx context.Context, of *lower.Subject) error {
	var st statement
	st.text = "delete from " + s.dialect.quote(of.Table.Name)
	if id := s.dialect.identity(&st, of.Table, of.Fields); id != "" {
		st.text += " where " + id
	}
	n, err := s.change(ctx, st)
	if err == nil && n == 0 {
		return fmt.Errorf("retention finds no row of %s %v", of.Table.Name, of.Fields)
	}
	return err
}

func (s *sqlResource) change(ctx context.Context, st statement) (int64, error) {
	res, err := s.admin.ExecContext(ctx, st.text, st.args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}
