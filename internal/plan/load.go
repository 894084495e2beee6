package plan

import (
	"path/filepath"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/filekind"
	"github.com/relplan/relplan/internal/yamlx"
)

// Load decodes a plan and checks that the names in it are defined. The error is
// a *diag.Err with every mistake.
func Load(path string, src []byte) (*File, error) {
	var l diag.List
	docs := yamlx.Parse(path, src, yamlx.Limits{}, &l)
	if l.HasErrors() {
		return nil, l.Err()
	}
	var doc *yamlx.Node
	if len(docs) > 0 {
		doc = docs[0]
	}
	if !filekind.Expect(doc, filekind.Plan, path, &l) {
		return nil, l.Err()
	}
	if len(docs) > 1 {
		l.Errorf(docs[1].Pos(), codeValue, "a plan is one document, found %d", len(docs))
	}
	f := &File{Path: path, Dir: filepath.Dir(path)}
	d := &decoder{l: &l}
	d.file(f, doc)
	f.checkNames(&l)
	f.Warnings = l.Sorted()
	return f, l.Err()
}

func (d *decoder) file(f *File, doc *yamlx.Node) {
	var name Value[string]
	d.mapping(doc, "a plan",
		required("relplan", func(*yamlx.Node) {}),
		required("plan", d.text(&name)),
		optional("about", func(*yamlx.Node) {}),
		optional("workloads", func(n *yamlx.Node) { d.workloads(f, n) }),
		optional("stores", func(n *yamlx.Node) { d.stores(f, n) }),
		optional("replay_sources", func(n *yamlx.Node) { d.sources(f, n) }),
		optional("calls", func(n *yamlx.Node) { d.calls(f, n) }),
		optional("failure_domains", func(n *yamlx.Node) { d.domains(f, n) }),
		optional("deadlines", func(n *yamlx.Node) { d.deadlines(f, n) }),
		optional("protocols", func(n *yamlx.Node) { d.protocols(f, n) }),
		optional("unknown_exposure", func(n *yamlx.Node) { d.unknown(f, n) }),
		optional("prices", func(n *yamlx.Node) { d.prices(f, n) }),
		optional("crash_windows", func(n *yamlx.Node) { d.crashes(f, n) }),
		optional("storm", func(n *yamlx.Node) { d.storm(f, n) }),
		optional("policies", func(n *yamlx.Node) { d.policies(f, n) }),
	)
	f.Name = name.V
}

// checkNames reports references to what is not defined.
func (f *File) checkNames(l *diag.List) {
	var workloads []string
	for _, w := range f.Workloads {
		workloads = append(workloads, w.Name)
	}
	for _, s := range f.Stores {
		defined(l, s.Holds, "workload", workloads)
		defined(l, s.Dedupes, "workload", workloads)
	}
	for _, s := range f.Sources {
		defined(l, s.Of, "workload", workloads)
	}
	for _, u := range f.Unknown {
		defined(l, u.Workload, "workload", workloads)
	}
	f.checkCalls(l)
	for _, c := range f.Crashes {
		defined(l, c.Of, "workload", workloads)
	}
	services := f.services()
	for _, d := range f.Deadlines {
		for _, p := range d.Path {
			if len(services) > 0 && !f.inferred() {
				defined(l, p, "service", services)
			}
		}
	}
}

// defined adds an error if v names nothing among known.
func defined(l *diag.List, v Value[string], what string, known []string) {
	if !v.Set {
		return
	}
	for _, k := range known {
		if k == v.V {
			return
		}
	}
	d := diag.Diagnostic{Code: codeRef, Pos: v.Pos, Message: what + " '" + v.V + "' is not defined", Found: "'" + v.V + "'"}
	if near, ok := diag.Closest(v.V, known); ok {
		d.Hint = "did you mean: " + near
	}
	l.Add(d)
}

// inferred tells whether calls stand in files that were not read yet, so that not
// every service is known.
func (f *File) inferred() bool {
	for _, n := range f.Nodes {
		if n.From != nil {
			return true
		}
	}
	return false
}

// services are the names that call or are called, in file order.
func (f *File) services() []string {
	var all []string
	seen := map[string]bool{}
	add := func(s string) {
		if s != "" && !seen[s] {
			seen[s] = true
			all = append(all, s)
		}
	}
	for _, n := range f.Nodes {
		add(n.Name)
		for _, c := range n.Calls {
			add(c.To.V)
		}
	}
	return all
}
