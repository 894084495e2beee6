package specs

import (
	"strconv"
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/expr"
	"github.com/relplan/relplan/internal/quantity"
	"github.com/relplan/relplan/internal/yamlx"
	"github.com/relplan/relplan/specs/ast"
)

// decodeInitially reads the contents before the first step.
func (d *decoder) decodeInitially() {
	k, n := d.root.Lookup("initially")
	if k == nil {
		return
	}
	for _, e := range d.mapping(n, k.Pos(), "a mapping from table, kv or queue to its contents") {
		name := e.Key.Value()
		t := d.tables[name]
		r := d.resources[name]
		if t == nil && (r == nil || r.KV == nil && r.Queue == nil) {
			known := sortedKeys(d.tables)
			for _, x := range d.spec.Resources {
				if x.KV != nil || x.Queue != nil {
					known = append(known, x.Name)
				}
			}
			d.unknown(e.Key.Pos(), "RP010", "table or store", name, known)
			continue
		}
		if v := d.sub(e.Value); v.Kind() != yamlx.Sequence {
			d.wanted(v, e.Key.Pos(), "RP004", "a list of rows", "")
			continue
		}
		for _, row := range d.list(e.Value) {
			d.initialRow(t, r, row, e.Key.Pos())
		}
	}
}

func (d *decoder) initialRow(t *ast.Table, r *ast.Resource, row *yamlx.Node, at diag.Pos) {
	if row.Kind() != yamlx.Mapping {
		d.wanted(row, at, "RP004", "a row, {column: value, ..}", "")
		return
	}
	if d.trap(row) {
		return
	}
	op := d.eachOf(row)
	if op == nil {
		d.oneInitialRow(t, r, row, nil)
		return
	}
	for i := 0; i < op.Count; i++ {
		d.oneInitialRow(t, r, row, &ast.OpConst{Operation: op, Index: i})
	}
}

// eachOf finds `each OP` in a row.
func (d *decoder) eachOf(row *yamlx.Node) *ast.Operation {
	var found *ast.Operation
	var walk func(n *yamlx.Node)
	walk = func(n *yamlx.Node) {
		n = d.sub(n)
		for _, e := range n.Entries() {
			walk(e.Value)
		}
		if n.Kind() != yamlx.Scalar || found != nil {
			return
		}
		tree, err := expr.Parse(n.Value())
		if err != nil {
			return
		}
		expr.Walk(tree, func(x expr.Node) {
			if e, ok := x.(*expr.Each); ok && found == nil {
				found = d.ops[e.Name]
			}
		})
	}
	walk(row)
	return found
}

func (d *decoder) oneInitialRow(t *ast.Table, r *ast.Resource, row *yamlx.Node, each *ast.OpConst) {
	out := &ast.InitialRow{Pos: row.Pos(), Table: t, Resource: r}
	if t != nil {
		out.Resource = nil
	}
	sc := scope{d: d, static: true, each: each}
	switch {
	case t != nil:
		out.Cells = d.cells(row, row.Pos(), cellTable{t: t, assign: true}, sc)
		d.opNumbers(out.Cells)
	case r.KV != nil:
		d.keys(row, "key", "value")
		if k, _ := row.Lookup("key"); k == nil {
			d.errorf(row.Pos(), "RP003", "an entry of '%s' has no key", r.Name)
			return
		}
		out.Cells = d.cells(row, row.Pos(), cellRecord{}, sc)
		hasValue := false
		for i := range out.Cells {
			c := &out.Cells[i]
			if c.Name == "key" {
				d.inf.assign(r.KV.Key, &c.Value, "key of "+r.Name)
			} else {
				hasValue = true
				d.inf.assign(r.KV.Value, &c.Value, "value of "+r.Name)
			}
		}
		if !hasValue {
			d.inf.present(r.KV.Value)
		}
	default:
		out.Cells = d.cells(row, row.Pos(), cellMessage{r}, sc)
	}
	d.spec.Initially = append(d.spec.Initially, out)
}

// opNumbers reads `op: 2` as the second operation where there is one kind only.
func (d *decoder) opNumbers(cells []ast.Cell) {
	if len(d.spec.Operations) != 1 {
		return
	}
	op := d.spec.Operations[0]
	for i := range cells {
		lit, ok := cells[i].Value.(*ast.Lit)
		if !ok || cells[i].Name != "op" || lit.Value.Kind != ast.IntValue {
			continue
		}
		if lit.Value.Int < 1 || lit.Value.Int > op.Count {
			d.errorf(lit.At, "RP021", "there is no %s number %d: the file declares %d", op.Name, lit.Value.Int, op.Count)
			continue
		}
		cells[i].Value = &ast.OpConst{Base: lit.Base, Operation: op, Index: lit.Value.Int - 1}
	}
}

// decodeExpect reads the expectation of the variant, or of the file.
func (d *decoder) decodeExpect(v variantNode, o Options) {
	k, n := d.root.Lookup("expect")
	if v.node != nil {
		if vk, vn := v.node.Lookup("expect"); vk != nil {
			k, n = vk, vn
		}
	}
	if k == nil || len(o.With) > 0 {
		return
	}
	n = d.sub(n)
	e := &ast.Expect{Pos: k.Pos(), Promises: map[string]string{}}
	for _, p := range d.spec.Promises {
		e.Promises[p.Name] = ast.Holds
	}
	verdicts := []string{ast.Holds, ast.Broken, ast.Unknown, ast.Vacuous}
	switch n.Kind() {
	case yamlx.Scalar:
		w, ok := d.oneOf(n, k.Pos(), verdicts...)
		if !ok {
			return
		}
		e.Text = w
		if w != ast.Holds {
			e.Whole = w
		}
	case yamlx.Mapping:
		d.keys(n, verdicts...)
		e.Text = text(n)
		for _, entry := range n.Entries() {
			for _, item := range d.list(entry.Value) {
				d.expectOne(e, entry.Key.Value(), item, entry.Key.Pos())
			}
		}
	default:
		d.wanted(n, k.Pos(), "RP052", "holds, or {broken: [NAME, ..]}", "")
		return
	}
	d.spec.Expect = e
}

func (d *decoder) expectOne(e *ast.Expect, verdict string, n *yamlx.Node, at diag.Pos) {
	if n.Kind() != yamlx.Scalar {
		d.wanted(n, at, "RP052", "the name or number of a promise, or all", "")
		return
	}
	name := n.Value()
	if name == "all" {
		for _, p := range d.spec.Promises {
			e.Promises[p.Name] = verdict
		}
		return
	}
	num, err := strconv.Atoi(name)
	var known []string
	for _, p := range d.spec.Promises {
		if p.Name == name || err == nil && p.Number == num {
			e.Promises[p.Name] = verdict
			return
		}
		known = append(known, p.Name)
	}
	if err == nil {
		d.errorf(n.Pos(), "RP052", "there is no promise number %d in this variant", num)
		return
	}
	d.unknown(n.Pos(), "RP052", "promise", name, known)
}

var engineKeys = []string{"engine", "dsn", "url", "ack_wait"}

// decodeRun reads how the spec meets real engines.
func (d *decoder) decodeRun() {
	k, n := d.root.Lookup("run")
	if k == nil {
		return
	}
	r := &ast.Run{Pos: k.Pos()}
	for _, e := range d.mapping(n, k.Pos(), "a mapping from resource to engine") {
		name := e.Key.Value()
		if name == "count" {
			d.runCounts(r, e)
			continue
		}
		res, ok := d.resources[name]
		if !ok {
			var known []string
			for _, x := range d.spec.Resources {
				known = append(known, x.Name)
			}
			d.unknown(e.Key.Pos(), "RP060", "resource", name, append(known, "count"))
			continue
		}
		d.runEngine(r, res, e)
	}
	d.spec.Run = r
}

func (d *decoder) runCounts(r *ast.Run, e yamlx.Entry) {
	for _, c := range d.mapping(e.Value, e.Key.Pos(), "a mapping from effect to query") {
		eff, ok := d.effects[c.Key.Value()]
		if !ok {
			d.unknown(c.Key.Pos(), "RP060", "effect", c.Key.Value(), sortedKeys(d.effects))
			continue
		}
		if q, ok := d.word(c.Value, c.Key.Pos(), "a query that gives the operation and the count"); ok {
			r.Counts = append(r.Counts, &ast.CountQuery{Pos: c.Key.Pos(), Effect: eff, Query: q})
		}
	}
}

func (d *decoder) runEngine(r *ast.Run, res *ast.Resource, e yamlx.Entry) {
	eng := &ast.Engine{Pos: e.Key.Pos(), Resource: res, Options: map[string]string{}}
	v := e.Value
	if v.Kind() == yamlx.Scalar {
		eng.Engine = v.Value()
		r.Engines = append(r.Engines, eng)
		d.checkEngine(eng, v.Pos())
		return
	}
	if v.Kind() != yamlx.Mapping {
		d.wanted(v, e.Key.Pos(), "RP060", "{engine: postgres, dsn: $NAME}", "")
		return
	}
	for _, o := range v.Entries() {
		val, ok := d.scalarText(o.Value)
		if !ok {
			d.wanted(o.Value, o.Key.Pos(), "RP060", "a single value", "")
			continue
		}
		switch o.Key.Value() {
		case "engine":
			eng.Engine = val
			d.checkEngine(eng, o.Value.Pos())
		case "dsn", "url":
			eng.DSN = val
		case "ack_wait":
			l, err := quantity.ParseDuration(val)
			if err != nil || l <= 0 {
				d.wanted(o.Value, o.Key.Pos(), "RP043", "a length of time such as 500ms", "")
			}
			eng.AckWait = l
		default:
			if c, near := diag.Closest(o.Key.Value(), engineKeys); near {
				d.l.Add(diag.Diagnostic{Code: "RP002", Pos: o.Key.Pos(), Message: "unknown key '" + o.Key.Value() + "'", Found: o.Key.Describe(), Hint: "did you mean: " + c})
				continue
			}
			eng.Options[o.Key.Value()] = val
			eng.Extra = append(eng.Extra, ast.Option{Pos: o.Key.Pos(), Name: o.Key.Value(), Text: val})
		}
	}
	r.Engines = append(r.Engines, eng)
}

// scalarText reads a value of the run section as it stands: `$NAME` is an
// environment variable there, not a parameter.
func (d *decoder) scalarText(n *yamlx.Node) (string, bool) {
	if n.Kind() != yamlx.Scalar {
		return "", false
	}
	return n.Value(), true
}

var enginesOf = map[ast.ResourceKind][]string{
	ast.SQLKind:      {"sqlite", "postgres", "mysql", "mariadb"},
	ast.KVKind:       {"redis", "memory", "nats"},
	ast.MemoryKind:   {"memory"},
	ast.QueueKind:    {"nats", "memory"},
	ast.LogKind:      {"nats", "memory"},
	ast.ProviderKind: {"stub"},
	ast.ClockKind:    {"memory"},
}

func (d *decoder) checkEngine(e *ast.Engine, pos diag.Pos) {
	known := enginesOf[e.Resource.Kind]
	for _, k := range known {
		if k == e.Engine {
			return
		}
	}
	dg := diag.Diagnostic{Code: "RP060", Pos: pos, Message: "unknown engine '" + e.Engine + "' for a " + e.Resource.Kind.String(), Found: "'" + e.Engine + "'",
		Expected: strings.Join(known, ", ")}
	if c, ok := diag.Closest(e.Engine, known); ok {
		dg.Hint = "did you mean: " + c
	}
	d.l.Add(dg)
}
