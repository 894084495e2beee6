package replay

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/specs/ast"
)

// ledger is what the provider stub remembers, in a SQLite file of its own: what
// it has executed, the keys it knows, and every request.
type ledger struct {
	r   *ast.Resource
	own *engines.Own
	db  *engines.DB
	mu  sync.Mutex // one request at a time, except between look-up and execution
}

// ledgerTables: executions are never removed; a record is a key that the
// provider knows, as long as it keeps it.
var ledgerTables = []string{
	"create table requests (no integer primary key, method text, args text, outcome text)",
	"create table executions (no integer primary key, method text, args text, effect text, op text, n integer)",
	"create table marks (no integer primary key, effect text, op text, n integer)",
	"create table records (no integer primary key, method text, key text, args text, execution integer, visible integer)",
	"create table refused_keys (method text, key text)",
	"create table under_way (no integer primary key, method text, args text, marks text)",
}

func openLedger(ctx context.Context, r *ast.Resource) (*ledger, error) {
	own, err := engines.CreateOwn(ctx, "sqlite:")
	if err != nil {
		return nil, err
	}
	l := &ledger{r: r, own: own}
	if l.db, err = engines.OpenSQL(own.DSN); err != nil {
		return nil, errors.Join(err, own.Drop(ctx))
	}
	l.db.SetMaxOpenConns(1)
	for _, t := range ledgerTables {
		if _, err := l.db.ExecContext(ctx, t); err != nil {
			return nil, errors.Join(err, l.close(ctx))
		}
	}
	return l, nil
}

func (l *ledger) close(ctx context.Context) error {
	return errors.Join(l.db.Close(), l.own.Drop(ctx))
}

func (l *ledger) reset(ctx context.Context) error {
	for _, t := range []string{"requests", "executions", "marks", "records", "refused_keys", "under_way"} {
		if _, err := l.db.ExecContext(ctx, "delete from "+t); err != nil {
			return err
		}
	}
	return nil
}

// request is one call as it arrives.
type request struct {
	method *ast.Method
	args   Record
	marks  []mark // effects of the step that calls
}

// answer is what the provider says.
type answer struct {
	refused bool
	body    Value // receipt or what a find has found; none
}

// keyName is the request field by which the method's records are looked up, ""
// if nobody looks them up.
func keyName(m *ast.Method) string {
	if m.DedupBy != nil {
		return m.DedupBy.Name
	}
	for _, f := range m.Resource.Provider.Methods {
		if f.Kind == ast.Find && !f.ByReceipt && found(f) == m {
			return f.By.Name
		}
	}
	for _, c := range m.Resource.Provider.Methods {
		if c.Kind == ast.Cancel && c.RefusesAfter == m {
			if c.DedupBy != nil {
				return c.DedupBy.Name
			}
			return "op"
		}
	}
	return ""
}

// found is the method whose records a find asks for.
func found(f *ast.Method) *ast.Method {
	for _, m := range f.Resource.Provider.Methods {
		if m.Kind == ast.Execute && (f.Of == m || f.Of == nil) {
			return m
		}
	}
	return nil
}

// lags says whether a record of the method is seen by a find only later.
func lags(m *ast.Method) bool {
	for _, f := range m.Resource.Provider.Methods {
		if f.Kind == ast.Find && !f.ByReceipt && f.Lag && found(f) == m {
			return true
		}
	}
	return false
}

// atomically runs work in a transaction.
func (l *ledger) atomically(ctx context.Context, work func(tx *sql.Tx) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := work(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// handle looks a request up and executes it, in one transaction.
func (l *ledger) handle(ctx context.Context, q *request) (answer, error) {
	var a answer
	err := l.atomically(ctx, func(tx *sql.Tx) error {
		known, got, err := l.lookUp(ctx, tx, q)
		if err == nil && !known {
			got, err = l.execute(ctx, tx, q)
		}
		a = got
		return err
	})
	return a, err
}

// lookUp answers a request without executing anything, if it can: a find, a key
// that is known, or one that is refused.
func (l *ledger) lookUp(ctx context.Context, tx *sql.Tx, q *request) (known bool, a answer, err error) {
	if q.method.Kind == ast.Find {
		a, err = l.find(ctx, tx, q)
		return true, a, errors.Join(err, l.note(ctx, tx, q, "asked"))
	}
	key := encode(q.args[keyName(q.method)])
	dead, err := count(ctx, tx, "select count(*) from refused_keys where method = ? and key = ?", q.method.Name, key)
	if err != nil || dead > 0 {
		return true, answer{refused: true}, errors.Join(err, l.note(ctx, tx, q, "refused"))
	}
	if q.method.DedupBy == nil {
		return false, a, nil
	}
	var args string
	var execution int
	err = tx.QueryRowContext(ctx, "select args, execution from records where method = ? and key = ? order by no limit 1", q.method.Name, key).Scan(&args, &execution)
	if errors.Is(err, sql.ErrNoRows) {
		return false, a, nil
	}
	if err != nil {
		return false, a, err
	}
	first, err := decode(args)
	if err != nil {
		return false, a, err
	}
	for _, f := range q.method.Compares {
		if !equal(field(first, f.Name), q.args[f.Name]) {
			return true, answer{refused: true}, l.note(ctx, tx, q, "refused")
		}
	}
	return true, answer{body: receiptOf(q.args, execution)}, errors.Join(l.note(ctx, tx, q, "known"), l.mark(ctx, tx, q.marks))
}

// execute does what the method does, whatever is known.
func (l *ledger) execute(ctx context.Context, tx *sql.Tx, q *request) (answer, error) {
	effect, n, err := l.effectOf(ctx, tx, q)
	if err != nil {
		return answer{}, err
	}
	op, _ := q.args["op"].(string)
	res, err := tx.ExecContext(ctx, "insert into executions (method, args, effect, op, n) values (?, ?, ?, ?, ?)", q.method.Name, encode(q.args), effect, op, n)
	if err != nil {
		return answer{}, err
	}
	no, err := res.LastInsertId()
	if err != nil {
		return answer{}, err
	}
	if name := keyName(q.method); name != "" {
		if _, err := tx.ExecContext(ctx, "insert into records (method, key, args, execution, visible) values (?, ?, ?, ?, ?)",
			q.method.Name, encode(q.args[name]), encode(q.args), no, !lags(q.method)); err != nil {
			return answer{}, err
		}
	}
	if after := q.method.RefusesAfter; after != nil {
		if v, given := q.args[keyName(after)]; given {
			if err := l.refuse(ctx, tx, after, encode(v)); err != nil {
				return answer{}, err
			}
		}
	}
	return answer{body: receiptOf(q.args, int(no))}, errors.Join(l.note(ctx, tx, q, "executed"), l.mark(ctx, tx, q.marks))
}

// effectOf is what the method does to the business: there is something to take
// back only if it has happened.
func (l *ledger) effectOf(ctx context.Context, tx *sql.Tx, q *request) (effect string, n int, err error) {
	if q.method.Undo == nil {
		if q.method.Effect != nil {
			return q.method.Effect.Name, 1, nil
		}
		return "", 0, nil
	}
	op, _ := q.args["op"].(string)
	done, err := count(ctx, tx, "select coalesce(sum(n), 0) from executions where effect = ? and op = ?", q.method.Undo.Name, op)
	return q.method.Undo.Name, -min(done, 1), err
}

func receiptOf(args Record, execution int) Record {
	rec := Record{"receipt": fmt.Sprintf("receipt-%d", execution)}
	for name, v := range args {
		rec[name] = v
	}
	return rec
}

// find asks by a request field or by a receipt.
func (l *ledger) find(ctx context.Context, tx *sql.Tx, q *request) (answer, error) {
	m := found(q.method)
	if m == nil {
		return answer{}, nil
	}
	if q.method.ByReceipt || keyName(m) == "" {
		return l.findReceipt(ctx, tx, q)
	}
	key := encode(q.args[q.method.By.Name])
	rows, err := tx.QueryContext(ctx, "select args, execution from records where method = ? and visible order by no", m.Name)
	if err != nil {
		return answer{}, err
	}
	defer rows.Close()
	for rows.Next() {
		var args string
		var execution int
		if err := rows.Scan(&args, &execution); err != nil {
			return answer{}, err
		}
		v, err := decode(args)
		if err != nil {
			return answer{}, err
		}
		if rec, ok := v.(Record); ok && encode(rec[q.method.By.Name]) == key {
			return answer{body: receiptOf(rec, execution)}, nil
		}
	}
	if err := rows.Err(); err != nil || !q.method.NotFoundFinal {
		return answer{}, err
	}
	return answer{}, l.refuse(ctx, tx, m, key)
}

// findReceipt: only who has the receipt can ask by it.
func (l *ledger) findReceipt(ctx context.Context, tx *sql.Tx, q *request) (answer, error) {
	for _, v := range q.args {
		name, _ := field(v, "receipt").(string)
		var no int
		if _, err := fmt.Sscanf(name, "receipt-%d", &no); err != nil {
			continue
		}
		n, err := count(ctx, tx, "select count(*) from executions where no = ?", no)
		if err != nil || n > 0 {
			return answer{body: v}, err
		}
	}
	return answer{}, nil
}

// refuse lets every later execution with the key be refused.
func (l *ledger) refuse(ctx context.Context, tx *sql.Tx, m *ast.Method, key string) error {
	_, err := tx.ExecContext(ctx, "insert into refused_keys (method, key) values (?, ?)", m.Name, key)
	return err
}

func (l *ledger) note(ctx context.Context, tx *sql.Tx, q *request, outcome string) error {
	_, err := tx.ExecContext(ctx, "insert into requests (method, args, outcome) values (?, ?, ?)", q.method.Name, encode(q.args), outcome)
	return err
}

// mark counts the effects of the calling step.
func (l *ledger) mark(ctx context.Context, tx *sql.Tx, marks []mark) error {
	for _, m := range marks {
		if _, err := tx.ExecContext(ctx, "insert into marks (effect, op, n) values (?, ?, ?)", m.effect, m.op, m.n); err != nil {
			return err
		}
	}
	return nil
}

func count(ctx context.Context, tx *sql.Tx, query string, args ...any) (n int, err error) {
	err = tx.QueryRowContext(ctx, query, args...).Scan(&n)
	return n, err
}

// hold keeps a request that is under way.
func (l *ledger) hold(ctx context.Context, q *request, marks string) error {
	return l.atomically(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "insert into under_way (method, args, marks) values (?, ?, ?)", q.method.Name, encode(q.args), marks)
		return err
	})
}

// effects counts by a query over what was executed.
func (l *ledger) effects(ctx context.Context, e *ast.Effect) (map[string]int, error) {
	rows, err := l.db.QueryContext(ctx, "select op, sum(n) from (select effect, op, n from executions union all select effect, op, n from marks) where effect = ? group by op", e.Name)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[string]int{}
	for rows.Next() {
		var op string
		var n int
		if err := rows.Scan(&op, &n); err != nil {
			return nil, err
		}
		out[op] = n
	}
	return out, rows.Err()
}

// requests counts what has arrived.
func (l *ledger) requests(ctx context.Context) (n int, err error) {
	err = l.db.QueryRowContext(ctx, "select count(*) from requests").Scan(&n)
	return n, err
}

// matching gives the numbers of the rows of a table whose arguments agree with
// an event, oldest first.
func (l *ledger) matching(ctx context.Context, tx *sql.Tx, table string, m *ast.Method, agree func(args Record) bool) ([]int, error) {
	rows, err := tx.QueryContext(ctx, "select no, args from "+table+" where method = ? order by no", m.Name)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []int
	for rows.Next() {
		var no int
		var args string
		if err := rows.Scan(&no, &args); err != nil {
			return nil, err
		}
		v, err := decode(args)
		if err != nil {
			return nil, err
		}
		if rec, ok := v.(Record); ok && agree(rec) {
			out = append(out, no)
		}
	}
	return out, rows.Err()
}
