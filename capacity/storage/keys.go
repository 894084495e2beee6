package storage

import (
	"fmt"
	"math"
	"strings"
)

// simRows is how many insertions a simulation replays at most; more rows are
// extrapolated from its second half.
const simRows = 1_000_000

// simRowsMany is how many are enough when far more rows are extrapolated anyway.
const simRowsMany = 400_000

// replayRows is the number of insertions to replay for rows rows: all of them up
// to exact (simRows for random keys, whose fill swings), else enough for the fill
// to settle, which takes several batches of the J ids in flight.
func replayRows(rows float64, o Order, exact float64) float64 {
	if rows <= exact || (o.Kind == Random && rows <= 8*simRows) {
		return math.Min(rows, simRows)
	}
	return math.Min(rows, math.Max(simRowsMany, math.Min(8*float64(o.J), 4*simRows)))
}

// nullKey is the key of rows whose index key is NULL: one value, sorted last.
const nullKey = math.MaxUint64

// keyPlan is the arrival of the keys of one index.
type keyPlan struct {
	order Order
	// dup is the number of rows that share a key value; 1 = distinct.
	dup float64
	// null is the share of rows whose whole key is NULL.
	null float64
	// lead: leading columns have few values, so the last one decides.
	lead bool
	// assumed tells how the order was chosen when nobody said.
	assumed string
}

// id identifies the arrival for memoised replays.
func (p keyPlan) id() string {
	return fmt.Sprintf("%v %v %v %v", p.order, p.dup, p.null, p.lead)
}

// planKeys derives the arrival order of an index from its columns.
func planKeys(t *Table, ix *Index, pk Order, rows float64) keyPlan {
	p := keyPlan{order: pk, dup: 1}
	p.lead = len(ix.Columns) > 1 && !leadsWithID(t, ix)
	if ix.Primary {
		if p.order.Streams == 0 && p.lead {
			p.order.Streams = leadStreams(t, ix)
		}
	} else {
		p.secondary(t, ix, pk, rows)
	}
	if ix.Order != nil {
		p.order = *ix.Order
		p.assumed = ""
	}
	return p
}

// leadsWithID says that the first column of an index is an identifier by itself.
func leadsWithID(t *Table, ix *Index) bool {
	c := t.Column(ix.Columns[0])
	return c == nil || (c.Distinct == 0 && c.Type == "uuid")
}

// leadStreams is the number of value combinations of the leading columns.
func leadStreams(t *Table, ix *Index) int {
	k := 1.0
	for _, name := range ix.Columns[:len(ix.Columns)-1] {
		if c := t.Column(name); c != nil && c.Distinct > 0 {
			k *= c.Distinct
		}
	}
	return int(math.Min(k, 1<<20))
}

// secondary fills the plan of a secondary index.
func (p *keyPlan) secondary(t *Table, ix *Index, pk Order, rows float64) {
	values := 1.0
	nullable := 1.0
	var decider *Column
	for _, name := range ix.Columns {
		c := t.Column(name)
		if c == nil {
			continue
		}
		nullable *= c.Null
		if c.Null >= 1 {
			continue // one value
		}
		if c.Distinct > 0 && c.Distinct < rows {
			values *= c.Distinct
			if decider == nil || c.Order != nil {
				decider = c
			}
			continue
		}
		decider, p.order = c, orderOf(t, c, pk, p)
		if values > 1 {
			p.order.Streams = int(math.Min(values, 1<<20))
		}
		p.null = c.Null
		return
	}
	p.null = 0
	if nullable > 0 && nullable < 1 {
		p.null = nullable
	}
	p.dup = math.Max(1, rows/values)
	p.order = Order{Kind: Random}
	if decider != nil {
		p.order = orderOf(t, decider, pk, p)
	}
	if ix.Unique {
		p.dup = 1
	}
}

// orderOf is the arrival order of the values of one column: as stated, else
// increasing for times, as the primary key for its columns, else random.
func orderOf(t *Table, c *Column, pk Order, p *keyPlan) Order {
	if c.Order != nil {
		return *c.Order
	}
	if temporal(c.Type) {
		p.assumed = c.Name + " grows with time"
		return Order{}
	}
	if k := t.Primary(); k != nil {
		for _, name := range k.Columns {
			if name == c.Name && c.Distinct == 0 {
				return Order{Kind: pk.Kind, J: pk.J}
			}
		}
	}
	p.assumed = c.Name + " arrives in random order"
	return Order{Kind: Random}
}

// temporal says that a type holds times.
func temporal(typ string) bool {
	return strings.HasPrefix(typ, "time") || strings.HasPrefix(typ, "date")
}

// scale reduces the plan for rows to a simulation of n rows that has the same
// number of rows a stream and a value, and says whether the result is then
// proportional (true) or must be extrapolated from the second half (false).
func (p keyPlan) scale(rows, n float64) (keyPlan, bool) {
	k := float64(p.order.streams())
	if rows <= n || k <= 1 {
		return p, false
	}
	if small := k * n / rows; small >= 8 {
		p.order.Streams = int(math.Round(small))
		return p, true
	}
	p.order.Streams = int(math.Min(k, 8))
	return p, false
}

// keyGen produces the keys of a plan for a simulation of n rows.
type keyGen struct {
	p      keyPlan
	ks     keyStream
	values uint64
	n      uint64
}

func newKeyGen(p keyPlan, n uint64, seed uint64) keyGen {
	g := keyGen{p: p, ks: newKeyStream(p.order, seed), n: n}
	if p.dup > 1 {
		g.values = uint64(math.Max(1, math.Round(float64(n)/p.dup)))
	}
	return g
}

func (g keyGen) key(i uint64) uint64 {
	if g.p.null > 0 {
		if g.p.null >= 1 || float64(splitmix64(i^0x6e756c6c)>>11)/(1<<53) < g.p.null {
			return nullKey
		}
	}
	if g.values > 0 {
		v := uint64(0)
		if g.p.order.sorted() {
			v = i * g.values / g.n
		} else {
			v = splitmix64(g.ks.seed^i) % g.values
			return splitmix64(v) >> 1
		}
		return v << 24
	}
	return g.ks.key(i)
}
