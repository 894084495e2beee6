package measure

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/relplan/relplan/capacity/storage"
	"github.com/relplan/relplan/capacity/storage/ddl"
)

// mix is a counter-based generator: the same row gives the same value.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb
	return x ^ (x >> 31)
}

func unit(x uint64) float64 { return (float64(mix(x)>>11) + 0.5) / (1 << 53) }

// rowGen makes the rows of a table in arrival order, as literals of a dialect.
type rowGen struct {
	t       *storage.Table
	d       ddl.Dialect
	order   storage.Order
	rows    uint64
	decider int // column that carries the order of the primary key
	lead    int // column that carries its streams, -1 = none
}

func newRowGen(t *storage.Table, d ddl.Dialect, o storage.Order, rows int64) *rowGen {
	g := &rowGen{t: t, d: d, order: o, rows: uint64(max(1, rows)), decider: -1, lead: -1}
	if pk := t.Primary(); pk != nil {
		last := pk.Columns[len(pk.Columns)-1]
		for i, c := range t.Columns {
			switch c.Name {
			case last:
				g.decider = i
			case pk.Columns[0]:
				g.lead = i
			}
		}
	}
	return g
}

// row appends the literal (a, b, c) of row r.
func (g *rowGen) row(b []byte, r uint64) []byte {
	b = append(b, '(')
	for i := range g.t.Columns {
		if i > 0 {
			b = append(b, ',')
		}
		b = g.value(b, i, r)
	}
	return append(b, ')')
}

// number returns the value of column i in row r as a number that grows, repeats
// or is random as the column says, and how many unordered ids share a step.
func (g *rowGen) number(i int, r uint64) (n uint64, o storage.Order) {
	c := &g.t.Columns[i]
	h := mix(r*1024 + uint64(i) + 7)
	k := uint64(max(1, g.order.Streams))
	switch {
	case i == g.decider:
		o = g.order
	case i == g.lead && k > 1:
		return h % k, storage.Order{Kind: storage.Random}
	case c.Order != nil:
		o = *c.Order
	case strings.HasPrefix(c.Type, "time") || strings.HasPrefix(c.Type, "date"):
	default:
		o = storage.Order{Kind: storage.Random}
	}
	if c.Distinct > 0 && i != g.decider {
		if o.Kind == storage.Increasing {
			return r * uint64(c.Distinct) / g.rows, o
		}
		return h % uint64(c.Distinct), o
	}
	switch {
	case o.Kind == storage.Random:
		return h >> 1, o
	case o.Kind == storage.TimeOrdered && o.J > 1:
		return r / uint64(o.J), o
	}
	return r, storage.Order{}
}

// value appends one literal.
func (g *rowGen) value(b []byte, i int, r uint64) []byte {
	c := &g.t.Columns[i]
	if c.Null > 0 && unit(r*1024+uint64(i)+11) < c.Null {
		return append(b, "NULL"...)
	}
	n, o := g.number(i, r)
	typ := c.Type
	switch {
	case strings.Contains(typ, "bool"):
		if g.d == ddl.SQLite {
			return strconv.AppendUint(b, n&1, 10)
		}
		return strconv.AppendBool(b, n&1 == 1)
	case typ == "uuid":
		return append(append(append(b, '\''), uuidText(g.id(n, o, r, i, 16))...), '\'')
	case g.d == ddl.MySQL && typ == "json":
		return g.json(b, i, r)
	case typ == "json" || typ == "jsonb":
		return g.json(b, i, r)
	case isBinary(typ):
		return g.bytes(b, i, r)
	case isText(typ):
		return g.text(b, i, r)
	case strings.HasPrefix(typ, "time") || strings.HasPrefix(typ, "date"):
		return g.time(b, c, n)
	case typ == "numeric" || typ == "decimal":
		return g.decimal(b, c, n)
	case strings.Contains(typ, "float") || strings.Contains(typ, "double") || typ == "real":
		return strconv.AppendFloat(b, float64(n%1_000_003)/7, 'g', -1, 64)
	}
	return g.integer(b, c, n, o, r)
}

func isBinary(typ string) bool {
	return typ == "bytea" || typ == "binary" || typ == "varbinary" || strings.HasSuffix(typ, "blob")
}

func isText(typ string) bool {
	return strings.Contains(typ, "char") || strings.Contains(typ, "text") || typ == ""
}

// integer fits the number into the type.
func (g *rowGen) integer(b []byte, c *storage.Column, n uint64, o storage.Order, r uint64) []byte {
	if o.Kind == storage.TimeOrdered && o.J > 1 {
		n = n<<16 | mix(r)&0xffff
	}
	bits := uint(62)
	switch {
	case strings.Contains(c.Type, "tiny"):
		bits = 6
	case strings.Contains(c.Type, "small") || c.Type == "int2":
		bits = 14
	case strings.Contains(c.Type, "medium"):
		bits = 22
	case strings.HasPrefix(c.Type, "big") || c.Type == "int8" || (g.d == ddl.SQLite && c.Mean >= 8):
	case strings.Contains(c.Type, "int") || c.Type == "serial":
		bits = 30
	}
	if g.d == ddl.SQLite && c.Mean >= 8 {
		return strconv.AppendUint(b, 1<<61|n%(1<<60), 10)
	}
	return strconv.AppendUint(b, n%(1<<bits), 10)
}

func (g *rowGen) time(b []byte, c *storage.Column, n uint64) []byte {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if c.Distinct > 0 {
		at = at.Add(time.Duration(n) * time.Second)
	} else {
		at = at.Add(time.Duration(n%(1<<40)) * 10 * time.Microsecond)
	}
	layout := "2006-01-02 15:04:05.000000"
	switch {
	case c.Type == "date":
		layout = "2006-01-02"
	case strings.HasPrefix(c.Type, "time") && !strings.HasPrefix(c.Type, "timestamp"):
		layout = "15:04:05.000000"
	}
	b = append(b, '\'')
	b = at.AppendFormat(b, layout)
	return append(b, '\'')
}

func (g *rowGen) decimal(b []byte, c *storage.Column, n uint64) []byte {
	scale, prec := 0, 10
	if len(c.Args) > 0 {
		prec = c.Args[0]
	}
	if len(c.Args) > 1 {
		scale = c.Args[1]
	}
	digits := fmt.Sprintf("%d", 1+n%9)
	for k := uint64(0); len(digits) < min(prec, 30); k++ {
		digits += fmt.Sprintf("%d", 1+mix(n+k)%9)
	}
	b = append(b, digits[:len(digits)-scale]...)
	if scale > 0 {
		b = append(b, '.')
		b = append(b, digits[len(digits)-scale:]...)
	}
	return b
}

// length draws the length of a value.
func (g *rowGen) length(i int, r uint64) int {
	c := &g.t.Columns[i]
	x := c.Mean
	if x == 0 && len(c.Args) > 0 && (strings.HasPrefix(c.Type, "char") || c.Type == "binary") {
		x = float64(c.Args[0])
	}
	if c.SD > 0 {
		x += c.SD * distuv.UnitNormal.Quantile(unit(r*1024+uint64(i)+13))
	}
	f := math.Floor(x)
	if x-f > unit(r*1024+uint64(i)+17) {
		f++
	}
	n := int(math.Max(0, f))
	if len(c.Args) > 0 {
		n = min(n, c.Args[0])
	}
	if c.Type == "binary" && len(c.Args) > 0 {
		n = c.Args[0]
	}
	return n
}

// id returns n bytes that sort like the number: the number first where it is
// ordered, then noise of the row.
func (g *rowGen) id(v uint64, o storage.Order, r uint64, col, n int) []byte {
	out := make([]byte, 0, n+8)
	if o.Kind != storage.Random {
		for s := 8 * (min(6, n) - 1); s >= 0; s -= 8 {
			out = append(out, byte(v>>s))
		}
	}
	c := &g.t.Columns[col]
	salt := r
	if c.Distinct > 0 && col != g.decider || o.Kind == storage.Random {
		salt = v
	}
	for k := uint64(0); len(out) < n; k++ {
		h := mix(salt*31 + k*1_000_003 + uint64(col))
		for s := 0; s < 64; s += 8 {
			out = append(out, byte(h>>s))
		}
	}
	return out[:n]
}

func uuidText(b []byte) string {
	s := hex.EncodeToString(b)
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:32]
}

// text appends hexadecimal text, or a padded number where values are few.
func (g *rowGen) text(b []byte, i int, r uint64) []byte {
	n := g.length(i, r)
	v, o := g.number(i, r)
	s := hex.EncodeToString(g.id(v, o, r, i, n/2+1))
	b = append(b, '\'')
	b = append(b, s[:n]...)
	return append(b, '\'')
}

func (g *rowGen) bytes(b []byte, i int, r uint64) []byte {
	n := g.length(i, r)
	v, o := g.number(i, r)
	s := hex.EncodeToString(g.id(v, o, r, i, n))
	if g.d == ddl.PostgreSQL {
		b = append(b, `'\x`...)
	} else {
		b = append(b, "x'"...)
	}
	b = append(b, s...)
	return append(b, '\'')
}

// json appends an object with one member of hexadecimal text, as long as the
// column says in total.
func (g *rowGen) json(b []byte, i int, r uint64) []byte {
	n := max(0, g.length(i, r)-len(`{"k":""}`))
	s := hex.EncodeToString(g.id(r, storage.Order{Kind: storage.Random}, r, i, n/2+1))
	b = append(b, `'{"k":"`...)
	b = append(b, s[:n]...)
	return append(b, `"}'`...)
}
