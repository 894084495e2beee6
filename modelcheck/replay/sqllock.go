package replay

import (
	"context"
	"fmt"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

// lockStep takes or gives back an advisory lock.
func (x *sqlSession) lockStep(ctx context.Context, c *call) ending {
	key, err := c.names.eval(c.step.Key)
	if err != nil {
		return failed(err)
	}
	arg := lockKey(x.s.kind, x.s.r.Name, key)
	conn := x.conn
	if c.event != nil && c.event.Why == lower.OtherSession { // what the pool gives
		if conn, err = x.s.admin.Conn(ctx); err != nil {
			return x.lostOr(failed(err))
		}
		defer conn.Close()
	}
	var got bool
	switch x.s.kind {
	case engines.Postgres:
		got, err = postgresLock(ctx, conn, c.step, arg)
	case engines.MySQL:
		got, err = x.mysqlLock(ctx, conn, c.step, arg)
	default:
		err = fmt.Errorf("%w: %s has no advisory locks", errUnsupported, x.s.kind)
	}
	switch {
	case err != nil:
		return x.lostOr(failed(err))
	case got:
		x.locked = x.locked || c.step.SessionLock
		return ending{done: true}
	case c.step.Verb == ast.VerbUnlock:
		return ending{branch: ast.IfNone}
	}
	return ending{branch: ast.IfHeld}
}

func postgresLock(ctx context.Context, conn engines.Querier, s *ast.Step, key any) (bool, error) {
	text := map[bool]map[bool]string{
		false: {false: "select true from (select pg_advisory_xact_lock($1)) l", true: "select pg_try_advisory_xact_lock($1)"},
		true:  {false: "select true from (select pg_advisory_lock($1)) l", true: "select pg_try_advisory_lock($1)"},
	}[s.SessionLock][s.Try]
	if s.Verb == ast.VerbUnlock {
		text = "select pg_advisory_unlock($1)"
	}
	var got bool
	err := conn.QueryRowContext(ctx, text, key).Scan(&got)
	return got, err
}

// mysqlLock uses user locks, which belong to the session: a lock of the
// transaction is given back when the block ends.
func (x *sqlSession) mysqlLock(ctx context.Context, conn engines.Querier, s *ast.Step, key any) (bool, error) {
	if s.Verb == ast.VerbLock && !s.SessionLock {
		return false, fmt.Errorf("%w: %s has no advisory locks of a transaction", errUnsupported, x.s.kind)
	}
	text := fmt.Sprintf("select coalesce(get_lock(?, %d), 0)", int(lockPatience.Seconds()))
	switch {
	case s.Verb == ast.VerbUnlock:
		text = "select coalesce(release_lock(?), 0)"
	case s.Try:
		text = "select coalesce(get_lock(?, 0), 0)"
	}
	var got int
	err := conn.QueryRowContext(ctx, text, key).Scan(&got)
	return got == 1, err
}
