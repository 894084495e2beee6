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

// istioMeshPolicy finds the default retry policy of a mesh configuration: in an
// IstioOperator, in the values of a chart, in the ConfigMap of the mesh, or by itself.
func (in *input) istioMeshPolicy(d *doc) *tree.Node {
	for _, mc := range []*tree.Node{d.root.Get("spec", "meshConfig"), d.root.Get("meshConfig"), d.root} {
		if p := mc.Get("defaultHttpRetryPolicy"); p.Is(tree.Map) {
			return p
		}
	}
	if !isMeshMap(d) {
		return nil
	}
	text := d.root.Get("data", "mesh")
	roots, err := parseYAML(in.file.Path, []byte(text.Str()))
	if err != nil {
		in.fact("unmodelled-mechanism", text.At(), nil, "the mesh configuration in this ConfigMap cannot be read: %v", err)
		return nil
	}
	for _, r := range roots {
		if p := r.Get("defaultHttpRetryPolicy"); p.Is(tree.Map) {
			p.Walk(func(_ []string, n *tree.Node) bool {
				n.Pos = tree.Pos{Line: text.Pos.Line + n.Pos.Line, Col: 1}
				for i := range n.Entries {
					n.Entries[i].KeyPos = tree.Pos{Line: text.Pos.Line + n.Entries[i].KeyPos.Line, Col: 1}
				}
				return true
			})
			return p
		}
	}
	return nil
}

// isMeshMap sees the ConfigMap that holds the mesh configuration.
func isMeshMap(d *doc) bool {
	return d.kind == "ConfigMap" && d.version == "v1" && d.group == "" && strings.Contains(d.root.Get("data", "mesh").Str(), "defaultHttpRetryPolicy")
}

// istioMeshHop reads the default of the mesh as a hop of its own.
func (in *input) istioMeshHop(p *tree.Node) {
	in.istioPolicy(in.hop("istio.MeshConfig", "mesh default", p.At()), p, nil)
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
