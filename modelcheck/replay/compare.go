package replay

import (
	"context"
	"fmt"
	"slices"

	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

// holder is a resource whose contents can be compared with the model's.
type holder interface {
	// contents gives the committed rows of a table, or the entries of a kv store
	// as {key, value}.
	contents(ctx context.Context, t *ast.Table) ([]Record, error)
}

// compareRows compares the rows of every table and the entries of every kv
// store, in the columns that the model keeps.
func (r *runner) compareRows(ctx context.Context, end *lower.Contents) error {
	for t, want := range end.Rows {
		h, ok := r.resources[t.Resource].(holder)
		if !ok {
			continue
		}
		columns := slices.DeleteFunc(slices.Clone(end.Columns[t]), func(name string) bool { return r.isNumber(t, name) })
		if err := compareStore(ctx, h, t, t.Name, want, columns); err != nil {
			return err
		}
	}
	for res, want := range end.Entries {
		h, ok := r.resources[res].(holder)
		if !ok {
			continue
		}
		if err := compareStore(ctx, h, nil, res.Name, want, []string{"key", "value"}); err != nil {
			return err
		}
	}
	return nil
}

func compareStore(ctx context.Context, h holder, t *ast.Table, name string, want []lower.Record, columns []string) error {
	have, err := h.contents(ctx, t)
	if err != nil {
		return err
	}
	if len(have) != len(want) {
		return weaker("%s holds %d on the engine, %d in the model", name, len(have), len(want))
	}
	if !matchAll(want, have, columns) {
		return weaker("%s holds %s on the engine, %s in the model", name, printed(have), printed(want))
	}
	return nil
}

// matchAll finds for every row of the model one of the engine that agrees.
// Values that have another name on an engine agree with any, so a row may have
// to make room for another.
func matchAll(want []lower.Record, have []Record, columns []string) bool {
	taken := make([]int, len(have)) // by which row of the model, from 1
	var place func(i int, seen []bool) bool
	place = func(i int, seen []bool) bool {
		for j := range have {
			if seen[j] || !rowAgrees(want[i], have[j], columns) {
				continue
			}
			seen[j] = true
			if taken[j] == 0 || place(taken[j]-1, seen) {
				taken[j] = i + 1
				return true
			}
		}
		return false
	}
	for i := range want {
		if !place(i, make([]bool, len(have))) {
			return false
		}
	}
	return true
}

func rowAgrees(want lower.Record, have Record, columns []string) bool {
	for _, c := range columns {
		if v, known := want[c]; known && !agrees(v, have[c]) {
			return false
		}
	}
	return true
}

// isNumber says whether a column holds numbers of a sequence, or copies of them.
// Their order is the model's, their values are not: a failed insert uses up a
// number on an engine.
func (r *runner) isNumber(t *ast.Table, column string) bool {
	c := t.Column(column)
	if c == nil || c == t.Sequence {
		return c != nil
	}
	for _, p := range r.spec.Processes {
		for _, s := range p.All {
			for _, cell := range s.Row {
				if from, ok := cell.Value.(*ast.FieldOf); ok && s.Table == t && cell.Name == column {
					if row := from.X.Type().Find(ast.KindRow); row != nil && row.Table.Sequence != nil && row.Table.Sequence.Name == from.Name {
						return true
					}
				}
			}
		}
	}
	return false
}

// plainRecord is a row of the model without numbers of sequences.
func (r *runner) plainRecord(t *ast.Table, rec lower.Record) lower.Record {
	if t == nil {
		return rec
	}
	out := lower.Record{}
	for name, v := range rec {
		if !r.isNumber(t, name) {
			out[name] = v
		}
	}
	return out
}

// withoutNumbers is what a step reads in the model, without such numbers.
func (r *runner) withoutNumbers(e *lower.Event) lower.Value {
	if rec, ok := e.Read.(lower.Record); ok {
		return r.plainRecord(e.Step.Table, rec)
	}
	return e.Read
}

// contents of a table, as the administrator sees it.
func (s *sqlResource) contents(ctx context.Context, t *ast.Table) ([]Record, error) {
	if len(t.Columns) == 0 {
		return nil, fmt.Errorf("internal: table %s has no columns", t.Name)
	}
	q := query{table: t}
	st, err := s.dialect.selectRows(newScope(&world{}), q)
	if err != nil {
		return nil, err
	}
	return queryRows(ctx, s.admin, st, q)
}
