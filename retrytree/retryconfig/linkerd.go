package retryconfig

import (
	"strings"
	"time"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// linkerdReader reads the retry annotations and ServiceProfiles of Linkerd.
// Source: linkerd2 parse_http_retry, linkerd2-proxy retry policy, linkerd reference/retries.
var linkerdReader = &Reader{
	Name:    "linkerd",
	Title:   "Linkerd annotations, ServiceProfile",
	Objects: []string{"Service", "HTTPRoute", "GRPCRoute", "ServiceProfile"},
	Samples: []Reading{{Setting: "retry.linkerd.io/limit", Counts: "after the first", Name: "svc.yaml", Text: `apiVersion: v1
kind: Service
metadata:
  name: a
  annotations:
    retry.linkerd.io/http: 5xx
    timeout.linkerd.io/request: 2s
    retry.linkerd.io/limit: "@N@"
`}},
	claims: func(d *doc) bool { return d.is("linkerd.io", "ServiceProfile") || hasLinkerdRetry(d.root) },
	read:   readLinkerd,
}

func hasLinkerdRetry(root *tree.Node) bool {
	for _, e := range root.Get("metadata", "annotations").Map() {
		if strings.HasPrefix(e.Key, "retry.linkerd.io/") {
			return true
		}
	}
	return false
}

func readLinkerd(in *input, own []*doc) {
	profiles, routed := map[string]bool{}, map[string]bool{}
	for _, d := range own {
		if d.kind == "ServiceProfile" {
			profiles[profileService(d)] = true
			in.serviceProfile(d)
			continue
		}
		for _, p := range d.root.Get("spec", "parentRefs").List() {
			if k := p.Get("kind").Str(); k == "Service" && d.kind != "Service" {
				ns := p.Get("namespace").Str()
				if ns == "" {
					ns = d.ns()
				}
				routed[ns+"/"+p.Get("name").Str()] = true
			}
		}
	}
	for _, d := range own {
		if d.kind != "ServiceProfile" {
			in.linkerdObject(d, profiles, routed)
		}
	}
}

// profileService is the namespace/name that a ServiceProfile speaks of.
func profileService(d *doc) string {
	parts := strings.Split(d.name, ".")
	if len(parts) >= 3 && parts[2] == "svc" {
		return parts[1] + "/" + parts[0]
	}
	return d.id()
}

func (in *input) linkerdObject(d *doc, profiles, routed map[string]bool) {
	an := d.root.Get("metadata", "annotations")
	var first tree.Entry
	for _, e := range an.Map() {
		if strings.HasPrefix(e.Key, "retry.linkerd.io/") && first.Key == "" {
			first = e
		}
	}
	if d.kind == "Service" && profiles[d.id()] {
		in.fact("shadowed-config", first.KeyPos, nil, "the ServiceProfile of this service makes proxies ignore its retry annotations").Value = first.Value.Str()
		return
	}
	if d.kind == "Service" && routed[d.id()] {
		in.fact("shadowed-config", first.KeyPos, nil, "the annotations of the route replace all retry annotations of its service").Value = first.Value.Str()
		return
	}
	h := in.hop("linkerd."+d.kind, d.id(), first.KeyPos)
	if d.kind == "Service" {
		h.To = []string{d.name + "." + d.ns() + ".svc.cluster.local"}
	}
	if d.kind == "HTTPRoute" {
		h.Methods = routeMethods(d.root.Get("spec", "rules"))
	}
	in.linkerdPolicy(h, an)
}

// routeMethods gives the methods of all rules of an HTTPRoute, or nil when one of them
// takes every method.
func routeMethods(rules *tree.Node) []string {
	var out []string
	for _, r := range rules.List() {
		m := gwapiMethods(r.Get("matches"))
		if m == nil {
			return nil
		}
		out = append(out, m...)
	}
	return out
}

func (in *input) linkerdPolicy(h *Hop, an *tree.Node) {
	known := []string{"http", "grpc", "limit", "timeout"}
	for _, e := range an.Map() {
		if k, ok := strings.CutPrefix(e.Key, "retry.linkerd.io/"); ok && !contains(known, k) {
			in.fact("renamed-or-unknown-field", e.KeyPos, h, "there is no annotation %s: it is ignored", e.Key)
		}
	}
	limit := an.Get("retry.linkerd.io/limit")
	c := loose
	c.Min, c.Max = 0, 65535
	n := in.count(h, "retry.linkerd.io/limit", limit, c)
	if n != nil && *n == 0 {
		f := in.fact("zero-does-not-disable", limit.At(), h, `limit "0" counts as unset: 1 more attempt`)
		f.Value = "0"
		n = nil
	}
	h.retries("limit", n, 1)
	if n == nil {
		h.hidden("limit absent: 1")
	}
	h.perTry(in.duration(h, "retry.linkerd.io/timeout", an.Get("retry.linkerd.io/timeout"), linkerdGrammar))
	h.Overall = in.duration(h, "timeout.linkerd.io/request", an.Get("timeout.linkerd.io/request"), linkerdGrammar)
	h.OverallKnown = true
	h.LastTryFree = true
	h.TimeoutRetried = Yes
	h.MayHaveRun = Yes
	h.Waits = Backoff{Growth: Exponential, Base: 25 * time.Millisecond, Factor: 2, Max: 250 * time.Millisecond, Low: 1, High: 2, Ceiling: 250 * time.Millisecond,
		Jitter: true, Source: "25ms doubling plus uniform [0, base], at most 250ms; not configurable"}
	h.note("the retry timeout is lifted for the last attempt")
	for _, w := range words(an.Get("retry.linkerd.io/http"), ",") {
		h.Conditions = append(h.Conditions, w)
		in.linkerdStatus(h, w, an.Get("retry.linkerd.io/http").At())
	}
	for _, w := range words(an.Get("retry.linkerd.io/grpc"), ",") {
		h.Conditions = append(h.Conditions, w)
		if !contains([]string{"cancelled", "deadline-exceeded", "internal", "resource-exhausted", "unavailable"}, w) {
			in.badCondition(h, an.Get("retry.linkerd.io/grpc").At(), w)
		}
	}
}

// badCondition refuses a condition that the product does not know.
func (in *input) badCondition(h *Hop, at tree.Pos, w string) {
	in.fact("unknown-condition", at, h, "%q is not a retry condition", w).Value = w
	in.refuse(h, at, "%q is not a retry condition", w)
}

// linkerdStatus checks 5xx, gateway-error, a status or a range of statuses.
func (in *input) linkerdStatus(h *Hop, w string, at tree.Pos) {
	if w == "5xx" || w == "gateway-error" {
		return
	}
	low, high, ranged := strings.Cut(w, "-")
	if !ranged {
		high = low
	}
	a, err1 := whole(low, 1)
	b, err2 := whole(high, 1)
	if err1 != nil || err2 != nil || a < 100 || b > 599 || a > b {
		in.badCondition(h, at, w)
		return
	}
	if a < 500 && b >= 400 {
		if !ranged {
			in.statusFacts(h, envoyPolicy{codes: []string{low}, at: at})
		} else {
			in.fact("retry-on-4xx", at, h, "%s holds client errors: the next attempt gets the same answer", w)
		}
	}
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// serviceProfile reads routes whose retries a budget bounds, and no count.
func (in *input) serviceProfile(d *doc) {
	spec := d.root.Get("spec")
	budget := &Budget{Kind: "ratio", Ratio: 0.2, MinPerSecond: 10}
	if b := spec.Get("retryBudget"); b.Is(tree.Map) {
		budget.Line = b.Pos.Line
		if v, err := decimal(b.Get("retryRatio").Str(), time.Second); err == nil {
			budget.Ratio = v.Seconds()
		}
		if v, err := decimal(b.Get("minRetriesPerSecond").Str(), time.Second); err == nil {
			budget.MinPerSecond = v.Seconds()
		}
		in.unknownKeys(b, nil, "retryBudget", "retryRatio", "minRetriesPerSecond", "ttl")
	}
	for _, r := range spec.Get("routes").List() {
		h := in.hop("linkerd.ServiceProfile", profileService(d)+"#"+r.Get("name").Str(), r.At())
		h.To = []string{d.name}
		in.unknownKeys(r, h, "a route", "name", "condition", "isRetryable", "timeout", "responseClasses")
		if m := r.Get("condition", "method").Str(); m != "" {
			h.Methods = []string{m}
		}
		h.Overall = in.duration(h, "timeout", r.Get("timeout"), goGrammar)
		h.OverallKnown = true
		if on, _ := r.Get("isRetryable").Bool(); !on {
			h.attempts(1)
			h.Written = "isRetryable false"
			continue
		}
		h.Unbounded = true
		h.Written = "isRetryable: a budget and no count"
		h.Budget = budget
		h.MayHaveRun = Yes
		h.Conditions = []string{"5xx"}
		h.Waits = Backoff{Open: true, Source: "not published"}
	}
}
