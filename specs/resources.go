package specs

import (
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/yamlx"
	"github.com/relplan/relplan/specs/ast"
)

var kindWords = []string{"sql", "kv", "memory", "queue", "log", "provider", "clock"}

// resourceKeys are the keys of each kind beside kind, about and hidden_retry;
// nil: any key that is a mapping is a method of a provider.
var resourceKeys = map[ast.ResourceKind][]string{
	ast.SQLKind:    {"isolation", "engine", "tables", "replica", "session"},
	ast.KVKind:     {"same_server_as"},
	ast.MemoryKind: {"per"},
	ast.QueueKind: {"delivery", "starts_with", "copies", "visibility", "max_deliveries", "dead_letter", "replay", "dedup", "order", "stale_ack",
		"same_server_as"},
	ast.LogKind:   {"delivery", "starts_with", "copies", "partitions", "partition_by", "order", "fenced", "reset", "keeps"},
	ast.ClockKind: {"at"},
}

// declareResources creates resources, tables and provider methods, so that
// everything else can name them.
func (d *decoder) declareResources() {
	k, n := d.root.Lookup("resources")
	if k == nil {
		return
	}
	for _, e := range d.mapping(n, k.Pos(), "a mapping from the name of a resource to what it is") {
		if !d.name(e.Key, "resource") {
			continue
		}
		name := e.Key.Value()
		if _, dup := d.ops[name]; dup {
			d.errorf(e.Key.Pos(), "RP006", "resource '%s' has the name of an operation", name)
		}
		v := d.sub(e.Value)
		if v.Kind() != yamlx.Mapping {
			d.wanted(v, e.Key.Pos(), "RP004", "a mapping that starts with kind:", "kinds: "+strings.Join(kindWords, ", "))
			d.declared[name] = true
			continue
		}
		if d.trap(v) {
			d.declared[name] = true
			continue
		}
		kk, kn := v.Lookup("kind")
		if kk == nil {
			dg := diag.Diagnostic{Code: "RP003", Pos: e.Key.Pos(), Message: "resource '" + name + "' has no kind:", Hint: "kinds: " + strings.Join(kindWords, ", ")}
			d.l.Add(dg)
			d.declared[name] = true
			d.declareTables(v, nil)
			continue
		}
		kind, ok := d.oneOf(kn, kk.Pos(), kindWords...)
		if !ok {
			d.declared[name] = true
			d.declareTables(v, nil)
			continue
		}
		r := &ast.Resource{Pos: e.Key.Pos(), Name: name}
		for i, w := range kindWords {
			if w == kind {
				r.Kind = ast.ResourceKind(i)
			}
		}
		d.newPart(r, v)
		d.resources[name] = r
		d.spec.Resources = append(d.spec.Resources, r)
	}
}

func (d *decoder) newPart(r *ast.Resource, v *yamlx.Node) {
	switch r.Kind {
	case ast.SQLKind:
		r.SQL = &ast.SQL{Engine: "postgres"}
		d.declareTables(v, r)
	case ast.KVKind, ast.MemoryKind:
		r.KV = &ast.KV{Key: &ast.Type{}, Value: &ast.Type{}}
	case ast.QueueKind, ast.LogKind:
		r.Queue = &ast.Queue{Delivery: "at_least_once", Partitions: 1}
		for _, f := range []string{"id", "op"} {
			r.Queue.Fields = append(r.Queue.Fields, &ast.Field{Pos: r.Pos, Name: f, Type: &ast.Type{}})
		}
	case ast.ProviderKind:
		r.Provider = &ast.Provider{}
		d.declareMethods(v, r)
	case ast.ClockKind:
		r.Clock = &ast.Clock{}
	}
}

func (d *decoder) declareTables(v *yamlx.Node, r *ast.Resource) {
	k, n := v.Lookup("tables")
	if k == nil {
		return
	}
	n = d.sub(n)
	if n.Kind() == yamlx.Sequence { // tables: [inbox, ledger]
		for _, i := range n.Items() {
			d.declareTable(i, r)
		}
		return
	}
	for _, e := range d.mapping(n, k.Pos(), "a mapping from the name of a table to its keys, {} for none") {
		d.declareTable(e.Key, r)
	}
}

func (d *decoder) declareTable(key *yamlx.Node, r *ast.Resource) {
	name := key.Value()
	if r == nil || !d.name(key, "table") {
		d.declared[name] = true
		return
	}
	if other, dup := d.tables[name]; dup {
		d.l.Add(diag.Diagnostic{Code: "RP006", Pos: key.Pos(), Message: "table '" + name + "' stands in '" + other.Resource.Name + "' already",
			Hint: "steps name a table alone: give it another name"})
		return
	}
	t := &ast.Table{Pos: key.Pos(), Name: name, Resource: r}
	d.tables[name] = t
	r.SQL.Tables = append(r.SQL.Tables, t)
}

var providerKeys = map[string]bool{"kind": true, "about": true, "hidden_retry": true, "late_requests": true, "can_arrive_late": true}

func (d *decoder) declareMethods(v *yamlx.Node, r *ast.Resource) {
	for _, e := range v.Entries() {
		name := e.Key.Value()
		if providerKeys[name] {
			continue
		}
		if e.Value.Kind() != yamlx.Mapping {
			dg := diag.Diagnostic{Code: "RP002", Pos: e.Key.Pos(), Message: "unknown key '" + name + "'", Found: e.Key.Describe()}
			if c, ok := diag.Closest(name, sortedKeys(providerKeys)); ok {
				dg.Hint = "did you mean: " + c
			} else {
				dg.Hint = "a method of the provider is a mapping: " + name + ": {effect: .., dedup_by: ..} or {by: ..}"
			}
			d.l.Add(dg)
			continue
		}
		if !d.name(e.Key, "method") {
			continue
		}
		m := &ast.Method{Pos: e.Key.Pos(), Name: name, Resource: r, Atomic: true}
		if k, _ := e.Value.Lookup("by"); k != nil {
			m.Kind = ast.Find
		} else if k, _ := e.Value.Lookup("undo"); k != nil {
			m.Kind = ast.Cancel
		}
		r.Provider.Methods = append(r.Provider.Methods, m)
		for _, key := range []string{"effect", "undo"} {
			if k, n := e.Value.Lookup(key); k != nil {
				if w, ok := d.word(n, k.Pos(), "the name of an effect"); ok && w != "none" {
					eff := d.effect(w, d.sub(n).Pos())
					if key == "effect" {
						m.Effect = eff
					} else {
						m.Undo = eff
						eff.Undone = true
					}
				}
			}
		}
	}
}

// effect gives the effect of that name, declaring it.
func (d *decoder) effect(name string, pos diag.Pos) *ast.Effect {
	if e, ok := d.effects[name]; ok {
		return e
	}
	e := &ast.Effect{Pos: pos, Name: name}
	d.effects[name] = e
	d.spec.Effects = append(d.spec.Effects, e)
	return e
}

// decodeResources reads everything about resources but the names.
func (d *decoder) decodeResources() {
	_, n := d.root.Lookup("resources")
	n = d.sub(n)
	for _, e := range n.Entries() {
		r, ok := d.resources[e.Key.Value()]
		if !ok || r.Pos != e.Key.Pos() {
			continue
		}
		v := d.sub(e.Value)
		if r.Kind != ast.ProviderKind {
			d.keys(v, append([]string{"kind", "about", "hidden_retry"}, resourceKeys[r.Kind]...)...)
		}
		if k, h := v.Lookup("hidden_retry"); k != nil {
			r.HiddenRetry, _ = d.number(h, k.Pos(), 0, 10)
		}
		switch r.Kind {
		case ast.SQLKind:
			d.decodeSQL(r, v)
		case ast.KVKind, ast.MemoryKind:
			d.decodeKV(r, v)
		case ast.QueueKind, ast.LogKind:
			d.decodeQueue(r, v)
		case ast.ProviderKind:
			d.decodeProvider(r, v)
		case ast.ClockKind:
			d.decodeClock(r, v)
		}
	}
	d.closeSameServer()
}

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

func (d *decoder) decodeKV(r *ast.Resource, v *yamlx.Node) {
	if k, n := v.Lookup("per"); k != nil {
		if w, _ := d.oneOf(n, k.Pos(), "instance", "process"); w == "process" {
			r.KV.Scope = ast.PerProcess
		}
	}
	if k, n := v.Lookup("same_server_as"); k != nil {
		for _, i := range d.list(n) {
			other := d.resource(i, k.Pos(), "kv or queue", ast.KVKind, ast.QueueKind)
			if other != nil && other != r {
				r.KV.SameServer = append(r.KV.SameServer, other)
			}
		}
	}
}

// resource reads the name of a resource of one of the kinds.
func (d *decoder) resource(n *yamlx.Node, at diag.Pos, what string, kinds ...ast.ResourceKind) *ast.Resource {
	n = d.sub(n)
	if n.Kind() != yamlx.Scalar {
		if n != nil || !d.l.HasErrors() {
			d.wanted(n, at, "RP004", "the name of a "+what, "")
		}
		return nil
	}
	return d.resourceNamed(n.Value(), n.Pos(), what, kinds...)
}

func kindNoun(k ast.ResourceKind) string {
	if k == ast.SQLKind {
		return "sql resource"
	}
	return k.String()
}

func (d *decoder) resourceNamed(name string, pos diag.Pos, what string, kinds ...ast.ResourceKind) *ast.Resource {
	if r, ok := d.resources[name]; ok {
		for _, k := range kinds {
			if r.Kind == k {
				return r
			}
		}
		d.l.Add(diag.Diagnostic{Code: "RP010", Pos: pos, Message: "'" + name + "' is a " + kindNoun(r.Kind) + ", expected a " + what,
			Found: "a " + kindNoun(r.Kind), Expected: "a " + what})
		return nil
	}
	var known []string
	for _, r := range d.spec.Resources {
		for _, k := range kinds {
			if r.Kind == k {
				known = append(known, r.Name)
			}
		}
	}
	if _, isTable := d.tables[name]; isTable {
		d.l.Add(diag.Diagnostic{Code: "RP010", Pos: pos, Message: "'" + name + "' is a table, expected a " + what, Expected: "a " + what})
		return nil
	}
	d.unknown(pos, "RP010", what, name, known)
	return nil
}

func (d *decoder) closeSameServer() {
	group := map[*ast.Resource]*ast.Resource{} // union-find
	var find func(r *ast.Resource) *ast.Resource
	find = func(r *ast.Resource) *ast.Resource {
		if p, ok := group[r]; ok && p != r {
			return find(p)
		}
		return r
	}
	partners := func(r *ast.Resource) *[]*ast.Resource {
		if r.KV != nil {
			return &r.KV.SameServer
		}
		if r.Queue != nil {
			return &r.Queue.SameServer
		}
		return nil
	}
	for _, r := range d.spec.Resources {
		if p := partners(r); p != nil {
			for _, o := range *p {
				group[find(o)] = find(r)
			}
		}
	}
	for _, r := range d.spec.Resources {
		p := partners(r)
		if p == nil {
			continue
		}
		*p = nil
		for _, o := range d.spec.Resources {
			if o != r && partners(o) != nil && find(o) == find(r) {
				*p = append(*p, o)
			}
		}
	}
}

func (d *decoder) decodeProvider(r *ast.Resource, v *yamlx.Node) {
	for _, key := range []string{"late_requests", "can_arrive_late"} {
		if k, n := v.Lookup(key); k != nil {
			r.Provider.CanArriveLate = d.flag(n, k.Pos())
		}
	}
	var exec *ast.Method
	for _, m := range r.Provider.Methods {
		if m.Kind == ast.Execute && exec == nil {
			exec = m
		}
	}
	for _, m := range r.Provider.Methods {
		d.decodeMethod(m, v.Get(m.Name), exec)
	}
}

var methodKeys = map[ast.MethodKind][]string{
	ast.Execute: {"about", "effect", "dedup_by", "compares", "keeps", "atomic"},
	ast.Find:    {"about", "by", "of", "lag", "not_found"},
	ast.Cancel:  {"about", "undo", "of", "dedup_by", "compares", "keeps", "atomic", "refuses_after"},
}

func (d *decoder) decodeMethod(m *ast.Method, v *yamlx.Node, exec *ast.Method) {
	d.keys(v, methodKeys[m.Kind]...)
	m.Of = exec
	if k, n := v.Lookup("of"); k != nil {
		if w, ok := d.word(n, k.Pos(), "a method"); ok {
			if m.Of = d.method(m.Resource, w, d.sub(n).Pos()); m.Of == m {
				m.Of = exec
			}
		}
	}
	if k, n := v.Lookup("dedup_by"); k != nil {
		if w, ok := d.word(n, k.Pos(), "a field of the request, or none"); ok && w != "none" {
			m.DedupBy = d.methodField(m, w, d.sub(n).Pos())
		}
	}
	if k, n := v.Lookup("compares"); k != nil {
		for _, i := range d.list(n) {
			if f := d.methodField(m, i.Value(), i.Pos()); f != nil {
				m.Compares = append(m.Compares, f)
			}
		}
	}
	if k, n := v.Lookup("keeps"); k != nil {
		m.Keeps = d.duration(n, k.Pos(), "keys of "+m.Resource.Name+"."+m.Name)
		if m.Keeps != nil && m.Keeps.None {
			m.Keeps = nil
		}
	}
	if k, n := v.Lookup("atomic"); k != nil {
		m.Atomic = d.flag(n, k.Pos())
	}
	if k, n := v.Lookup("refuses_after"); k != nil && d.flag(n, k.Pos()) {
		m.RefusesAfter = m.Of
	}
	if m.Kind == ast.Find {
		d.decodeFind(m, v)
	} else {
		m.Of = map[bool]*ast.Method{true: m.Of}[m.Kind == ast.Cancel]
	}
}

func (d *decoder) decodeFind(m *ast.Method, v *yamlx.Node) {
	if m.Of == nil {
		d.errorf(m.Pos, "RP003", "'%s' looks up what another method did, but %s has no method with an effect", m.Name, m.Resource.Name)
		return
	}
	k, n := v.Lookup("by")
	if w, ok := d.word(n, k.Pos(), "a field of the request, or receipt_id"); ok {
		carried := false
		for _, f := range m.Of.Args {
			carried = carried || f.Name == w
		}
		if !carried && (w == "receipt_id" || w == "receipt") {
			m.ByReceipt = true
		}
		m.By = d.methodField(m, w, d.sub(n).Pos())
	}
	if k, n := v.Lookup("lag"); k != nil {
		m.Lag = d.flag(n, k.Pos())
	}
	if k, n := v.Lookup("not_found"); k != nil {
		w, _ := d.oneOf(n, k.Pos(), "open", "final")
		m.NotFoundFinal = w == "final"
	}
}

// methodField gives the field of the request; fields exist by being sent in
// some call, and a field that no call sends is created with an empty type.
func (d *decoder) methodField(m *ast.Method, name string, pos diag.Pos) *ast.Field {
	for _, f := range m.Args {
		if f.Name == name {
			return f
		}
	}
	f := &ast.Field{Pos: pos, Name: name, Type: &ast.Type{}}
	m.Args = append(m.Args, f)
	return f
}

func (d *decoder) method(r *ast.Resource, name string, pos diag.Pos) *ast.Method {
	var known []string
	for _, m := range r.Provider.Methods {
		if m.Name == name {
			return m
		}
		known = append(known, m.Name)
	}
	d.unknown(pos, "RP010", "method of "+r.Name, name, known)
	return nil
}

func (d *decoder) decodeClock(r *ast.Resource, v *yamlx.Node) {
	k, n := v.Lookup("at")
	if k == nil {
		d.errorf(r.Pos, "RP003", "a clock names its breakpoints: at: [7d, 30d]")
		return
	}
	for _, i := range d.list(n) {
		dur := d.duration(i, k.Pos(), "a point of "+r.Name)
		if dur == nil {
			continue
		}
		if l := r.Clock.Breakpoints; len(l) > 0 && l[len(l)-1].Length >= dur.Length {
			d.errorf(i.Pos(), "RP043", "breakpoints stand in ascending order")
			continue
		}
		r.Clock.Breakpoints = append(r.Clock.Breakpoints, dur)
	}
}
