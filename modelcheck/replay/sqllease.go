package replay

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

// leaseColumn holds when the lease of a row runs out, by the engine's clock.
const leaseColumn = "lease_ends_at"

func (d dialect) clockType() string {
	return map[engines.Kind]string{engines.Postgres: "timestamptz", engines.MySQL: "datetime(6)", engines.SQLite: "text"}[d.kind]
}

// clock is the engine's time now plus d, moving on inside a transaction.
func (d dialect) clock(after time.Duration) string {
	us := after.Microseconds()
	switch d.kind {
	case engines.Postgres:
		return fmt.Sprintf("clock_timestamp() + interval '%d microseconds'", us)
	case engines.MySQL:
		return fmt.Sprintf("sysdate(6) + interval %d microsecond", us)
	}
	return fmt.Sprintf("strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', '+%.3f seconds')", after.Seconds())
}

// leasedRow says whether a new row has a lease.
func leasedRow(sc *scope, l *ast.Lease, row Record) (bool, error) {
	for _, w := range l.While {
		v, err := sc.eval(w.Value)
		if err != nil || !equal(row[w.Name], v) {
			return false, err
		}
	}
	return true, nil
}

// leaseOf is when the lease of a row ends after an update, "" if the update
// leaves it alone (R17): writing a column of while: or the holder takes it.
func (d dialect) leaseOf(s *statement, sc *scope, l *ast.Lease, set []ast.Cell) (string, error) {
	takes := slices.ContainsFunc(set, func(c ast.Cell) bool {
		return l.Holder != nil && c.Column == l.Holder || slices.ContainsFunc(l.While, func(w ast.Cell) bool { return w.Name == c.Name })
	})
	if !takes {
		return "", nil
	}
	var conds []string
	for _, w := range l.While {
		now := d.quote(w.Name)
		for _, c := range set {
			if c.Name != w.Name {
				continue
			}
			v, err := d.valueFor(s, sc, c.Column, c.Value)
			if err != nil {
				return "", err
			}
			now = v
		}
		v, err := d.valueFor(s, sc, w.Column, w.Value)
		if err != nil {
			return "", err
		}
		conds = append(conds, now+" = "+v)
	}
	return "case when " + strings.Join(conds, " and ") + " then " + d.clock(leaseLasts) + " else null end", nil
}

// identity is the condition that a row is the one that the model means, "" if
// every row is: columns whose values have another name on an engine are left
// out.
func (d dialect) identity(s *statement, t *ast.Table, rec lower.Record) string {
	var parts []string
	for _, c := range t.Columns {
		m, known := rec[c.Name]
		v, exact := concrete(m)
		if !known || !exact || c == t.Sequence {
			continue
		}
		if v == nil {
			parts = append(parts, d.quote(c.Name)+" is null")
			continue
		}
		parts = append(parts, d.quote(c.Name)+" = "+d.columnArg(s, c, v))
	}
	return strings.Join(parts, " and ")
}
