package replay

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/relplan/relplan/specs/ast"
)

// writing is the text of an insert, upsert, update or delete.
func (d dialect) writing(names *scope, s *ast.Step) (statement, error) {
	switch s.Verb {
	case ast.VerbUpdate:
		return d.update(names, s.Table, s.Row, s.Where)
	case ast.VerbDelete:
		return d.remove(names, s.Table, s.Where)
	}
	row, err := names.cells(s.Row)
	if err != nil {
		return statement{}, err
	}
	if s.Verb == ast.VerbUpsert {
		return d.upsert(names, s.Table, row)
	}
	return d.insert(names, s.Table, row, absorbs(s))
}

// absorbs says whether a conflict of the insert must leave the transaction
// usable: its branch stays in the block.
func absorbs(s *ast.Step) bool {
	b := s.Branches[ast.IfExists]
	if s.Block == nil || b == nil {
		return false
	}
	switch b.Kind {
	case ast.BranchContinue, ast.BranchCommit:
		return true
	case ast.BranchGo:
		return !b.Target.Leaves
	}
	return false
}

// rowReader is what reads rows: a connection or a pool.
type rowReader interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// queryRows gives rows by column name, or one record with "count".
func queryRows(ctx context.Context, from rowReader, st statement, q query) ([]Record, error) {
	rows, err := from.QueryContext(ctx, st.text, st.args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []Record
	for rows.Next() {
		n := len(q.table.Columns)
		if q.count || n == 0 {
			n = 1
		}
		cells, at := make([]any, n), make([]any, n)
		for i := range cells {
			at[i] = &cells[i]
		}
		if err := rows.Scan(at...); err != nil {
			return nil, err
		}
		rec, err := asRecord(q, cells)
		if err != nil {
			return nil, err
		}
		out = append(out, rec)
	}
	return out, rows.Err()
}

func asRecord(q query, cells []any) (Record, error) {
	rec := Record{}
	if q.count {
		n, ok := cells[0].(int64)
		if !ok {
			return nil, fmt.Errorf("count gives a %T", cells[0])
		}
		rec["count"] = n
		return rec, nil
	}
	for i, c := range q.table.Columns {
		v, err := fromColumn(c, cells[i])
		if err != nil {
			return nil, err
		}
		rec[c.Name] = v
	}
	return rec, nil
}
