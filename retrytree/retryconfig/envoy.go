package retryconfig

import (
	"strings"
	"time"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// envoyReader reads route configurations and clusters of Envoy, in static files, in
// discovery responses and in config dumps; snake_case and camelCase are both legal.
// Source: envoy v1.40.0 proto comments, retry_state_impl.cc, router_filter.rst.
var envoyReader = &Reader{
	Name:    "envoy",
	Title:   "Envoy bootstrap, route configuration, cluster",
	Objects: []string{"static_resources", "virtual_hosts", "route_config", "RouteConfiguration", "Cluster"},
	refusal: "Envoy refuses the whole configuration",
	Samples: []Reading{{Setting: "retry_policy.num_retries", Counts: "after the first", Name: "rds.yaml", Text: `virtual_hosts:
- name: a
  domains: ["*"]
  routes:
  - match: {prefix: "/"}
    route:
      cluster: a
      retry_policy:
        retry_on: 5xx
        num_retries: @N@
`}},
	claims: func(d *doc) bool {
		return d.version == "" && envoyShape(d.root) || d.is("cilium.io", "CiliumEnvoyConfig", "CiliumClusterwideEnvoyConfig")
	},
	read: readEnvoy,
}

func envoyShape(root *tree.Node) bool {
	for _, k := range []string{"static_resources", "virtual_hosts", "route_config", "dynamic_resources"} {
		if snake(root, k) != nil {
			return true
		}
	}
	if vh := root.Get("domains"); vh.Is(tree.Seq) && root.Get("routes").Is(tree.Seq) {
		return true
	}
	if snake(root, "circuit_breakers").Is(tree.Map) && root.Get("name") != nil {
		return true
	}
	for _, r := range root.Get("resources").List() {
		if strings.Contains(r.Get("@type").Str(), "envoy.") {
			return true
		}
	}
	return strings.Contains(root.Get("@type").Str(), "envoy.config") || root.Get("configs").Is(tree.Seq) && strings.Contains(root.Get("configs").Items0().Get("@type").Str(), "envoy.")
}

// snake gets a field under its proto name or its JSON name.
func snake(n *tree.Node, key string) *tree.Node { return n.First(key, camel(key)) }

func camel(key string) string {
	parts := strings.Split(key, "_")
	for i := 1; i < len(parts); i++ {
		if parts[i] != "" {
			parts[i] = strings.ToUpper(parts[i][:1]) + parts[i][1:]
		}
	}
	return strings.Join(parts, "")
}

func readEnvoy(in *input, own []*doc) {
	budgets := map[string]*Budget{}
	for _, d := range own {
		d.root.Walk(func(path []string, n *tree.Node) bool {
			if snake(n, "circuit_breakers").Is(tree.Map) {
				in.envoyCluster(n, budgets)
			}
			return true
		})
	}
	for _, d := range own {
		if d.root.Get("domains") != nil && d.root.Get("routes") != nil {
			in.envoyVirtualHost(d.root, budgets)
		}
		d.root.Walk(func(path []string, n *tree.Node) bool {
			for _, vh := range snake(n, "virtual_hosts").List() {
				in.envoyVirtualHost(vh, budgets)
			}
			return true
		})
	}
}

// envoyCluster reads the breaker of a cluster: it bounds concurrency, not the count.
func (in *input) envoyCluster(c *tree.Node, budgets map[string]*Budget) {
	for _, t := range snake(c, "circuit_breakers").Get("thresholds").List() {
		max, budget := snake(t, "max_retries"), snake(t, "retry_budget")
		name := c.Get("name").Str()
		switch {
		case budget.Is(tree.Map):
			b := &Budget{Kind: "ratio", Ratio: 0.2, MinConcurrency: 3, Line: budget.Pos.Line}
			if v, err := decimal(snake(budget, "budget_percent").Get("value").Str(), time.Second); err == nil {
				b.Ratio = v.Seconds() / 100
			}
			if v, err := loose.parse(orNull(snake(budget, "min_retry_concurrency"))); err == nil {
				b.MinConcurrency = v
			}
			budgets[name] = b
			if max != nil {
				in.fact("shadowed-config", max.At(), nil, "max_retries %s has no effect beside retry_budget", max.Str()).Value = max.Str()
			}
		case max != nil:
			if v, err := loose.parse(max); err == nil {
				budgets[name] = &Budget{Kind: "concurrency", Concurrency: v, Line: max.Pos.Line}
			}
		}
	}
}

func (in *input) envoyVirtualHost(vh *tree.Node, budgets map[string]*Budget) {
	vhPolicy, vhHedge := snake(vh, "retry_policy"), snake(vh, "hedge_policy")
	for _, r := range vh.Get("routes").List() {
		action := r.Get("route")
		if !action.Is(tree.Map) {
			continue // a redirect or a direct response
		}
		match := r.Get("match")
		path := match.First("prefix", "path", "path_separated_prefix", "pathSeparatedPrefix").Str()
		if path == "" {
			path = snake(match, "safe_regex").Get("regex").Str()
		}
		pol, hedge := snake(action, "retry_policy"), snake(action, "hedge_policy")
		at := r.At()
		if pol != nil {
			at = pol.At()
		}
		h := in.hop("envoy.RouteConfiguration", vh.Get("name").Str()+"#"+path, at)
		h.Methods = envoyMethods(match)
		for _, c := range envoyClusters(action) {
			h.To = append(h.To, c)
			if h.Budget == nil {
				h.Budget = budgets[c]
			}
		}
		if pol != nil && vhPolicy.Is(tree.Map) {
			in.fact("overridden-policy", pol.At(), h, "the policy of the route replaces the policy of the virtual host as a whole, no field is inherited")
		}
		if pol == nil {
			pol = vhPolicy
		}
		if hedge == nil {
			hedge = vhHedge
		}
		in.envoyRoute(h, action, pol, hedge)
	}
}

// envoyClusters gives the clusters that a route sends to.
func envoyClusters(action *tree.Node) []string {
	if c := action.Get("cluster").Str(); c != "" {
		return []string{c}
	}
	var out []string
	for _, c := range snake(action, "weighted_clusters").Get("clusters").List() {
		if name := c.Get("name").Str(); name != "" && c.Get("weight").Str() != "0" {
			out = append(out, name)
		}
	}
	return out
}

// envoyMethods gives the methods of a :method header match, nil for all.
func envoyMethods(match *tree.Node) []string {
	for _, hd := range match.Get("headers").List() {
		if hd.Get("name").Str() != ":method" {
			continue
		}
		v := snake(hd, "exact_match").Str()
		if sm := snake(hd, "string_match"); sm != nil {
			v = sm.First("exact", "prefix").Str()
			if v == "" {
				v = snake(sm, "safe_regex").Get("regex").Str()
			}
		}
		if v == "" {
			v = snake(hd, "safe_regex_match").Get("regex").Str()
		}
		return strings.FieldsFunc(v, func(r rune) bool { return !(r >= 'A' && r <= 'Z') })
	}
	return nil
}

const envoyRouteTimeout = 15 * time.Second

func (in *input) envoyRoute(h *Hop, action, pol, hedge *tree.Node) {
	timeout := in.duration(h, "timeout", action.Get("timeout"), protoGrammar)
	if timeout == nil {
		timeout = dp(envoyRouteTimeout)
		h.hidden("route timeout 15s")
	}
	if !pol.Is(tree.Map) {
		h.attempts(1)
		h.OverallKnown = true
		if *timeout > 0 {
			h.Overall = timeout
		}
		h.Written = "no retry policy"
		return
	}
	in.unknownKeys(pol, h, "retry_policy", bothCases("retry_on", "num_retries", "per_try_timeout", "per_try_idle_timeout", "retry_priority", "retry_host_predicate",
		"retry_options_predicates", "host_selection_retry_max_attempts", "retriable_status_codes", "retry_back_off", "rate_limited_retry_back_off",
		"retriable_headers", "retriable_request_headers")...)
	n := in.count(h, "num_retries", snake(pol, "num_retries"), number{Min: 0, Max: 1<<32 - 1, Floats: true, Strings: true})
	perTry := in.duration(h, "per_try_timeout", snake(pol, "per_try_timeout"), protoGrammar)
	h.retries("num_retries", n, 1)
	in.envoyWaits(h, snake(pol, "retry_back_off"))
	p := in.envoyRetryOn(h, pol)
	if snake(pol, "num_retries") == nil && len(p.conditions) > 0 {
		h.hidden("num_retries absent: 1")
	}
	if hedge.Is(tree.Map) {
		if on, _ := snake(hedge, "hedge_on_per_try_timeout").Bool(); on && h.Retries() && perTry != nil {
			h.PerTryCopies = true
			h.Hedge = &Hedge{Delay: *perTry, Line: hedge.Pos.Line}
			h.note("the per-try limit starts a copy and does not end the running attempt")
		}
	}
	in.envoyHop(h, p, perTry, timeout)
	if h.PerTryCopies {
		h.TimeoutRetried = Yes
	}
	if snake(pol, "rate_limited_retry_back_off") != nil {
		in.dropFact("retry-on-429-without-retry-after", h)
	}
	if b := h.Budget; b == nil && len(h.To) > 0 && h.Retries() {
		h.hidden("at most %d retries at once for each cluster and priority (max_retries)", envoyDefaultBreaker)
	}
}

// dropFact takes a fact of a hop back.
func (in *input) dropFact(rule string, h *Hop) {
	kept := in.file.Facts[:0]
	for _, f := range in.file.Facts {
		if f.Rule != rule || f.Hop != h {
			kept = append(kept, f)
		}
	}
	in.file.Facts = kept
}

func bothCases(keys ...string) []string {
	out := append([]string(nil), keys...)
	for _, k := range keys {
		out = append(out, camel(k))
	}
	return out
}

// envoyWaits reads retry_back_off.
func (in *input) envoyWaits(h *Hop, b *tree.Node) {
	h.Waits = envoyBackoff(envoyBase, 0)
	if !b.Is(tree.Map) {
		return
	}
	base := in.duration(h, "base_interval", snake(b, "base_interval"), protoGrammar)
	max := in.duration(h, "max_interval", snake(b, "max_interval"), protoGrammar)
	switch {
	case base == nil && h.Refused == "":
		in.refuse(h, b.At(), "retry_back_off needs base_interval")
		return
	case base == nil:
		return
	case *base <= 0:
		in.refuse(h, b.At(), "base_interval must be above 0")
	case max != nil && *max < *base:
		in.fact("backoff-base-over-max", b.At(), h, "base_interval %v is above max_interval %v", *base, *max)
		in.refuse(h, b.At(), "max_interval must not be below base_interval")
	}
	h.Waits = envoyBackoff(*base, or(max, 0))
	h.Waits.Explicit, h.Waits.Line = true, b.Pos.Line
}

// onlyCodes sees a policy whose one condition is a list of status codes that is empty.
func (in *input) onlyCodes(h *Hop, p envoyPolicy, at tree.Pos) {
	if len(p.codes) > 0 || len(p.conditions) != 1 || p.conditions[0] != "retriable-status-codes" || !h.Retries() {
		return
	}
	in.fact("dead-retry-policy", at, h, "the only condition is retriable-status-codes, and there is no code: nothing is retried").Value = h.Written
	h.Written += ", but no status code is retried"
	h.attempts(1)
}

// envoyRetryOn reads the conditions and what activates what.
func (in *input) envoyRetryOn(h *Hop, pol *tree.Node) envoyPolicy {
	on := snake(pol, "retry_on")
	p := envoyPolicy{at: on.At()}
	p.conditions = in.unknownConditions(h, words(on, ","), on.At(), "Envoy skips it, it never matches")
	codes := snake(pol, "retriable_status_codes")
	for _, c := range codes.List() {
		p.codes = append(p.codes, c.Str())
	}
	has := func(cond string) bool {
		for _, c := range p.conditions {
			if c == cond {
				return true
			}
		}
		return false
	}
	if len(p.codes) > 0 && !has("retriable-status-codes") {
		in.fact("retry-condition-inert", codes.At(), h, "retriable_status_codes %s do nothing without retriable-status-codes in retry_on", strings.Join(p.codes, ", "))
		p.codes = nil
	}
	if hd := snake(pol, "retriable_headers"); len(hd.List()) > 0 && !has("retriable-headers") {
		in.fact("retry-condition-inert", hd.At(), h, "retriable_headers do nothing without retriable-headers in retry_on")
	}
	if len(p.conditions) == 0 && h.Refused == "" {
		in.fact("dead-retry-policy", pol.At(), h, "no condition in retry_on: nothing is retried, whatever num_retries says").Value = h.Written
		h.Written += ", but retry_on is empty"
		h.attempts(1)
	}
	in.onlyCodes(h, p, pol.At())
	return p
}
