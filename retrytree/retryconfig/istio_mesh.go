package retryconfig

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// istioObjects are what the Istio objects of a file say about routes that may stand in
// other files: the retry policy of the mesh, and the rules of hosts.
type istioObjects struct {
	mesh  *tree.Node           // defaultHttpRetryPolicy, nil when the file has none
	rules map[string]*hostRule // by host, as Istio resolves it
}

// hostRule is what a DestinationRule says that matters to retries.
type hostRule struct {
	file   string
	name   string // namespace/name
	budget *Budget
	hash   bool // consistent hash: retries go to the same host
	eject  bool // outlierDetection
}

// istioMesh reads the default retry policies of a mesh configuration as hops and gives
// that of outbound routes. The configuration stands in an IstioOperator, in the values of
// a chart, in the ConfigMap of the mesh, or by itself.
func (in *input) istioMesh(d *doc) *tree.Node {
	for _, mc := range []*tree.Node{d.root.Get("spec", "meshConfig"), d.root.Get("meshConfig"), in.meshOfMap(d), d.root} {
		if p := mc.Get("defaultInboundHttpRetryPolicy"); p.Is(tree.Map) {
			in.istioPolicy(in.hop("istio.MeshConfig", "mesh default inbound", p.At()), p, nil)
		}
		if p := mc.Get("defaultHttpRetryPolicy"); p.Is(tree.Map) {
			in.istioPolicy(in.hop("istio.MeshConfig", "mesh default", p.At()), p, nil)
			return p
		}
	}
	return nil
}

// meshOfMap reads the text in the ConfigMap of the mesh.
func (in *input) meshOfMap(d *doc) *tree.Node {
	if !isMeshMap(d) {
		return nil
	}
	text := d.root.Get("data", "mesh")
	roots, err := parseYAML(in.file.Path, []byte(text.Str()))
	if err != nil {
		in.fact("unmodelled-mechanism", text.At(), nil, "the mesh configuration in this ConfigMap cannot be read: %v", err)
		return nil
	}
	if len(roots) == 0 {
		return nil
	}
	place := in.placeOf(text, text.Str())
	moved := func(p tree.Pos) tree.Pos {
		p.Line, p.Col = place(p.Line, p.Col)
		return p
	}
	roots[0].Walk(func(_ []string, n *tree.Node) bool {
		n.Pos = moved(n.Pos)
		for i := range n.Entries {
			n.Entries[i].KeyPos = moved(n.Entries[i].KeyPos)
		}
		return true
	})
	return roots[0]
}

// isMeshMap sees the ConfigMap that holds the mesh configuration.
func isMeshMap(d *doc) bool {
	return d.kind == "ConfigMap" && d.version == "v1" && d.group == "" && strings.Contains(d.root.Get("data", "mesh").Str(), "HttpRetryPolicy")
}

// envoyFilter reports a filter that patches retries: what it makes of the routes of Istio
// is not known from the file.
func (in *input) envoyFilter(d *doc) {
	found := false
	d.root.Get("spec", "configPatches").Walk(func(_ []string, n *tree.Node) bool {
		for _, e := range n.Map() {
			if !found && retryWord.MatchString(e.Key) {
				found = true
				in.fact("unmodelled-mechanism", e.KeyPos, nil, "EnvoyFilter %s patches %s: the routes it matches are not known, and what they read as may not be what runs", d.id(), e.Key)
			}
		}
		return !found
	})
}

// destinationRule reads what bounds the retries of a host.
func (in *input) destinationRule(d *doc, rules map[string]*hostRule) {
	host := qualify(d.root.Get("spec", "host").Str(), d.ns())
	r := &hostRule{file: in.file.Path, name: d.id()}
	policies := []*tree.Node{d.root.Get("spec", "trafficPolicy")}
	for _, s := range d.root.Get("spec", "subsets").List() {
		policies = append(policies, s.Get("trafficPolicy"))
	}
	for _, tp := range policies {
		b := in.trafficPolicy(tp)
		if r.budget == nil {
			r.budget = b
		}
		r.hash = r.hash || tp.Get("loadBalancer", "consistentHash").Is(tree.Map)
		r.eject = r.eject || tp.Get("outlierDetection").Is(tree.Map)
		for _, pl := range tp.Get("portLevelSettings").List() {
			if b := in.trafficPolicy(pl); r.budget == nil {
				r.budget = b
			}
		}
	}
	if old := rules[host]; old != nil && r.budget == nil {
		r.budget = old.budget
	}
	rules[host] = r
}

// trafficPolicy gives the budget of one traffic policy, nil without one.
func (in *input) trafficPolicy(tp *tree.Node) *Budget {
	most, budget := tp.Get("connectionPool", "http", "maxRetries"), tp.Get("retryBudget")
	if budget.Is(tree.Map) {
		b := &Budget{Kind: "ratio", Ratio: 0.2, MinConcurrency: 3, Line: budget.Pos.Line}
		if v, err := strconv.ParseFloat(budget.Get("percent").Str(), 64); err == nil {
			b.Ratio = v / 100
		}
		if v, err := counts.parse(orNull(budget.Get("minRetryConcurrency"))); err == nil {
			b.MinConcurrency = v
		}
		if most != nil {
			in.fact("shadowed-config", most.At(), nil, "maxRetries %s has no effect beside retryBudget", most.Str()).Value = most.Str()
		}
		return b
	}
	v, err := counts.parse(orNull(most))
	if most == nil {
		if tp.Is(tree.Map) {
			in.fact("unlimited-retry-concurrency", tp.At(), nil, "no maxRetries and no retryBudget: up to 4294967295 retries at once for each proxy")
		}
		return nil
	}
	if err == nil && v == 0 {
		in.fact("unlimited-retry-concurrency", most.At(), nil, "maxRetries 0 counts as unset: up to 4294967295 retries at once for each proxy")
	}
	if err == nil && v > 0 {
		return &Budget{Kind: "concurrency", Concurrency: v, Line: most.Pos.Line}
	}
	return nil
}

// applyRule lets a DestinationRule bound the retries of a route to its host.
func (in *input) applyRule(h *Hop, r *hostRule) {
	where := "DestinationRule " + r.name
	if r.file != in.file.Path {
		where += " in " + filepath.Base(r.file)
	}
	if r.budget != nil && h.Budget == nil {
		h.Budget = r.budget
		h.note("%s bounds the retries: %s", where, r.budget.words())
	}
	if r.hash && h.Retries() {
		in.fact("sticky-retry", tree.Pos{}, h, "%s sends by consistent hash: the next attempt goes to the same host", where)
	}
	if r.eject && h.Retries() {
		h.note("%s has outlierDetection: what a host that is taken out saves is not counted", where)
	}
}

// words describes a budget for people.
func (b *Budget) words() string {
	switch b.Kind {
	case "ratio":
		return fmt.Sprintf("%g%% of the requests, at least %d at once, for each proxy", b.Ratio*100, b.MinConcurrency)
	case "concurrency":
		return fmt.Sprintf("at most %d at once for each proxy", b.Concurrency)
	}
	return b.Kind
}
