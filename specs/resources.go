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
