package plan

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/reports"
	"github.com/relplan/relplan/specs"
	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/library"
)

// ProtocolDoc is a check object with the plan's name of the protocol.
type ProtocolDoc struct {
	Name string `json:"name"`
	*specs.VariantVerdict
}

// protocolResult is one variant of one protocol.
type protocolResult struct {
	doc    ProtocolDoc
	spec   *specs.Spec
	tree   *ast.Spec
	blocks []reports.Block
}

func (p *protocolResult) unknown() bool { return p.doc.Undecided() }

// asExpected: the verdict is the one its spec expects; without an expectation
// every promise must hold.
func (p *protocolResult) asExpected() bool {
	if p.doc.AsExpected != nil {
		return *p.doc.AsExpected
	}
	return p.doc.Verdict == ast.Holds
}

// keeps tells whether the protocol has a table or key space of that name.
func (p *protocolResult) keeps(store string) bool {
	return slices.ContainsFunc(p.tree.Resources, func(r *ast.Resource) bool {
		if r.Kind == ast.KVKind && r.Name == store {
			return true
		}
		return r.SQL != nil && slices.ContainsFunc(r.SQL.Tables, func(t *ast.Table) bool { return t.Name == store })
	})
}

// protocols checks every protocol of the plan, every variant by itself.
func (f *File) protocols(ctx context.Context) ([]*protocolResult, error) {
	var out []*protocolResult
	var l diag.List
	for _, p := range f.Protocols {
		got, err := f.checkProtocol(ctx, p, specs.Options{})
		if err != nil {
			l.AddErr(p.Pos, codeValue, err)
			continue
		}
		out = append(out, got...)
	}
	return out, l.Err()
}

func (f *File) checkProtocol(ctx context.Context, p *Protocol, o specs.Options) ([]*protocolResult, error) {
	name, src, err := f.protocolSource(p)
	if err != nil {
		return nil, err
	}
	o.With = map[string]string{}
	for k, v := range p.With {
		o.With[k] = v.V
	}
	if p.Variant.Set {
		if o.Base, err = variantOf(name, src, p.Variant); err != nil {
			return nil, err
		}
	}
	spec, ds := specs.LoadWith(name, src, o)
	if spec == nil {
		return nil, &diag.Err{Diagnostics: p.place(ds)}
	}
	check := specs.CheckOptions{TimeLimit: protocolTime, Command: commandOf(name, o.Faults)}
	if p.Variant.Set {
		check.Variants = []string{p.Variant.V}
	}
	v, err := spec.Check(ctx, check)
	if err != nil {
		return nil, err
	}
	var out []*protocolResult
	for _, vv := range v.Variants {
		if p.Pattern.Set && p.Variant.Set {
			// The library expects of its anti-patterns that they break; a plan that
			// builds one does not.
			vv.Forget()
		}
		out = append(out, &protocolResult{doc: ProtocolDoc{p.Name, vv}, spec: spec, tree: spec.Variant(vv.Name())})
	}
	return out, nil
}

// variantOf is the name of the variant that the plan names; the error says which
// there are.
func variantOf(file string, src []byte, name Value[string]) (string, error) {
	spec, ds := specs.Load(file, src)
	if spec == nil {
		return "", &diag.Err{Diagnostics: ds}
	}
	if spec.Variant(name.V) != nil {
		return name.V, nil
	}
	var names []string
	for _, v := range spec.Variants() {
		if v.Variant != "" {
			names = append(names, v.Variant)
		}
	}
	d := diag.Diagnostic{Pos: name.Pos, Message: fmt.Sprintf("%s has no variant '%s'", file, name.V)}
	if near, ok := diag.Closest(name.V, names); ok {
		d.Hint = "did you mean: " + near
	} else if len(names) > 0 {
		d.Hint = "it has " + strings.Join(names, ", ")
	}
	return "", &diag.Err{Diagnostics: []diag.Diagnostic{d}}
}

// place gives what is wrong with a parameter value its place in the plan.
func (p *Protocol) place(ds []diag.Diagnostic) []diag.Diagnostic {
	for i := range ds {
		if ds[i].Pos.Line > 0 {
			continue
		}
		for name, v := range p.With {
			if strings.Contains(ds[i].Message, "parameter '"+name+"'") {
				ds[i].Pos = v.Pos
			}
		}
	}
	return ds
}

// protocolSource is the text of the spec file of a protocol.
func (f *File) protocolSource(p *Protocol) (name string, src []byte, err error) {
	if p.Pattern.Set {
		if src, err = library.Source(p.Pattern.V); err != nil {
			return "", nil, diag.New(p.Pattern.Pos, "%v", err)
		}
		return library.File(p.Pattern.V), src, nil
	}
	if src, err = f.readFile(p.Spec); err != nil {
		return "", nil, diag.New(p.Spec.Pos, "%v", err)
	}
	return f.pathOf(p.Spec.V), src, nil
}

// commandOf is the command that checks the protocol by itself.
func commandOf(file string, faults map[string]int) string {
	cmd := "relplan check " + file
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		cmd += fmt.Sprintf(" --%s %d", strings.ReplaceAll(name, "_", "-"), faults[name])
	}
	return cmd
}

// checkExpiry checks the protocol again with one row of the store allowed to be
// gone before a delivery comes back, and without any other fault.
func (f *File) checkExpiry(ctx context.Context, p *protocolResult, store string) (*protocolResult, error) {
	i := slices.IndexFunc(f.Protocols, func(x *Protocol) bool { return x.Name == p.doc.Name })
	got, err := f.checkProtocol(ctx, f.Protocols[i], specs.Options{
		Faults:   expiryFaults(p.doc.Bounds),
		FaultsOf: map[string][]string{"retention_expires": {store}},
	})
	if err != nil {
		return nil, err
	}
	for _, g := range got {
		if g.doc.Name == p.doc.Name && g.doc.VariantVerdict.Name() == p.doc.VariantVerdict.Name() {
			if g.doc.Verdict == ast.Broken {
				g.blocks = append([]reports.Block{
					reports.Heading{Level: 3, Text: fmt.Sprintf("What a row of `%s` that is gone too early does to protocol %s", store, p.doc.Name), Mark: reports.Bad},
				}, g.doc.Blocks(specs.RenderOptions{})...)
			}
			return g, nil
		}
	}
	return nil, nil
}

// lateCharge shows what a provider does that forgets a key while we still retry
// with it: the library's protocol with the plan's two durations.
func lateCharge(ctx context.Context, s *Source) (*protocolResult, error) {
	const pattern = "provider-forgets-the-key"
	src, err := library.Source(pattern)
	if err != nil {
		return nil, err
	}
	spec, ds := specs.LoadWith(library.File(pattern), src, specs.Options{
		Durations: map[string]time.Duration{"keep": s.Keeps.V, "retried_for": s.RetriedFor.V},
	})
	if spec == nil {
		return nil, &diag.Err{Diagnostics: ds}
	}
	variant := spec.Variants()[0].Variant
	v, err := spec.Check(ctx, specs.CheckOptions{TimeLimit: protocolTime, Variants: []string{variant}, Command: "relplan new " + pattern + " && relplan check " + pattern + ".yaml"})
	if err != nil || len(v.Variants) == 0 || v.Variants[0].Verdict != ast.Broken {
		return nil, err
	}
	p := &protocolResult{doc: ProtocolDoc{pattern, v.Variants[0]}, spec: spec, tree: spec.Variants()[0]}
	p.blocks = append([]reports.Block{
		reports.Heading{Level: 3, Text: fmt.Sprintf("What `%s` does to a retry after its keys are gone", s.Name), Mark: reports.Bad},
	}, p.doc.Blocks(specs.RenderOptions{})...)
	return p, nil
}

// expiryFaults are one expired row, the redelivery that meets it, and nothing
// else of what the spec allows.
func expiryFaults(bounds map[string]int) map[string]int {
	faults := map[string]int{}
	for name := range bounds {
		faults[name] = 0
	}
	faults["retention_expires"], faults["redelivery"] = 1, 1
	return faults
}

// advice says what is wrong with the protocol.
func (p *protocolResult) advice() []string {
	if p.asExpected() {
		return nil
	}
	var broken []string
	for _, promise := range p.doc.Promises {
		if promise.Verdict == ast.Broken {
			broken = append(broken, fmt.Sprintf("%q", promise.Text))
		}
	}
	label := fmt.Sprintf("protocol `%s` (%s)", p.doc.Name, p.doc.File)
	switch {
	case len(broken) > 0 && !p.unknown():
		return []string{fmt.Sprintf("repair %s: it breaks %s; the shortest history stands below", label, strings.Join(broken, " and "))}
	case p.unknown():
		return []string{fmt.Sprintf("%s was not decided: %s", label, strings.Join(p.doc.Limits, "; "))}
	default:
		return []string{fmt.Sprintf("%s is %s, not what its spec expects", label, p.doc.Verdict)}
	}
}

func protocolBlocks(ps []*protocolResult) []reports.Block {
	if len(ps) == 0 {
		return nil
	}
	t := reports.Table{Columns: []reports.Column{{Name: "protocol"}, {Name: "verdict"}, {Name: "for"}, {Name: "states", Right: true}}}
	var after []reports.Block
	for _, p := range ps {
		name := p.doc.Name
		if v := p.doc.VariantVerdict.Name(); v != "" {
			name += "/" + v
		}
		verdict := p.doc.Verdict
		if p.doc.AsExpected != nil && p.asExpected() {
			verdict += " (as expected)"
		}
		t.Rows = append(t.Rows, []string{name, verdict, boundsText(p.doc.Bounds), fmt.Sprint(p.doc.States)})
		if !p.asExpected() {
			after = append(after, p.doc.Blocks(specs.RenderOptions{})...)
		}
	}
	return append([]reports.Block{reports.Heading{Level: 2, Text: "Protocols"}, t}, after...)
}

// boundsText is "every history with at most 1 crash, 1 redelivery".
func boundsText(bounds map[string]int) string {
	if len(bounds) == 0 {
		return "every history without faults"
	}
	names := make([]string, 0, len(bounds))
	for n := range bounds {
		names = append(names, n)
	}
	slices.Sort(names)
	for i, n := range names {
		names[i] = fmt.Sprintf("%d %s", bounds[n], n)
	}
	return "every history with at most " + strings.Join(names, ", ")
}
