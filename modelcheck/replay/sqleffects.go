package replay

import (
	"context"
	"fmt"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/specs/ast"
)

// journalTable has a row for every business effect whose own rows do not show
// how often it happened. It is written in the transaction of the effect.
const journalTable = "relplan_effects"

func (d dialect) journal() string {
	return fmt.Sprintf("create table %s (no %s, effect varchar(190), op varchar(190), n integer)", d.quote(journalTable), d.serial())
}

// counter says how an effect is counted.
type counter struct {
	effect *ast.Effect
	query  string // the author's, returns operation and number
	// rows of this table are the effect, one each, for the operation in column
	// op; nil: by the journal.
	table *ast.Table
	op    string
}

// counters finds how each effect that the resource keeps is counted: by the
// author's query, by the rows that are the effect, or by the journal.
func counters(spec *ast.Spec, r *ast.Resource) map[*ast.Effect]*counter {
	out := map[*ast.Effect]*counter{}
	for _, p := range spec.Processes {
		for _, s := range p.All {
			if s.Table == nil || s.Table.Resource != r {
				continue
			}
			for _, m := range append(append([]ast.Mark(nil), s.Effects...), s.Undoes...) {
				if out[m.Effect] == nil {
					out[m.Effect] = &counter{effect: m.Effect}
				}
			}
		}
	}
	for e, c := range out {
		c.table, c.op = effectRows(spec, e)
		if spec.Run == nil {
			continue
		}
		for _, q := range spec.Run.Counts {
			if q.Effect == e {
				c.query = q.Query
			}
		}
	}
	return out
}

// effectRows finds the table whose rows are the effect: every insert into it is
// the effect for the operation in one of its columns, nothing else is, and
// nothing removes or rewrites rows.
func effectRows(spec *ast.Spec, e *ast.Effect) (*ast.Table, string) {
	var table *ast.Table
	column := ""
	for _, p := range spec.Processes {
		for _, s := range p.All {
			for _, m := range s.Undoes {
				if m.Effect == e {
					return nil, ""
				}
			}
			for _, m := range s.Effects {
				if m.Effect != e {
					continue
				}
				op := cellOf(s, m.Operation)
				if s.Verb != ast.VerbInsert || op == "" || table != nil && (table != s.Table || column != op) {
					return nil, ""
				}
				table, column = s.Table, op
			}
		}
	}
	if table == nil || table.Keeps != nil || !onlyInserts(spec, table, e) {
		return nil, ""
	}
	return table, column
}

// cellOf is the column that gets the operation, "" without.
func cellOf(s *ast.Step, op ast.Expr) string {
	for _, c := range s.Row {
		if c.Value.String() == op.String() {
			return c.Name
		}
	}
	return ""
}

func onlyInserts(spec *ast.Spec, t *ast.Table, e *ast.Effect) bool {
	for _, row := range spec.Initially {
		if row.Table == t {
			return false
		}
	}
	for _, f := range spec.Faults {
		if f.Kind == ast.FaultRetentionExpires {
			return false
		}
	}
	for _, p := range spec.Processes {
		for _, s := range p.All {
			if s.Table != t || s.Verb == ast.VerbSelect {
				continue
			}
			if s.Verb != ast.VerbInsert || len(s.Effects) != 1 || s.Effects[0].Effect != e {
				return false
			}
		}
	}
	return true
}

// journalRows are the statements that count the effects of a step.
func (s *sqlResource) journalRows(names *scope, step *ast.Step) ([]statement, error) {
	var out []statement
	for i, marks := range [][]ast.Mark{step.Effects, step.Undoes} {
		for _, m := range marks {
			c := s.counts[m.Effect]
			if c.table != nil {
				continue
			}
			op, err := names.eval(m.Operation)
			if err != nil {
				return nil, err
			}
			if op == nil {
				continue
			}
			var st statement
			st.text = fmt.Sprintf("insert into %s (effect, op, n) values (%s, %s, %d)", s.dialect.quote(journalTable), s.dialect.arg(&st, m.Effect.Name), s.dialect.arg(&st, op), 1-2*i)
			out = append(out, st)
		}
	}
	return out, nil
}

// effects counts an effect by a query.
func (s *sqlResource) effects(ctx context.Context, e *ast.Effect) (map[string]int, error) {
	c := s.counts[e]
	if c == nil {
		return nil, nil
	}
	var st statement
	switch {
	case c.query != "":
		st.text = c.query
	case c.table != nil:
		op := s.dialect.quote(c.op)
		st.text = fmt.Sprintf("select %s, count(*) from %s group by %s", op, s.dialect.quote(c.table.Name), op)
	default:
		st.text = fmt.Sprintf("select op, sum(n) from %s where effect = %s group by op", s.dialect.quote(journalTable), s.dialect.arg(&st, e.Name))
	}
	rows, err := s.admin.QueryContext(ctx, st.text, st.args...)
	if err != nil {
		return nil, fmt.Errorf("counting %s: %w", e.Name, err)
	}
	defer rows.Close()
	out := map[string]int{}
	for rows.Next() {
		var op string
		var n int
		if err := rows.Scan(&op, &n); err != nil {
			return nil, fmt.Errorf("counting %s: the query must give an operation and a number: %w", e.Name, err)
		}
		out[op] = n
	}
	return out, rows.Err()
}

// lockKey is an advisory lock's name: a number for PostgreSQL, a text of at
// most 64 characters for MySQL.
func lockKey(kind engines.Kind, resource string, key Value) any {
	text, _ := hash([]Value{resource, key}).(string)
	if kind != engines.Postgres {
		return text
	}
	var n int64
	for _, c := range []byte(text) {
		n = n*31 + int64(c)
	}
	return n
}
