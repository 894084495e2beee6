package lower

import (
	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/specs/ast"
)

// Contents is what everybody can see in one state of the model: committed rows
// and entries with the columns that the model keeps, and how often each effect
// has happened.
type Contents struct {
	Rows    map[*ast.Table][]Record
	Entries map[*ast.Resource][]Record
	// Effects counts per operation; a count stops at Effect.Compared + 1. An
	// effect that no promise reads is not counted and not in it.
	Effects map[*ast.Effect]map[OperationID]int
	// Columns that the model keeps: those that something reads.
	Columns map[*ast.Table][]string
}

// End is what the stores hold after the last step of a history.
func (o *Outcome) End(h *History) *Contents {
	g := o.glance(h.end)
	c := &Contents{Rows: map[*ast.Table][]Record{}, Entries: map[*ast.Resource][]Record{}, Effects: map[*ast.Effect]map[OperationID]int{},
		Columns: map[*ast.Table][]string{}}
	for a, t := range o.lw.tables {
		c.Rows[a] = g.rows(t)
		for _, col := range a.Columns {
			if t.stores(col.Name) {
				c.Columns[a] = append(c.Columns[a], col.Name)
			}
		}
	}
	for r, t := range o.lw.kvs {
		c.Entries[r] = g.rows(t)
	}
	for e, vs := range o.lw.effects {
		if len(vs) == 0 {
			continue
		}
		c.Effects[e] = map[OperationID]int{}
		for op, v := range vs {
			for i := range op.Count {
				c.Effects[e][OperationID{op, i}] = g.eval(load(v, num(i)))
			}
		}
	}
	return c
}

// rows are the committed rows of a table.
func (g *glance) rows(t *table) []Record {
	out := []Record{}
	for i := range g.size(t.over) {
		if g.inUse(t.over, i) && g.eval(load(t.used, num(i))) == 1 && g.holds(t.visible(num(i), reader{})) {
			out = append(out, g.record(t, num(i)))
		}
	}
	return out
}

// Tell puts a history that no promise is about into words and events: a good or
// a random one.
func (o *Outcome) Tell(h *modelcheck.History) *History { return o.tell(h) }

// Total is how many effects have happened in a state, and whether nobody runs.
func (o *Outcome) Total(state []uint64) (effects int, idle bool) {
	g := o.glance(state)
	for _, vs := range o.lw.effects {
		for op, v := range vs {
			for i := range op.Count {
				effects += g.eval(load(v, num(i)))
			}
		}
	}
	for _, p := range o.lw.order {
		for i := range p.ast.Instances {
			if o.Model.Value(state, p.pc, i) != 0 {
				return effects, false
			}
		}
	}
	return effects, true
}
