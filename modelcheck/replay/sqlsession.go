package replay

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/modelcheck/replay/faultproxy"
	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

// sqlSession is the connection of one worker to a database.
type sqlSession struct {
	s     *sqlResource
	db    *engines.DB
	proxy *faultproxy.Proxy // nil for SQLite
	conn  *sql.Conn
	id    atomic.Int64 // of the connection on the server
	open  *ast.Step    // block whose transaction was begun
	// locked: a lock of the session was taken; it ends with the connection.
	locked bool
	// impatient: the statement gives up waiting for a lock.
	impatient bool
}

// dial opens the connection with the isolation of the spec.
func (x *sqlSession) dial(ctx context.Context) error {
	var err error
	if x.conn, err = x.db.Conn(ctx); err != nil {
		return err
	}
	level := map[ast.Isolation]string{ast.ReadCommitted: "read committed", ast.RepeatableRead: "repeatable read", ast.Serializable: "serializable"}[x.s.r.SQL.Isolation]
	text := map[engines.Kind]string{engines.Postgres: "set session characteristics as transaction isolation level ", engines.MySQL: "set session transaction isolation level "}[x.s.kind]
	if text == "" {
		return nil
	}
	if _, err := x.conn.ExecContext(ctx, text+level); err != nil {
		return err
	}
	if x.s.kind == engines.Postgres {
		// PostgreSQL gives up the one who looks for a deadlock first. Only a
		// superuser may say when; otherwise it can be another than in the model.
		_, _ = x.conn.ExecContext(ctx, "set deadlock_timeout = '5s'")
	}
	id, err := engines.SessionID(ctx, x.s.kind, x.conn)
	x.id.Store(id)
	return err
}

// serverID is what the engine calls this connection.
func (x *sqlSession) serverID() int64 { return x.id.Load() }

// cut closes the socket without a goodbye.
func (x *sqlSession) cut() {
	x.sever()
	x.drop()
	_ = x.db.Close()
}

// sever closes the sockets, also while a statement waits for its answer.
func (x *sqlSession) sever() {
	x.db.Cut()
	if x.proxy != nil {
		_ = x.proxy.Close()
	}
}

func (x *sqlSession) holdsLocks() bool { return x.locked }

// end rolls back what is open.
func (x *sqlSession) end(ctx context.Context) error { return x.rollback(ctx) }

// rollback undoes the transaction of the block, if one of its statements was
// executed.
func (x *sqlSession) rollback(ctx context.Context) error {
	if x.open == nil {
		return nil
	}
	x.open = nil
	return x.undo(ctx)
}

func (x *sqlSession) undo(ctx context.Context) error {
	if x.conn == nil {
		return nil
	}
	_, err := x.conn.ExecContext(ctx, "rollback")
	if engines.Classify(err) == engines.Lost {
		return nil // the connection took the transaction with it
	}
	return err
}

// take reads the row that a trigger is about, without a lock (R29).
func (x *sqlSession) take(ctx context.Context, t *ast.Trigger, names *scope, e *lower.Event) (Value, error) {
	if err := x.revive(ctx); err != nil {
		return nil, err
	}
	q := query{table: t.Table, where: t.Where, orderBy: t.OrderBy, desc: t.Desc, one: true, like: e.Of.Fields}
	rows, err := x.read(ctx, names, q)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows[0], nil
}

// revive opens a new connection where a fault has cut the last one.
func (x *sqlSession) revive(ctx context.Context) error {
	if x.conn != nil {
		return nil
	}
	return x.dial(ctx)
}

// do carries out a statement, or the commit of a block.
func (x *sqlSession) do(ctx context.Context, c *call) ending {
	if err := x.revive(ctx); err != nil {
		return failed(err)
	}
	if c.fault == refused {
		return ending{branch: ast.OnError, err: errors.New("the fault of the spec: refused before anything is done")}
	}
	if c.commit {
		return x.commit(ctx, c)
	}
	s := c.step
	if s.Block != nil && s.Block.Verb == ast.VerbTransaction && s.Block.Resource == x.s.r && x.open == nil {
		if _, err := x.conn.ExecContext(ctx, "begin"); err != nil {
			return failed(err)
		}
		x.open = s.Block
	}
	if err := x.prepare(ctx, c); err != nil {
		return x.failed(err)
	}
	defer x.beNormal(ctx)
	switch s.Verb {
	case ast.VerbSelect:
		return x.selectStep(ctx, c)
	case ast.VerbInsert, ast.VerbUpsert, ast.VerbUpdate, ast.VerbDelete:
		return x.write(ctx, c)
	case ast.VerbLock, ast.VerbUnlock:
		return x.lockStep(ctx, c)
	}
	return failed(fmt.Errorf("%w: %s on a database", errUnsupported, s.Verb))
}

// prepare sets how the statement waits: not for long where the lock wait is to
// time out, and as the one who looks for a deadlock where it is to be the victim.
func (x *sqlSession) prepare(ctx context.Context, c *call) error {
	var text string
	x.impatient = c.fault == lockTimeout
	switch {
	case c.fault == lockTimeout && x.s.kind == engines.Postgres:
		text = "set lock_timeout = '50ms'"
	case c.fault == lockTimeout && x.s.kind == engines.MySQL:
		text = "set session innodb_lock_wait_timeout = 1"
	case c.event != nil && c.event.Why == lower.Deadlock && x.s.kind == engines.Postgres:
		_, _ = x.conn.ExecContext(ctx, "savepoint before_setting")
		if _, err := x.conn.ExecContext(ctx, "set local deadlock_timeout = '5ms'"); err != nil {
			text = "rollback to savepoint before_setting"
		}
	}
	if text == "" {
		return nil
	}
	_, err := x.conn.ExecContext(ctx, text)
	return err
}

// beNormal undoes prepare. Where the statement has failed inside a transaction,
// its rollback does.
func (x *sqlSession) beNormal(ctx context.Context) {
	if !x.impatient || x.conn == nil {
		return
	}
	x.impatient = false
	switch x.s.kind {
	case engines.Postgres:
		_, _ = x.conn.ExecContext(ctx, "set lock_timeout = 0")
	case engines.MySQL:
		_, _ = x.conn.ExecContext(ctx, "set session innodb_lock_wait_timeout = default")
	}
}

func failed(err error) ending {
	return ending{branch: ast.OnError, failure: engines.Classify(err), err: err}
}

// failed is how a statement ends that the engine has refused. SQLite does not
// wait: it says that it is busy, and the statement can be sent again.
func (x *sqlSession) failed(err error) ending {
	e := failed(err)
	if x.s.kind == engines.SQLite && e.failure == engines.LockTimeout && !x.impatient {
		e.err = fmt.Errorf("%w: %w", errBusy, err)
	}
	return x.lostOr(e)
}

func (x *sqlSession) commit(ctx context.Context, c *call) ending {
	if x.open == nil { // no statement of the block was executed
		return ending{done: true, committed: true}
	}
	if _, err := x.exec(ctx, statement{text: "commit"}, c.fault); err != nil {
		return x.failed(err)
	}
	x.open = nil
	return ending{done: true, committed: true}
}

// lostOr turns the loss of the connection into "no answer".
func (x *sqlSession) lostOr(e ending) ending {
	if e.failure == engines.Lost {
		e.branch = ast.OnUnknown
		x.drop()
	}
	return e
}

// drop forgets a connection that is gone; the next statement opens another. An
// open transaction must not come back with it out of the pool.
func (x *sqlSession) drop() {
	conn := x.conn
	x.conn, x.open = nil, nil
	if conn != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		_ = conn.Close()
	}
}

func (x *sqlSession) selectStep(ctx context.Context, c *call) ending {
	s := c.step
	if s.Replica || s.AtLeast != nil {
		return failed(fmt.Errorf("%w: reads of a replica", errUnsupported))
	}
	q := query{table: s.Table, where: s.Where, orderBy: s.OrderBy, desc: s.Desc, count: s.Count, lock: s.Lock, skip: s.Skip, noWait: s.NoWait, one: true}
	if rec, ok := c.event.Read.(lower.Record); ok {
		q.like = rec
	}
	if c.fault == answerLost || c.fault == requestLost {
		st, err := x.s.dialect.selectRows(c.names, q)
		if err != nil {
			return failed(err)
		}
		_, err = x.exec(ctx, st, c.fault)
		return x.failed(err)
	}
	if s.Lock && x.s.kind == engines.SQLite && x.open != nil { // the lock is that of the whole file
		name := x.s.dialect.quote(s.Table.Name)
		if _, err := x.conn.ExecContext(ctx, fmt.Sprintf("delete from %s where 1 = 0", name)); err != nil {
			return x.failed(err)
		}
	}
	rows, err := x.read(ctx, c.names, q)
	switch {
	case err != nil:
		return x.failed(err)
	case s.Count:
		return ending{done: true, value: rows[0]["count"]}
	case len(rows) == 0 && s.Branches[ast.IfNone] == nil:
		return ending{done: true}
	case len(rows) == 0:
		return ending{branch: ast.IfNone}
	}
	return ending{done: true, value: rows[0]}
}

// read gives rows as records. MySQL locks every row that it sorts: where rows are
// locked, the one that the model has chosen is asked for by itself first.
func (x *sqlSession) read(ctx context.Context, names *scope, q query) ([]Record, error) {
	if x.s.kind == engines.MySQL && q.locks() && q.like != nil && q.orderBy == nil && !q.count && !q.onlyLike {
		q.onlyLike = true
		rows, err := x.read(ctx, names, q)
		if err != nil || len(rows) > 0 {
			return rows, err
		}
		q.onlyLike, q.like = false, nil
	}
	st, err := x.s.dialect.selectRows(names, q)
	if err != nil {
		return nil, err
	}
	return queryRows(ctx, x.conn, st, q)
}

// write carries out an insert, upsert, update or delete. Where an effect is
// counted in the journal, its row is written in the same transaction.
func (x *sqlSession) write(ctx context.Context, c *call) ending {
	st, err := x.s.dialect.writing(c.names, c.step)
	if err != nil {
		return failed(err)
	}
	marks, err := x.s.journalRows(c.names, c.step)
	if err != nil {
		return failed(err)
	}
	if len(marks) > 0 && x.open == nil {
		return x.writeWithJournal(ctx, c, st, marks)
	}
	e := x.statement(ctx, c.step, st, c.fault)
	if !e.done {
		return e
	}
	for _, m := range marks {
		if _, err := x.exec(ctx, m, noFault); err != nil {
			return x.failed(err)
		}
	}
	return e
}

// writeWithJournal makes a statement outside a block and its journal rows one
// transaction; what the network does, it does to the commit.
func (x *sqlSession) writeWithJournal(ctx context.Context, c *call, st statement, marks []statement) ending {
	if _, err := x.conn.ExecContext(ctx, "begin"); err != nil {
		return x.failed(err)
	}
	e := x.statement(ctx, c.step, st, noFault)
	if e.done {
		for _, m := range marks {
			if _, err := x.exec(ctx, m, noFault); err != nil {
				e = failed(err)
			}
		}
	}
	if !e.done {
		if !errors.Is(e.err, errBusy) && (c.fault == answerLost || c.fault == requestLost) {
			_, err := x.exec(ctx, statement{text: "rollback"}, c.fault)
			return x.failed(err)
		}
		if err := x.undo(ctx); err != nil {
			return x.failed(err)
		}
		return e
	}
	if _, err := x.exec(ctx, statement{text: "commit"}, c.fault); err != nil {
		return x.failed(err)
	}
	return e
}

// statement executes a writing statement and reads its outcome.
func (x *sqlSession) statement(ctx context.Context, s *ast.Step, st statement, f fault) ending {
	n, err := x.exec(ctx, st, f)
	switch failure := engines.Classify(err); {
	case err != nil && failure == engines.Duplicate && s.Branches[ast.IfExists] != nil:
		return ending{branch: ast.IfExists, failure: failure, err: err}
	case err != nil:
		return x.failed(err)
	case n == 0 && s.Verb == ast.VerbInsert: // absorbed by `on conflict do nothing`
		return ending{branch: ast.IfExists, failure: engines.Duplicate}
	case n == 0 && s.Verb != ast.VerbUpsert:
		return ending{branch: ast.IfNone}
	}
	return ending{done: true}
}

// exec sends one statement; a fault hits it and nothing else.
func (x *sqlSession) exec(ctx context.Context, st statement, f fault) (int64, error) {
	if f == answerLost || f == requestLost {
		return 0, x.execWithoutAnswer(ctx, st, f)
	}
	res, err := x.conn.ExecContext(ctx, st.text, st.args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// errNoAnswer is what a worker on an embedded engine sees of a lost answer:
// there is no network, so the driver drops it.
var errNoAnswer = fmt.Errorf("%w: no answer", sql.ErrConnDone)

func (x *sqlSession) execWithoutAnswer(ctx context.Context, st statement, f fault) error {
	if x.proxy == nil {
		if f == answerLost {
			if _, err := x.conn.ExecContext(ctx, st.text, st.args...); engines.Classify(err) == engines.LockTimeout {
				return err // it was not done, and can be sent again
			}
		} else if x.open != nil {
			_, _ = x.conn.ExecContext(ctx, "rollback")
		}
		return errNoAnswer
	}
	how := faultproxy.LoseAnswer
	if f == requestLost {
		how = faultproxy.LoseRequest
	}
	// MySQL gets the arguments inside the text: what stands before the first one
	// identifies the statement, since this connection sends no other.
	match := faultproxy.Exactly(st.text)
	if x.s.kind == engines.MySQL && len(st.args) > 0 {
		head, _, _ := strings.Cut(st.text, "?")
		match = func(text string) bool { return strings.HasPrefix(text, head) }
	}
	shot := x.proxy.Arm(match, how)
	_, err := x.conn.ExecContext(ctx, st.text, st.args...)
	if x.proxy.Disarm(shot) {
		if err == nil {
			err = fmt.Errorf("internal: the proxy did not see %q", st.text)
		}
		return err
	}
	select {
	case <-shot.Done():
		return errors.Join(errNoAnswer, shot.Err())
	case <-ctx.Done():
		return ctx.Err()
	}
}
