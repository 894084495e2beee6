package engines

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strconv"
)

// Querier asks for one row: a pool or a connection.
type Querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// SessionID gives the number by which the engine knows the session of a
// connection; 0 on SQLite.
func SessionID(ctx context.Context, kind Kind, c Querier) (id int64, err error) {
	query := map[Kind]string{Postgres: "select pg_backend_pid()", MySQL: "select connection_id()"}[kind]
	if query == "" {
		return 0, nil
	}
	err = c.QueryRowContext(ctx, query).Scan(&id)
	return id, err
}

// WaitsForLock asks the engine, on another connection, whether a session waits
// for a lock. SQLite does not make anybody wait: it answers at once that it is
// busy.
func WaitsForLock(ctx context.Context, kind Kind, c Querier, id int64) (bool, error) {
	switch kind {
	case Postgres:
		var n int
		err := c.QueryRowContext(ctx, "select cardinality(pg_blocking_pids($1::int))", id).Scan(&n)
		return n > 0, err
	case MySQL:
		return waitsInMariaDB(ctx, c, id)
	}
	return false, nil
}

var (
	transactionForm = regexp.MustCompile(`(?m)^---TRANSACTION `)
	lockWaitForm    = regexp.MustCompile(`(?m)^LOCK WAIT `)
	threadForm      = regexp.MustCompile(`(?:MariaDB|MySQL) thread id (\d+),`)
)

// waitsInMariaDB looks for a wait for a named lock (get_lock) or for one of
// InnoDB. Of the latter it reads the monitor's text: information_schema.innodb_trx and
// innodb_lock_waits show a copy that is renewed only once nobody has looked at
// it for a tenth of a second. The counter of waiting transactions, which costs
// nothing, is asked first.
func waitsInMariaDB(ctx context.Context, c Querier, id int64) (bool, error) {
	var name, text string
	var n int
	const named = "select count(*) from information_schema.processlist where id = ? and state = 'User lock'"
	if err := c.QueryRowContext(ctx, named, id).Scan(&n); err != nil || n > 0 {
		return n > 0, err
	}
	if err := c.QueryRowContext(ctx, "show global status like 'Innodb_row_lock_current_waits'").Scan(&name, &n); err != nil || n == 0 {
		return false, err
	}
	if err := c.QueryRowContext(ctx, "show engine innodb status").Scan(&name, &name, &text); err != nil {
		return false, fmt.Errorf("cannot see who waits (the PROCESS privilege is needed): %w", err)
	}
	return monitorShowsWait(text, id), nil
}

// monitorShowsWait looks for a transaction of the session that waits for a lock.
func monitorShowsWait(text string, id int64) bool {
	starts := append(transactionForm.FindAllStringIndex(text, -1), []int{len(text), 0})
	for i := 0; i+1 < len(starts); i++ {
		part := text[starts[i][0]:starts[i+1][0]]
		if m := threadForm.FindStringSubmatch(part); m != nil && m[1] == strconv.FormatInt(id, 10) {
			return lockWaitForm.MatchString(part)
		}
	}
	return false
}
