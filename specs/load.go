// Package specs reads the protocol language: YAML with positions into the
// resolved syntax tree of package ast, one tree per variant, with every error
// at once. It also builds the same tree from Go (New), prints it (Prose, Format)
// and checks it (Spec.Check).
package specs

import (
	"bytes"
	"regexp"
	"strings"
	"time"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/filekind"
	"github.com/relplan/relplan/internal/yamlx"
	"github.com/relplan/relplan/specs/ast"
)

// Spec is a file of the protocol language, read and resolved.
type Spec struct {
	File     string
	Source   []byte
	System   string
	About    string
	Warnings []diag.Diagnostic
	variants []*ast.Spec
}

// Variants gives one resolved tree per variant, in file order: one without a
// name if the file declares none. Callers must not change the trees.
func (s *Spec) Variants() []*ast.Spec { return s.variants }

// Variant gives the variant of that name, or nil.
func (s *Spec) Variant(name string) *ast.Spec {
	for _, v := range s.variants {
		if v.Variant == name {
			return v
		}
	}
	return nil
}

// Options of LoadWith.
type Options struct {
	// With are parameter values that replace those of every variant; where it
	// is not empty the file's variants and their expectations are not used:
	// there is one unnamed variant, or the one that Base names.
	With map[string]string
	// Base names the variant whose values, faults and durations With starts from.
	Base string
	// Faults are budgets by fault name that replace those of every variant.
	Faults map[string]int
	// FaultsOf names the tables or resources that a fault of Faults happens to
	// where the spec itself does not say.
	FaultsOf map[string][]string
	// Durations are lengths of named durations that replace those of every
	// variant.
	Durations map[string]time.Duration
}

// Load reads a spec. The diagnostics are sorted; with an error among them the
// Spec is nil, otherwise they are its warnings.
func Load(file string, src []byte) (*Spec, []diag.Diagnostic) { return LoadWith(file, src, Options{}) }

// LoadWith is Load with other parameter values or budgets.
func LoadWith(file string, src []byte, o Options) (spec *Spec, diags []diag.Diagnostic) {
	l := &diag.List{}
	docs := parseYAML(file, src, l)
	start := diag.Pos{File: file, Line: 1, Column: 1}
	switch {
	case l.HasErrors():
		return nil, l.Sorted()
	case len(docs) == 0:
		l.Add(diag.Diagnostic{Code: "RP001", Pos: start, Message: "expected a spec, found an empty file", Hint: filekind.Hint})
		return nil, l.Sorted()
	case len(docs) > 1:
		l.Errorf(docs[1].Pos(), "RP001", "a second document: one file holds one spec")
		return nil, l.Sorted()
	case docs[0].Kind() != yamlx.Mapping:
		l.Add(diag.Diagnostic{Code: "RP001", Pos: docs[0].Pos(), Message: "expected a spec, found " + docs[0].Describe(), Hint: filekind.Hint})
		return nil, l.Sorted()
	}
	root := docs[0]
	if other := otherKind(root); other != "" {
		l.Add(diag.Diagnostic{Code: "RP001", Pos: root.Pos(), Message: "expected a spec (a mapping with system:), found " + other, Hint: filekind.Hint})
		return nil, l.Sorted()
	}
	spec = &Spec{File: file, Source: src, System: root.Get("system").Value(), About: root.Get("about").Value()}
	for _, v := range variantsOf(root, l, o) {
		d := newDecoder(file, root, l)
		tree := d.run(v, o)
		spec.variants = append(spec.variants, tree)
	}
	if l.HasErrors() {
		return nil, dedupe(l.Sorted())
	}
	spec.Warnings = dedupe(l.Sorted())
	return spec, spec.Warnings
}

// otherKind says what else the file is: a plan, a statements file, or nothing of
// relplan's, if none of its keys is even close to a section.
func otherKind(root *yamlx.Node) string {
	for key, what := range map[string]string{"plan": "a plan (plan:), which relplan plan reads", "statements": "retry statements (statements:)"} {
		if k, _ := root.Lookup(key); k != nil && root.Get("system") == nil {
			return what
		}
	}
	for _, e := range root.Entries() {
		key := e.Key.Value()
		if key == "about" || key == "relplan" {
			continue
		}
		if _, near := suggest(key, sections); near || contains(sections, key) {
			return ""
		}
	}
	if root.Get("relplan") != nil {
		return "nothing that says of what kind it is"
	}
	return "no relplan file"
}

// dedupe drops what several variants say alike, and warnings next to errors.
func dedupe(ds []diag.Diagnostic) []diag.Diagnostic {
	failed := false
	for _, d := range ds {
		failed = failed || d.Severity == diag.Error
	}
	type key struct {
		code, msg string
		pos       diag.Pos
	}
	seen := map[key]bool{}
	out := ds[:0]
	for _, d := range ds {
		k := key{d.Code, d.Message, d.Pos}
		if seen[k] || failed && d.Severity != diag.Error {
			continue
		}
		seen[k] = true
		out = append(out, d)
	}
	return out
}

// variantNode is one entry of `variants:`, or the unnamed one.
type variantNode struct {
	name      string
	key, node *yamlx.Node
}

// baseVariant is the one variant that parameter values of the caller change.
func baseVariant(root, variants *yamlx.Node, l *diag.List, name string) []variantNode {
	var known []string
	for _, e := range variants.Entries() {
		if e.Key.Value() == name {
			return []variantNode{{name, e.Key, e.Value}}
		}
		known = append(known, e.Key.Value())
	}
	dg := diag.Diagnostic{Code: "RP051", Pos: root.Pos(), Message: "no variant '" + name + "'"}
	if c, ok := diag.Closest(name, known); ok {
		dg.Hint = "did you mean: " + c
	}
	l.Add(dg)
	return []variantNode{{}}
}

func variantsOf(root *yamlx.Node, l *diag.List, o Options) []variantNode {
	k, v := root.Lookup("variants")
	if len(o.With) > 0 && o.Base != "" {
		return baseVariant(root, v, l, o.Base)
	}
	if len(o.With) > 0 || k == nil {
		return []variantNode{{}}
	}
	if v.Kind() != yamlx.Mapping || len(v.Entries()) == 0 {
		l.Add(diag.Diagnostic{Code: "RP051", Pos: k.Pos(), Message: "expected a mapping from the name of a variant to its parameter values, found " + v.Describe(),
			Hint: "variants: {fixed: {with: {fix: true}, expect: holds}}"})
		return []variantNode{{}}
	}
	var out []variantNode
	for _, e := range v.Entries() {
		if !variantForm.MatchString(e.Key.Value()) {
			l.Errorf(e.Key.Pos(), "RP051", "variant %q: a name has letters, digits, _, - and .", e.Key.Value())
			continue
		}
		if e.Value.Kind() != yamlx.Mapping {
			l.Add(diag.Diagnostic{Code: "RP051", Pos: e.Value.Pos(), Message: "expected a mapping with with:, faults:, durations:, assume: or expect:, found " + e.Value.Describe()})
			continue
		}
		yamlx.UnknownKeys(e.Value, l, "RP002", "about", "with", "faults", "durations", "assume", "expect")
		out = append(out, variantNode{e.Key.Value(), e.Key, e.Value})
	}
	if len(out) == 0 {
		return []variantNode{{}}
	}
	return out
}

var sections = []string{"relplan", "system", "about", "operations", "resources", "processes", "faults", "assume", "durations", "initially",
	"promises", "must_be_possible", "parameters", "variants", "expect", "run"}

func newDecoder(file string, root *yamlx.Node, l *diag.List) *decoder {
	return &decoder{l: l, file: file, root: root,
		params: map[string]*param{}, resources: map[string]*ast.Resource{}, tables: map[string]*ast.Table{}, ops: map[string]*ast.Operation{},
		procs: map[string]*ast.Process{}, effects: map[string]*ast.Effect{}, durations: map[string]*ast.Duration{}, faults: map[string][]*ast.Fault{},
		declared: map[string]bool{}, raw: map[*ast.Process]*rawProcess{}, hints: map[string]bool{}, syms: map[string]diag.Pos{},
		loose: map[*ast.Process]bool{}, writes: map[*ast.Column]bool{},
		kvFields: map[*ast.Resource][]string{},
	}
}

// run decodes the whole file for one variant.
func (d *decoder) run(v variantNode, o Options) *ast.Spec {
	d.spec = &ast.Spec{File: d.file, Pos: d.root.Pos(), Variant: v.name}
	if v.key != nil {
		d.spec.VariantPos = v.key.Pos()
		if k, about := v.node.Lookup("about"); k != nil {
			d.spec.VariantAbout, _ = d.word(about, k.Pos(), "a sentence")
		}
	}
	d.inf = newInferer(d)
	d.header()
	d.decodeParams(v, o)
	d.decodeOperations()
	d.decodeDurations(v, o)
	d.declareResources()
	d.declareProcesses()
	d.collectNames()
	d.decodeResources()
	d.decodeFaults(v, o)
	d.decodeTriggers()
	d.resolveSteps()
	d.decodeInitially()
	d.decodeAssume(v)
	d.decodePromises()
	d.decodePossible()
	d.decodeExpect(v, o)
	d.decodeRun()
	for _, f := range d.later {
		f()
	}
	if !d.l.HasErrors() {
		d.inf.solve()
		d.rewriteAll()
		d.check()
	}
	if !d.l.HasErrors() {
		d.finish()
		d.lint()
		d.valueBodies()
	}
	return d.spec
}

func (d *decoder) header() {
	known := map[string]bool{}
	for _, s := range sections {
		known[s] = true
	}
	for _, e := range d.root.Entries() {
		if known[e.Key.Value()] {
			continue
		}
		dg := diag.Diagnostic{Code: "RP002", Pos: e.Key.Pos(), Message: "unknown section '" + e.Key.Value() + "'", Found: e.Key.Describe()}
		if c, ok := suggest(e.Key.Value(), sections); ok {
			dg.Hint = "did you mean: " + c
			d.hints[c] = true
		} else {
			dg.Hint = "sections: " + strings.Join(sections, ", ")
		}
		d.l.Add(dg)
	}
	d.trap(d.root)
	k, v := d.root.Lookup("relplan")
	switch {
	case k == nil && !d.hints["relplan"]:
		d.l.Add(diag.Diagnostic{Code: "RP001", Pos: d.root.Pos(), Message: "the version is missing", Hint: "a spec starts with: relplan: v1"})
	case k != nil && v.Value() != "v1":
		d.wanted(v, k.Pos(), "RP001", "v1", "")
	}
	if k, v := d.root.Lookup("system"); k == nil {
		d.missing("system", "name what is described: system: inbox")
	} else if s, ok := d.word(v, k.Pos(), "the name of the system"); ok {
		d.spec.System = s
	}
	if k, v := d.root.Lookup("about"); k != nil {
		d.spec.About, _ = d.word(v, k.Pos(), "a sentence")
	}
}

// missing reports a section that must be there, unless a misspelt one was meant.
func (d *decoder) missing(section, hint string) {
	if d.hints[section] {
		return
	}
	d.l.Add(diag.Diagnostic{Code: "RP003", Pos: diag.Pos{File: d.file, Line: 1, Column: 1}, Message: "the section '" + section + "' is missing", Hint: hint})
}

func (d *decoder) decodeDurations(v variantNode, o Options) {
	read := func(n *yamlx.Node, at diag.Pos, override bool) {
		for _, e := range d.mapping(n, at, "a mapping from name to length of time") {
			name := e.Key.Value()
			known, seen := d.durations[name]
			if override && !seen {
				d.unknown(e.Key.Pos(), "RP043", "duration", name, sortedKeys(d.durations))
				continue
			}
			if !d.name(e.Key, "duration") {
				continue
			}
			dur := d.duration(e.Value, e.Key.Pos(), name)
			if dur == nil {
				d.declared[name] = true
				continue
			}
			if n := len(d.spec.Durations); n > 0 && d.spec.Durations[n-1] == dur {
				d.spec.Durations = d.spec.Durations[:n-1]
			}
			if override {
				known.Length, known.None = dur.Length, dur.None
				continue
			}
			named := &ast.Duration{Pos: e.Key.Pos(), Name: name, Length: dur.Length, None: dur.None}
			d.durations[name] = named
			d.spec.Durations = append(d.spec.Durations, named)
		}
	}
	if k, n := d.root.Lookup("durations"); k != nil {
		read(n, k.Pos(), false)
	}
	if v.node != nil {
		if k, n := v.node.Lookup("durations"); k != nil {
			read(n, k.Pos(), true)
		}
	}
	for _, name := range sortedKeys(o.Durations) {
		if dur, ok := d.durations[name]; ok {
			dur.Length, dur.None = o.Durations[name], false
		} else {
			d.unknown(diag.Pos{File: d.file}, "RP043", "duration", name, sortedKeys(d.durations))
		}
	}
}

// anyTag is how the parser sees `any [a, b]`, which is not YAML inside { }.
const anyTag = "!a"

var anyForm = regexp.MustCompile(`(:[ \t]+)any([ \t]+\[)`)

// parseYAML reads a spec file. Within operations, `any [a, b]` becomes a tagged
// list of the same length, so that every position stays.
func parseYAML(file string, src []byte, l *diag.List) []*yamlx.Node {
	if bytes.Contains(src, []byte("any")) {
		lines := bytes.SplitAfter(src, []byte("\n"))
		in := false
		for i, line := range lines {
			if len(line) > 0 && line[0] >= 'a' && line[0] <= 'z' {
				in = bytes.HasPrefix(line, []byte("operations"))
			}
			if in {
				lines[i] = anyForm.ReplaceAll(line, []byte("${1}!a ${2}"))
			}
		}
		src = bytes.Join(lines, nil)
	}
	return yamlx.Parse(file, src, yamlx.Limits{}, l)
}
