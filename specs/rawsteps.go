package specs

import (
	"fmt"
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/yamlx"
	"github.com/relplan/relplan/specs/ast"
)

// rawProcess is a process before its names are resolved.
type rawProcess struct {
	node   *yamlx.Node
	steps  []*rawStep
	labels map[string]labelAt
}

// labelAt is where a label leads: to a step, or to the end of a list.
type labelAt struct {
	step  *ast.Step // nil: the end of the block, or of the process
	block *ast.Step
	pos   diag.Pos
}

// rawStep is a step with its nodes by key.
type rawStep struct {
	step *ast.Step
	info *verbInfo
	node *yamlx.Node
	verb *yamlx.Node // the value of the verb
	do   []*rawStep
	bad  bool // an error was reported: leave it out of what depends on it
}

func (r *rawStep) arg(key string) (k, v *yamlx.Node) { return r.node.Lookup(key) }

func (d *decoder) declareProcesses() {
	k, n := d.root.Lookup("processes")
	if k == nil {
		d.missing("processes", "say who does what: processes: {consumer: {on: .., steps: [..]}}")
		return
	}
	for _, e := range d.mapping(n, k.Pos(), "a mapping from the name of a process to what it does") {
		if !d.name(e.Key, "process") {
			continue
		}
		v := d.sub(e.Value)
		if v.Kind() != yamlx.Mapping {
			d.wanted(v, e.Key.Pos(), "RP004", "a mapping with on: and steps:", "")
			d.declared[e.Key.Value()] = true
			continue
		}
		if d.trap(v) {
			continue
		}
		d.keys(v, "about", "only", "instances", "on", "steps")
		p := &ast.Process{Pos: e.Key.Pos(), Name: e.Key.Value(), Instances: 1}
		raw := &rawProcess{node: v, labels: map[string]labelAt{}}
		d.rawSteps(p, raw, v)
		if !d.only(v) {
			d.declared[p.Name] = true
			d.excluded = append(d.excluded, raw.steps...)
			continue
		}
		if k, n := v.Lookup("instances"); k != nil {
			if c, ok := d.number(n, k.Pos(), 1, maxInstances); ok {
				p.Instances = c
			}
		}
		d.raw[p] = raw
		d.procs[p.Name] = p
		d.spec.Processes = append(d.spec.Processes, p)
	}
	if len(d.spec.Processes) == 0 && !d.l.HasErrors() {
		d.errorf(k.Pos(), "RP003", "no process remains: nothing happens")
	}
}

// rawSteps reads the shape of the steps and numbers them.
func (d *decoder) rawSteps(p *ast.Process, raw *rawProcess, v *yamlx.Node) {
	k, n := v.Lookup("steps")
	if k == nil {
		if c, _ := v.Lookup("step"); c == nil {
			d.errorf(p.Pos, "RP003", "process '%s' has no steps:", p.Name)
		}
		return
	}
	if n = d.sub(n); n.Kind() != yamlx.Sequence {
		d.wanted(n, k.Pos(), "RP004", "a list of steps", "each step starts with '- verb:'")
		return
	}
	raw.steps = d.stepList(p, raw, n, nil)
	for _, r := range raw.steps {
		p.Steps = append(p.Steps, r.step)
	}
	if len(p.All) > maxSteps {
		d.errorf(k.Pos(), "RP004", "more than %d steps in one process", maxSteps)
	}
}

func (d *decoder) stepList(p *ast.Process, raw *rawProcess, list *yamlx.Node, block *ast.Step) []*rawStep {
	var out []*rawStep
	type pending struct {
		name string
		pos  diag.Pos
	}
	var labels []pending
	bind := func(to *ast.Step) {
		for _, l := range labels {
			if other, dup := raw.labels[l.name]; dup {
				d.l.Add(diag.Diagnostic{Code: "RP006", Pos: l.pos, Message: "label '" + l.name + "' stands twice in " + p.Name,
					Hint: fmt.Sprintf("the first one stands at line %d", other.pos.Line)})
				continue
			}
			raw.labels[l.name] = labelAt{step: to, block: block, pos: l.pos}
		}
		labels = nil
	}
	for _, item := range list.Items() {
		item = d.sub(item)
		label, labelPos := "", diag.Pos{}
		if k, at := item.Lookup("at"); k != nil {
			if w, ok := d.word(at, k.Pos(), "a label"); ok && d.name(d.sub(at), "label") {
				label, labelPos = w, d.sub(at).Pos()
				labels = append(labels, pending{w, labelPos})
			}
		}
		at := len(p.All)
		r := d.rawStep(p, raw, item, block)
		if item.Kind() == yamlx.Mapping && !d.only(item) {
			p.All = p.All[:at]
			if r != nil {
				d.excluded = append(d.excluded, r)
			}
			continue
		}
		if r == nil {
			continue
		}
		r.step.Label = label
		if label == "end" && (r.step.Verb != ast.VerbStop || block != nil || item.Get("when") != nil) {
			d.l.Add(diag.Diagnostic{Code: "RP017", Pos: labelPos, Message: "the label 'end' is predefined: it is the end of the process",
				Hint: "jump to it without defining it, or give this step another label"})
		}
		r.step.Index = len(out)
		bind(r.step)
		out = append(out, r)
	}
	bind(nil)
	return out
}

// rawStep reads one step; nil after an error.
func (d *decoder) rawStep(p *ast.Process, raw *rawProcess, n *yamlx.Node, block *ast.Step) *rawStep {
	if n.Kind() != yamlx.Mapping {
		hint := ""
		if v := n.Value(); verbs[strings.Fields(v + " x")[0]] != nil {
			hint = "write the verb as a key: " + verbs[strings.Fields(v)[0]].example
		}
		d.wanted(n, n.Pos(), "RP015", "a step, a mapping that starts with a verb", hint)
		return nil
	}
	if d.trap(n) {
		return nil
	}
	key := d.verbOf(n)
	if key == nil {
		return nil
	}
	info := verbs[key.Value()]
	s := &ast.Step{Pos: key.Pos(), ID: len(p.All), Verb: info.verb, Process: p, Block: block}
	p.All = append(p.All, s)
	r := &rawStep{step: s, info: info, node: n, verb: d.sub(n.Get(key.Value()))}
	s.Subject = r.verb.Value()
	d.stepKeysOf(r, key.Value())
	for _, m := range info.must {
		if k, _ := n.Lookup(m); k == nil && d.lacks(n, m) {
			d.l.Add(diag.Diagnostic{Code: "RP003", Pos: key.Pos(), Message: fmt.Sprintf("'%s' has no '%s'", key.Value(), m), Hint: info.example})
			r.bad = true
		}
	}
	if s.Verb == ast.VerbTransaction || s.Verb == ast.VerbScript {
		if block != nil {
			d.errorf(key.Pos(), "RP016", "a %s inside a %s: blocks do not nest", s.Verb, block.Verb)
		}
		if k, do := n.Lookup("do"); k != nil {
			if do = d.sub(do); do.Kind() != yamlx.Sequence {
				d.wanted(do, k.Pos(), "RP004", "a list of steps", "")
			} else {
				r.do = d.stepList(p, raw, do, s)
				for _, c := range r.do {
					s.Do = append(s.Do, c.step)
				}
			}
		}
	}
	return r
}

// verbOf gives the key that is the verb, or reports what is wrong.
func (d *decoder) verbOf(n *yamlx.Node) *yamlx.Node {
	var found []*yamlx.Node
	for _, e := range n.Entries() {
		if verbs[e.Key.Value()] != nil {
			found = append(found, e.Key)
		}
	}
	if len(found) > 1 { // `lock` is also an argument of select
		kept := found[:0:0]
		for _, k := range found {
			if k.Value() != "lock" || n.Get("select") == nil {
				kept = append(kept, k)
			}
		}
		found = kept
	}
	switch len(found) {
	case 1:
		return found[0]
	case 0:
		d.noVerb(n)
		return nil
	}
	d.l.Add(diag.Diagnostic{Code: "RP015", Pos: found[1].Pos(), Message: fmt.Sprintf("two verbs in one step: '%s' and '%s'", found[0].Value(), found[1].Value()),
		Hint: "each is a round trip of its own: write two steps, each starting with '- '"})
	return nil
}

func (d *decoder) noVerb(n *yamlx.Node) {
	known := map[string]bool{"at": true, "only": true}
	for _, v := range verbs {
		for _, k := range v.allowed() {
			known[k] = true
		}
	}
	for _, e := range n.Entries() {
		if known[e.Key.Value()] {
			continue
		}
		dg := diag.Diagnostic{Code: "RP014", Pos: e.Key.Pos(), Message: "unknown verb '" + e.Key.Value() + "'", Found: e.Key.Describe()}
		if c, ok := suggest(e.Key.Value(), verbOrder); ok {
			dg.Hint = "did you mean: " + c
		} else {
			dg.Hint = "verbs: " + strings.Join(verbOrder, ", ")
		}
		d.l.Add(dg)
		return
	}
	dg := diag.Diagnostic{Code: "RP015", Pos: n.Pos(), Message: "a step without a verb", Hint: "verbs: " + strings.Join(verbOrder, ", ")}
	if len(n.Entries()) > 0 {
		dg.Pos = n.Entries()[0].Key.Pos()
		if w := verbsWith(n.Entries()[len(n.Entries())-1].Key.Value()); len(w) > 0 && len(w) < 6 {
			dg.Hint = fmt.Sprintf("'%s' belongs to: %s; is the '-' of this line one too many?", n.Entries()[len(n.Entries())-1].Key.Value(), strings.Join(w, ", "))
		}
	}
	d.l.Add(dg)
}

// stepKeysOf reports keys that do not belong to the verb.
func (d *decoder) stepKeysOf(r *rawStep, verb string) {
	allowed := r.info.allowed()
	set := map[string]bool{}
	for _, a := range allowed {
		set[a] = true
	}
	for _, e := range r.node.Entries() {
		key := e.Key.Value()
		if set[key] {
			continue
		}
		dg := diag.Diagnostic{Code: "RP019", Pos: e.Key.Pos(), Message: fmt.Sprintf("'%s' does not belong to '%s'", key, verb), Found: e.Key.Describe()}
		if c, ok := diag.Closest(key, allowed); ok {
			dg.Message = fmt.Sprintf("unknown key '%s' of '%s'", key, verb)
			dg.Hint = "did you mean: " + c
		} else if others := verbsWith(key); len(others) > 0 {
			dg.Hint = fmt.Sprintf("'%s' belongs to: %s", key, strings.Join(others, ", "))
		} else {
			dg.Hint = "keys of '" + verb + "': " + strings.Join(allowed, ", ")
		}
		d.l.Add(dg)
	}
}

// collectNames declares what exists by being used: bound names, columns,
// message fields and request fields.
func (d *decoder) collectNames() {
	for _, p := range d.spec.Processes {
		raw := d.raw[p]
		k, on := raw.node.Lookup("on")
		d.loose[p] = !knownTrigger(d.sub(on))
		if k != nil {
			if ak, as := d.sub(on).Lookup("as"); ak != nil {
				d.bind(p, as, ak.Pos())
			}
		}
		d.eachRaw(raw.steps, func(r *rawStep) {
			d.collectVars(p, r)
			d.collectStep(r)
		})
	}
	// what other variants write exists here too, without ever being written
	d.eachRaw(d.excluded, d.collectStep)
	d.collectTables()
	d.collectInitially()
}

func (d *decoder) eachRaw(list []*rawStep, f func(*rawStep)) {
	for _, r := range list {
		f(r)
		d.eachRaw(r.do, f)
	}
}

// bind declares a bound name of the process.
func (d *decoder) bind(p *ast.Process, n *yamlx.Node, at diag.Pos) *ast.Var {
	w, ok := d.word(n, at, "a name")
	if !ok {
		return nil
	}
	if v := p.Var(w); v != nil {
		return v
	}
	n = d.sub(n)
	if symbolForm.MatchString(w) {
		d.errorf(n.Pos(), "RP006", "'%s' is a constant: a bound name has a small letter", w)
	}
	if !d.name(n, "name") {
		return nil
	}
	v := &ast.Var{Pos: n.Pos(), Name: w, Process: p, Type: &ast.Type{}}
	p.Vars = append(p.Vars, v)
	return v
}

func (d *decoder) collectVars(p *ast.Process, r *rawStep) {
	for _, key := range []string{"as", "position"} {
		if k, n := r.arg(key); k != nil {
			d.bind(p, n, k.Pos())
		}
	}
	if r.step.Verb == ast.VerbLet {
		for _, e := range r.verb.Entries() {
			d.bind(p, e.Key, e.Key.Pos())
		}
	}
}

func (d *decoder) collectStep(r *rawStep) {
	subject := r.verb.Value()
	switch r.step.Verb {
	case ast.VerbInsert, ast.VerbUpsert:
		_, row := r.arg("row")
		d.addColumns(d.tables[subject], d.sub(row))
	case ast.VerbUpdate:
		_, set := r.arg("set")
		d.addColumns(d.tables[subject], d.sub(set))
	case ast.VerbPut, ast.VerbPutNew:
		_, v := r.arg("value")
		d.addFields(d.resources[subject], d.sub(v))
	case ast.VerbSend:
		if q := d.resources[subject]; q != nil && q.Queue != nil {
			_, m := r.arg("message")
			for _, e := range d.sub(m).Entries() {
				if q.Queue.Field(e.Key.Value()) == nil && nameForm.MatchString(e.Key.Value()) {
					q.Queue.Fields = append(q.Queue.Fields, &ast.Field{Pos: e.Key.Pos(), Name: e.Key.Value(), Type: &ast.Type{}})
				}
			}
		}
	case ast.VerbCall:
		name, method, _ := strings.Cut(subject, ".")
		if prov := d.resources[name]; prov != nil && prov.Provider != nil {
			for _, m := range prov.Provider.Methods {
				if m.Name == method {
					_, with := r.arg("with")
					for _, e := range d.sub(with).Entries() {
						d.methodField(m, e.Key.Value(), e.Key.Pos())
					}
				}
			}
		}
	}
	for _, e := range r.node.Entries() { // also where the key is misspelt
		if c, _ := diag.Closest(e.Key.Value(), []string{"effect"}); c != "" {
			d.collectEffect(e.Value, false)
		}
	}
	if k, n := r.arg("undo"); k != nil {
		d.collectEffect(n, true)
	}
}

func (d *decoder) collectEffect(n *yamlx.Node, undo bool) {
	if n.Kind() == yamlx.Scalar && nameForm.MatchString(n.Value()) { // reported where it is read
		d.effect(n.Value(), n.Pos())
	}
	for _, e := range d.sub(n).Entries() {
		if d.name(e.Key, "effect") {
			eff := d.effect(e.Key.Value(), e.Key.Pos())
			eff.Undone = eff.Undone || undo
		}
	}
}

// addFields notes the fields of a record put into a kv.
func (d *decoder) addFields(r *ast.Resource, v *yamlx.Node) {
	if r == nil || r.KV == nil {
		return
	}
	for _, e := range v.Entries() {
		if !contains(d.kvFields[r], e.Key.Value()) {
			d.kvFields[r] = append(d.kvFields[r], e.Key.Value())
		}
	}
}

func (d *decoder) addColumns(t *ast.Table, row *yamlx.Node) {
	if t == nil {
		return
	}
	for _, e := range row.Entries() {
		if c := d.addColumn(t, e.Key.Value(), e.Key.Pos()); c != nil {
			d.writes[c] = true
		}
	}
}

func (d *decoder) addColumn(t *ast.Table, name string, pos diag.Pos) *ast.Column {
	if c := t.Column(name); c != nil {
		return c
	}
	if !nameForm.MatchString(name) {
		return nil
	}
	c := &ast.Column{Pos: pos, Name: name, Table: t, Type: &ast.Type{}}
	t.Columns = append(t.Columns, c)
	return c
}

// collectTables declares the columns that a table's own keys name.
func (d *decoder) collectTables() {
	_, res := d.root.Lookup("resources")
	for _, e := range d.sub(res).Entries() {
		_, tables := d.sub(e.Value).Lookup("tables")
		for _, te := range d.sub(tables).Entries() {
			t := d.tables[te.Key.Value()]
			v := d.sub(te.Value)
			if t == nil || t.Pos != te.Key.Pos() || v.Kind() != yamlx.Mapping {
				continue
			}
			if k, cols := v.Lookup("columns"); k != nil {
				d.declareColumns(t, d.sub(cols), k.Pos())
			}
			d.collectTable(t, v)
		}
	}
}

func (d *decoder) collectTable(t *ast.Table, v *yamlx.Node) {
	for _, key := range []string{"sequence", "token", "partition_by", "shard_by"} {
		if n := d.sub(v.Get(key)); n.Kind() == yamlx.Scalar {
			d.addColumn(t, n.Value(), n.Pos())
		}
	}
	for _, u := range d.list(v.Get("unique")) {
		if u.Kind() == yamlx.Scalar {
			d.addColumn(t, u.Value(), u.Pos())
		}
		for _, c := range d.list(u.Get("columns")) {
			d.addColumn(t, c.Value(), c.Pos())
		}
	}
	lease := d.sub(v.Get("lease"))
	for _, part := range []string{"while", "then"} {
		for _, e := range d.sub(lease.Get(part)).Entries() {
			d.addColumn(t, e.Key.Value(), e.Key.Pos())
		}
	}
	if h := d.sub(lease.Get("holder")); h.Kind() == yamlx.Scalar && h.Value() != "none" {
		d.addColumn(t, h.Value(), h.Pos())
	}
}

// declareColumns reads `columns: {token: 0 .. 4, state: [NEW, SENT], op: order}`
// or a plain list of names.
func (d *decoder) declareColumns(t *ast.Table, n *yamlx.Node, at diag.Pos) {
	if n.Kind() == yamlx.Sequence {
		for _, i := range n.Items() {
			if c := d.addColumn(t, i.Value(), i.Pos()); c != nil {
				c.Declared = true
			}
		}
		return
	}
	for _, e := range d.mapping(n, at, "a mapping from column to type, or a list of columns") {
		if !d.name(e.Key, "column") {
			continue
		}
		c := d.addColumn(t, e.Key.Value(), e.Key.Pos())
		c.Declared = true
		d.inf.declare(c, d.sub(e.Value), e.Key.Pos())
	}
}

func (d *decoder) collectInitially() {
	_, n := d.root.Lookup("initially")
	for _, e := range d.sub(n).Entries() {
		name := e.Key.Value()
		for _, row := range d.list(e.Value) {
			row = d.sub(row)
			if t := d.tables[name]; t != nil {
				d.addColumns(t, row)
			} else if r := d.resources[name]; r != nil && r.KV != nil {
				d.addFields(r, d.sub(row.Get("value")))
			} else if r := d.resources[name]; r != nil && r.Queue != nil {
				for _, c := range row.Entries() {
					if r.Queue.Field(c.Key.Value()) == nil && nameForm.MatchString(c.Key.Value()) {
						r.Queue.Fields = append(r.Queue.Fields, &ast.Field{Pos: c.Key.Pos(), Name: c.Key.Value(), Type: &ast.Type{}})
					}
				}
			}
		}
	}
}
