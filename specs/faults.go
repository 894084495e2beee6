package specs

import (
	"fmt"
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/quantity"
	"github.com/relplan/relplan/internal/yamlx"
	"github.com/relplan/relplan/specs/ast"
)

// faultKinds are the faults of the language by name.
var faultKinds = map[string]ast.FaultKind{
	"crash": ast.FaultCrash, "redelivery": ast.FaultRedelivery, "response_lost": ast.FaultResponseLost, "request_lost": ast.FaultRequestLost,
	"late_request": ast.FaultLateRequest, "stall": ast.FaultStall, "restart": ast.FaultRestart, "failover": ast.FaultFailover,
	"clock_jump": ast.FaultClockJump, "retention_expires": ast.FaultRetentionExpires, "error": ast.FaultError, "lock_timeout": ast.FaultLockTimeout,
	"session_lost": ast.FaultSessionLost, "operator_replay": ast.FaultOperatorReplay, "rebalance": ast.FaultRebalance, "offset_reset": ast.FaultOffsetReset,
}

// FaultNames lists the faults of the language, sorted.
func FaultNames() []string { return sortedKeys(faultKinds) }

// faultSubject says what the `of:` of a fault names.
type faultSubject uint8

const (
	ofNothing   faultSubject = iota
	ofProcess                // processes
	ofResources              // resources of the kinds given
	ofTables
	ofWorkers // processes, or resources: steps on them
)

var faultOf = map[ast.FaultKind]struct {
	subject faultSubject
	what    string
	kinds   []ast.ResourceKind
	must    bool
}{
	ast.FaultCrash:            {ofProcess, "process", nil, false},
	ast.FaultStall:            {ofProcess, "process", nil, false},
	ast.FaultRedelivery:       {ofResources, "queue or log", []ast.ResourceKind{ast.QueueKind, ast.LogKind}, false},
	ast.FaultResponseLost:     {ofResources, "resource", allKinds, false},
	ast.FaultRequestLost:      {ofResources, "resource", allKinds, false},
	ast.FaultLateRequest:      {ofResources, "resource", allKinds, false},
	ast.FaultError:            {ofResources, "resource", allKinds, false},
	ast.FaultRestart:          {ofResources, "kv, queue, log or sql resource", []ast.ResourceKind{ast.KVKind, ast.QueueKind, ast.LogKind, ast.SQLKind}, true},
	ast.FaultFailover:         {ofResources, "kv or sql resource", []ast.ResourceKind{ast.KVKind, ast.SQLKind}, true},
	ast.FaultClockJump:        {ofProcess, "process", nil, true},
	ast.FaultRetentionExpires: {ofTables, "table", nil, true},
	ast.FaultLockTimeout:      {ofResources, "sql resource", []ast.ResourceKind{ast.SQLKind}, false},
	ast.FaultSessionLost:      {ofResources, "sql resource", []ast.ResourceKind{ast.SQLKind}, false},
	ast.FaultOperatorReplay:   {ofResources, "queue", []ast.ResourceKind{ast.QueueKind}, true},
	ast.FaultRebalance:        {ofResources, "log", []ast.ResourceKind{ast.LogKind}, false},
	ast.FaultOffsetReset:      {ofResources, "log", []ast.ResourceKind{ast.LogKind}, false},
}

var allKinds = []ast.ResourceKind{ast.SQLKind, ast.KVKind, ast.MemoryKind, ast.QueueKind, ast.LogKind, ast.ProviderKind, ast.ClockKind}

// decodeFaults reads the budgets, with those of the variant in place of the
// entries of the same name, and those of the caller in place of both.
func (d *decoder) decodeFaults(v variantNode, o Options) {
	custom := d.customNames()
	byName := map[string][]*ast.Fault{}
	var order []string
	read := func(n *yamlx.Node, at diag.Pos) {
		for _, e := range d.mapping(n, at, "a mapping from fault to budget, such as {crash: 1}") {
			name := e.Key.Value()
			kind, known := faultKinds[name]
			if !known {
				if !custom[name] {
					d.unknownFault(e.Key, custom)
					d.faults[name] = nil
					continue
				}
				kind = ast.FaultCustom
			}
			if _, seen := byName[name]; !seen {
				order = append(order, name)
			}
			byName[name] = nil
			for _, item := range d.list(e.Value) {
				if f := d.fault(kind, name, e.Key, item); f != nil && f.Max > 0 {
					byName[name] = append(byName[name], f)
				}
			}
		}
	}
	if k, n := d.root.Lookup("faults"); k != nil {
		read(n, k.Pos())
	}
	if v.node != nil {
		if k, n := v.node.Lookup("faults"); k != nil {
			read(n, k.Pos())
		}
	}
	for _, name := range sortedKeys(o.Faults) {
		if _, seen := byName[name]; !seen {
			order = append(order, name)
			byName[name] = nil
		}
		d.overrideBudget(byName, name, o, custom)
	}
	for _, name := range order {
		d.faults[name] = byName[name]
		d.spec.Faults = append(d.spec.Faults, byName[name]...)
	}
}

func (d *decoder) overrideBudget(byName map[string][]*ast.Fault, name string, o Options, custom map[string]bool) {
	max := o.Faults[name]
	switch {
	case max == 0:
		byName[name] = nil
	case len(byName[name]) > 0:
		for _, f := range byName[name] {
			f.Max = max
		}
	default:
		kind, known := faultKinds[name]
		if !known {
			kind = ast.FaultCustom
			if !custom[name] {
				d.unknown(diag.Pos{File: d.file}, "RP040", "fault", name, append(sortedKeys(faultKinds), sortedKeys(custom)...))
				return
			}
		}
		f := &ast.Fault{Pos: d.root.Pos(), Kind: kind, Name: name, Max: max}
		d.restrict(f, o.FaultsOf[name])
		if known && faultOf[kind].must && len(f.Tables)+len(f.Resources)+len(f.Processes) == 0 && !d.everything(f) {
			d.errorf(diag.Pos{File: d.file}, "RP041", "the fault '%s' cannot happen here: the spec has no %s", name, faultOf[kind].what)
			return
		}
		byName[name] = []*ast.Fault{f}
	}
}

// everything lets a fault of the caller happen to all it can happen to; false
// if there is nothing.
func (d *decoder) everything(f *ast.Fault) bool {
	rule := faultOf[f.Kind]
	for _, r := range d.spec.Resources {
		switch {
		case rule.subject == ofTables && r.SQL != nil:
			f.Tables = append(f.Tables, r.SQL.Tables...)
		case rule.subject == ofResources && hasKind(rule.kinds, r.Kind):
			f.Resources = append(f.Resources, r)
		}
	}
	if rule.subject == ofProcess {
		f.Processes = append(f.Processes, d.spec.Processes...)
	}
	return len(f.Tables)+len(f.Resources)+len(f.Processes) > 0
}

// restrict limits a fault of the caller to the tables and key spaces it names.
func (d *decoder) restrict(f *ast.Fault, names []string) {
	for _, name := range names {
		if t, ok := d.tables[name]; ok {
			f.Tables = append(f.Tables, t)
		} else if r, ok := d.resources[name]; ok {
			f.Resources = append(f.Resources, r)
		}
	}
}

func (d *decoder) unknownFault(key *yamlx.Node, custom map[string]bool) {
	name := key.Value()
	known := append(sortedKeys(faultKinds), sortedKeys(custom)...)
	dg := diag.Diagnostic{Code: "RP040", Pos: key.Pos(), Message: "unknown fault '" + name + "'", Found: key.Describe()}
	if c, ok := suggest(name, known); ok {
		dg.Hint = "did you mean: " + c
	} else {
		dg.Hint = "a fault of your own starts a process: on: {fault: " + name + "}; known: " + strings.Join(known, ", ")
	}
	d.l.Add(dg)
}

func (d *decoder) fault(kind ast.FaultKind, name string, key, n *yamlx.Node) *ast.Fault {
	n = d.sub(n)
	f := &ast.Fault{Pos: key.Pos(), Kind: kind, Name: name, Max: 1, LosesLast: 1}
	if n.Kind() != yamlx.Mapping {
		c, ok := d.number(n, key.Pos(), 0, maxBudget)
		f.Max = c
		if ok && c > 0 && kind != ast.FaultCustom && faultOf[kind].must {
			d.l.Add(diag.Diagnostic{Code: "RP041", Pos: key.Pos(), Message: fmt.Sprintf("'%s' does not say of which %s", name, faultOf[kind].what),
				Hint: fmt.Sprintf("%s: {of: .., max: %d}", name, c)})
		}
		return f
	}
	known := []string{"of", "max"}
	switch kind {
	case ast.FaultRestart:
		known = append(known, "loses")
	case ast.FaultFailover:
		known = append(known, "loses_last")
	case ast.FaultClockJump:
		known = append(known, "by")
	}
	d.keys(n, known...)
	if k, m := n.Lookup("max"); k != nil {
		f.Max, _ = d.number(m, k.Pos(), 0, maxBudget)
	}
	if k, of := n.Lookup("of"); k != nil {
		d.faultOf(f, of, k.Pos())
	} else if kind != ast.FaultCustom && faultOf[kind].must {
		d.l.Add(diag.Diagnostic{Code: "RP041", Pos: key.Pos(), Message: fmt.Sprintf("'%s' does not say of which %s", name, faultOf[kind].what), Hint: name + ": {of: .., max: 1}"})
	}
	if k, l := n.Lookup("loses"); k != nil {
		w, _ := d.oneOf(l, k.Pos(), "memory", "nothing")
		f.LosesMemory = w == "memory"
	}
	if k, l := n.Lookup("loses_last"); k != nil {
		if c, ok := d.number(l, k.Pos(), 1, 4); ok {
			f.LosesLast = c
		}
	}
	if k, b := n.Lookup("by"); k != nil {
		if w, ok := d.word(b, k.Pos(), "a length of time"); ok {
			if dur, known := d.durations[w]; known {
				f.By = dur.Length
			} else if by, err := quantity.ParseDuration(w); err == nil && by > 0 {
				f.By = by
			} else {
				d.wanted(d.sub(b), k.Pos(), "RP043", "a length of time above zero", "")
			}
		}
	}
	return f
}

func (d *decoder) faultOf(f *ast.Fault, of *yamlx.Node, at diag.Pos) {
	rule := faultOf[f.Kind]
	if f.Kind == ast.FaultCustom {
		d.errorf(at, "RP041", "a fault of your own has a number only: %s: 1", f.Name)
		return
	}
	for _, i := range d.list(of) {
		if i.Kind() != yamlx.Scalar {
			d.wanted(i, at, "RP041", "the name of a "+rule.what, "")
			continue
		}
		name := i.Value()
		switch rule.subject {
		case ofProcess:
			if p := d.process(name, i.Pos()); p != nil {
				f.Processes = append(f.Processes, p)
			}
		case ofTables:
			if t, ok := d.tables[name]; ok {
				f.Tables = append(f.Tables, t)
			} else if r, ok := d.resources[name]; ok && r.SQL != nil {
				f.Tables = append(f.Tables, r.SQL.Tables...)
			} else if ok && r.KV != nil {
				f.Resources = append(f.Resources, r)
			} else {
				d.tableNamed(name, i.Pos())
			}
		default:
			if t, ok := d.tables[name]; ok && hasKind(rule.kinds, ast.SQLKind) {
				f.Tables = append(f.Tables, t) // steps on that table only
				continue
			}
			if r := d.resourceNamed(name, i.Pos(), rule.what, rule.kinds...); r != nil {
				f.Resources = append(f.Resources, r)
			}
		}
	}
}

func hasKind(ks []ast.ResourceKind, k ast.ResourceKind) bool {
	for _, x := range ks {
		if x == k {
			return true
		}
	}
	return false
}

// assumeForms are the assumptions that remove transitions.
var assumeForms = []string{"ttl of K outlives its holder", "visibility of Q outlives its holder", "lease of T outlives its holder",
	"downtime of P < D", "key of P.m is never reused", "A < B between durations"}

// decodeAssume reads the assumptions of the file and of the variant.
func (d *decoder) decodeAssume(v variantNode) {
	read := func(n *yamlx.Node) {
		for _, i := range d.list(n) {
			if i.Kind() != yamlx.Scalar {
				d.wanted(i, i.Pos(), "RP042", "a sentence", "")
				continue
			}
			if a := d.assumption(i); a != nil {
				d.spec.Assume = append(d.spec.Assume, a)
			}
		}
	}
	if k, n := d.root.Lookup("assume"); k != nil {
		read(n)
	}
	if v.node != nil {
		if k, n := v.node.Lookup("assume"); k != nil {
			read(n)
		}
	}
}

func (d *decoder) assumption(n *yamlx.Node) *ast.Assumption {
	a := &ast.Assumption{Pos: n.Pos(), Text: strings.Join(strings.Fields(n.Value()), " ")}
	w := strings.Fields(n.Value())
	at := func(i int) diag.Pos { return wordAt(n, i) }
	ends := func(from int, rest string) bool { return len(w) > from && strings.Join(w[from:], " ") == rest }
	switch {
	case len(w) > 2 && w[1] == "of" && ends(3, "outlives its holder"):
		switch w[0] {
		case "ttl":
			a.Kind = ast.AssumeTTL
			a.Resource = d.resourceNamed(w[2], at(2), "kv", ast.KVKind)
		case "visibility":
			a.Kind = ast.AssumeVisibility
			a.Resource = d.resourceNamed(w[2], at(2), "queue", ast.QueueKind)
		case "lease":
			a.Kind = ast.AssumeLease
			if a.Table = d.tableNamed(w[2], at(2)); a.Table != nil && a.Table.Lease == nil {
				d.errorf(at(2), "RP042", "'%s' has no lease", w[2])
			}
		default:
			d.wanted(n, n.Pos(), "RP042", "'ttl of', 'visibility of' or 'lease of'", "")
		}
	case len(w) == 5 && w[0] == "downtime" && w[1] == "of" && w[3] == "<":
		a.Kind = ast.AssumeDowntime
		a.Process = d.process(w[2], at(2))
		a.More = d.namedDuration(w[4], at(4))
	case len(w) > 3 && w[0] == "key" && w[1] == "of" && ends(3, "is never reused"):
		a.Kind = ast.AssumeKeyNotReused
		prov, method, _ := strings.Cut(w[2], ".")
		if a.Resource = d.resourceNamed(prov, at(2), "provider", ast.ProviderKind); a.Resource != nil {
			a.Method = d.method(a.Resource, method, at(2))
		}
	case len(w) >= 3 && w[1] == "<" && (len(w) == 3 || ends(3, "between durations")):
		a.Kind = ast.AssumeOrder
		a.Less, a.More = d.namedDuration(w[0], at(0)), d.namedDuration(w[2], at(2))
	default:
		d.freeAssumption(n, w)
	}
	return a
}

func (d *decoder) namedDuration(name string, pos diag.Pos) *ast.Duration {
	if dur, ok := d.durations[name]; ok {
		return dur
	}
	if l, err := quantity.ParseDuration(name); err == nil && l > 0 {
		return &ast.Duration{Pos: pos, Name: name, Inline: true, Length: l}
	}
	d.unknown(pos, "RP043", "duration", name, sortedKeys(d.durations))
	return nil
}

// freeAssumption is text that prunes nothing; near misses of a form are warned about.
func (d *decoder) freeAssumption(n *yamlx.Node, w []string) {
	if len(w) == 0 {
		return
	}
	switch w[0] {
	case "ttl", "visibility", "lease", "downtime", "key":
		d.l.Add(diag.Diagnostic{Code: "RP142", Severity: diag.Warning, Pos: n.Pos(), Message: "this assumption is text only: it removes no history",
			Hint: "forms with a meaning: " + strings.Join(assumeForms, "; ")})
	}
}
