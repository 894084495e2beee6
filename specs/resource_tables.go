package specs

import (
	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/yamlx"
	"github.com/relplan/relplan/specs/ast"
)

func (d *decoder) decodeSQL(r *ast.Resource, v *yamlx.Node) {
	if k, n := v.Lookup("isolation"); k != nil {
		w, _ := d.oneOf(n, k.Pos(), "read_committed", "repeatable_read", "serializable")
		for i := ast.ReadCommitted; i <= ast.Serializable; i++ {
			if i.String() == w {
				r.SQL.Isolation = i
			}
		}
	}
	if k, n := v.Lookup("engine"); k != nil {
		if w, ok := d.oneOf(n, k.Pos(), "postgres", "mysql", "mariadb", "sqlite"); ok {
			r.SQL.Engine = w
		}
	}
	if k, n := v.Lookup("session"); k != nil {
		w, _ := d.oneOf(n, k.Pos(), "pooled", "pinned")
		r.SQL.SessionPooled = w == "pooled"
	}
	if k, n := v.Lookup("replica"); k != nil {
		r.SQL.Replica, r.SQL.ReplicaLag = true, 1
		n = d.sub(n)
		if n.Kind() == yamlx.Mapping {
			d.keys(n, "lag")
			if k, lag := n.Lookup("lag"); k != nil {
				if c, ok := d.number(lag, k.Pos(), 1, 8); ok {
					r.SQL.ReplicaLag = c
				}
			}
		} else if on := d.flag(n, k.Pos()); !on {
			r.SQL.Replica = false
		}
	}
	_, n := v.Lookup("tables")
	n = d.sub(n)
	for _, e := range n.Entries() {
		t := d.tables[e.Key.Value()]
		if t == nil || t.Resource != r || t.Pos != e.Key.Pos() {
			continue
		}
		if tv := d.sub(e.Value); tv.Kind() != yamlx.Null {
			d.decodeTable(t, tv)
		}
	}
}

var tableKeys = []string{"about", "columns", "unique", "sequence", "lease", "token", "keeps", "partition_by", "shard_by", "rows"}

func (d *decoder) decodeTable(t *ast.Table, v *yamlx.Node) {
	if v.Kind() != yamlx.Mapping {
		d.wanted(v, t.Pos, "RP004", "a mapping with unique:, lease: and the like, {} for none", "")
		return
	}
	if d.trap(v) {
		return
	}
	d.keys(v, tableKeys...)
	column := func(key string) *ast.Column {
		k, n := v.Lookup(key)
		if k == nil {
			return nil
		}
		w, ok := d.word(n, k.Pos(), "a column")
		if !ok {
			return nil
		}
		return d.column(t, w, d.sub(n).Pos())
	}
	t.Sequence, t.Token = column("sequence"), column("token")
	if t.Sequence != nil {
		d.inf.sequence(t.Sequence)
	}
	t.PartitionBy, t.ShardBy = column("partition_by"), column("shard_by")
	if k, n := v.Lookup("keeps"); k != nil {
		t.Keeps = d.duration(n, k.Pos(), "retention of "+t.Name)
		if t.Keeps != nil && t.Keeps.None {
			t.Keeps = nil
		}
	}
	if k, n := v.Lookup("rows"); k != nil {
		t.MaxRows, _ = d.number(n, k.Pos(), 1, 64)
	}
	if k, n := v.Lookup("unique"); k != nil {
		for _, item := range d.list(n) {
			if u := d.unique(t, item); u != nil {
				t.Unique = append(t.Unique, u)
			}
		}
	}
	if k, n := v.Lookup("lease"); k != nil {
		d.lease(t, n, k.Pos())
	}
}

// column gives the column of that name or says that there is none.
func (d *decoder) column(t *ast.Table, name string, pos diag.Pos) *ast.Column {
	if c := t.Column(name); c != nil {
		return c
	}
	var known []string
	for _, c := range t.Columns {
		known = append(known, c.Name)
	}
	d.unknown(pos, "RP013", "column of "+t.Name, name, known)
	return nil
}

func (d *decoder) unique(t *ast.Table, n *yamlx.Node) *ast.Unique {
	u := &ast.Unique{Pos: n.Pos()}
	switch n.Kind() {
	case yamlx.Scalar:
		c := d.column(t, n.Value(), n.Pos())
		if c == nil {
			return nil
		}
		u.Columns = []*ast.Column{c}
	case yamlx.Mapping:
		if d.trap(n) {
			return nil
		}
		d.keys(n, "columns", "where")
		k, cols := n.Lookup("columns")
		if k == nil {
			d.errorf(n.Pos(), "RP003", "a uniqueness constraint names its columns: {columns: [a, b]}")
			return nil
		}
		for _, i := range d.list(cols) {
			if c := d.column(t, i.Value(), i.Pos()); c != nil {
				u.Columns = append(u.Columns, c)
			}
		}
		if k, w := n.Lookup("where"); k != nil {
			d.where(&u.Where, w, k.Pos(), scope{d: d, table: t, columns: true, bare: true})
		}
		if len(u.Columns) == 0 {
			return nil
		}
	case yamlx.Sequence:
		d.l.Add(diag.Diagnostic{Code: "RP004", Pos: n.Pos(), Message: "a list inside unique: each entry of the list is one constraint",
			Hint: "for one constraint over several columns write: {columns: [a, b]}"})
		return nil
	default:
		d.wanted(n, t.Pos, "RP004", "a column or {columns: [a, b]}", "")
		return nil
	}
	for _, c := range []*ast.Column{t.PartitionBy, t.ShardBy} {
		if c == nil {
			continue
		}
		in := false
		for _, x := range u.Columns {
			in = in || x == c
		}
		if !in {
			u.Scope = append(u.Scope, c)
		}
	}
	return u
}

func (d *decoder) lease(t *ast.Table, n *yamlx.Node, at diag.Pos) {
	n = d.sub(n)
	if n.Kind() != yamlx.Mapping {
		d.wanted(n, at, "RP004", "{while: {state: CLAIMED}, holder: .., lasts: 30s, then: {state: NEW}}", "")
		return
	}
	d.keys(n, "while", "holder", "lasts", "then", "ends")
	l := &ast.Lease{Pos: n.Pos()}
	for _, part := range []string{"while", "then", "lasts"} {
		if k, _ := n.Lookup(part); k == nil {
			if d.lacks(n, part) {
				d.errorf(n.Pos(), "RP003", "the lease of %s has no '%s'", t.Name, part)
			}
			return
		}
	}
	sc := scope{d: d, table: t}
	l.While = d.cells(n.Get("while"), n.Pos(), cellTable{t: t}, sc)
	l.Then = d.cells(n.Get("then"), n.Pos(), cellTable{t: t, assign: true}, sc)
	l.Lasts = d.duration(n.Get("lasts"), n.Pos(), "lease of "+t.Name)
	if k, h := n.Lookup("holder"); k != nil {
		if w, ok := d.word(h, k.Pos(), "a column"); ok && w != "none" {
			l.Holder = d.column(t, w, d.sub(h).Pos())
		}
	}
	if k, e := n.Lookup("ends"); k != nil {
		if w, _ := d.oneOf(e, k.Pos(), "by_sweep", "at_claim"); w == "at_claim" {
			l.Ends = ast.EndsAtClaim
		}
	}
	t.Lease = l
}
