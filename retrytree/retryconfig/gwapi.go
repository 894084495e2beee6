package retryconfig

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

const gatewayGroup = "gateway.networking.k8s.io"

// gwapiReader reads HTTPRoute of the Kubernetes Gateway API. What the file leaves to
// the data plane is a range, never one of the readings.
// Source: sigs.k8s.io/gateway-api v1.4.0, v1.6.3, v1.7.0; GEP-1731, GEP-2257.
var gwapiReader = &Reader{
	Name:    "gateway-api",
	Title:   "Kubernetes Gateway API HTTPRoute, XBackendTrafficPolicy",
	Objects: []string{"HTTPRoute", "XBackendTrafficPolicy"},
	Samples: []Reading{{Setting: "spec.rules[].retry.attempts", Counts: "after the first", Name: "route.yaml", Text: `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: a}
spec:
  rules:
  - timeouts: {request: 10s}
    retry:
      codes: [503]
      attempts: @N@
    backendRefs: [{name: a, port: 80}]
`}},
	claims: func(d *doc) bool {
		return d.is(gatewayGroup, "HTTPRoute") || d.is("gateway.networking.x-k8s.io", "XBackendTrafficPolicy")
	},
	read: func(in *input, own []*doc) {
		for _, d := range own {
			if d.kind == "HTTPRoute" {
				in.httpRoute(d)
			} else {
				in.file.Reason = "a budget without a count: it bounds the load of others' retries"
			}
		}
	},
}

// gwapiAbsent is how many attempts follow the first when the block names none:
// by version and data plane.
var gwapiAbsent = struct{ low, high int64 }{1, 2} // v1.7 and Cilium: 1; Istio, Envoy Gateway: 2

func (in *input) httpRoute(d *doc) {
	linkerd := hasLinkerdRetry(d.root)
	for i, r := range d.root.Get("spec", "rules").List() {
		retry, timeouts := r.Get("retry"), r.Get("timeouts")
		if linkerd && retry == nil && timeouts == nil || len(r.Get("backendRefs").List()) == 0 && retry == nil && timeouts == nil {
			continue
		}
		name := r.Get("name").Str()
		if name == "" {
			name = strconv.Itoa(i)
		}
		at := r.At()
		if e := r.Entry("retry"); e != nil {
			at = e.KeyPos
		}
		h := in.hop("gwapi.HTTPRoute", d.id()+"#"+name, at)
		for _, b := range r.Get("backendRefs").List() {
			ns := b.Get("namespace").Str()
			if ns == "" {
				ns = d.ns()
			}
			h.To = append(h.To, qualify(b.Get("name").Str(), ns))
		}
		h.Methods = gwapiMethods(r.Get("matches"))
		in.gwapiRule(h, r, retry, timeouts)
	}
}

func gwapiMethods(matches *tree.Node) []string {
	var out []string
	for _, m := range matches.List() {
		v := m.Get("method").Str()
		if v == "" {
			return nil
		}
		out = append(out, v)
	}
	return out
}

func (in *input) gwapiRule(h *Hop, r, retry, timeouts *tree.Node) {
	in.unknownKeys(timeouts, h, "timeouts", "request", "backendRequest")
	in.unknownKeys(retry, h, "retry", "codes", "attempts", "backoff")
	request := in.duration(h, "timeouts.request", timeouts.Get("request"), gepGrammar)
	each := in.duration(h, "timeouts.backendRequest", timeouts.Get("backendRequest"), gepGrammar)
	h.OverallKnown = true
	if request != nil && *request > 0 {
		h.Overall = request
	}
	if each != nil && *each > 0 {
		h.perTry(each)
	}
	if request != nil && each != nil && *request > 0 && *each > *request {
		e := timeouts.Entry("backendRequest")
		f := in.fact("per-try-exceeds-overall", e.KeyPos, h, "backendRequest %v is longer than request %v: the API server refuses the object", *each, *request)
		f.Value, f.Limit = each.String(), request.String()
		in.refuse(h, e.KeyPos, "backendRequest timeout cannot be longer than request timeout")
	}
	if !retry.Is(tree.Map) {
		h.attempts(1)
		h.Written = "no retry block"
		h.note("with Istio as data plane the mesh default of 2 more attempts is in force")
		return
	}
	backoff := in.duration(h, "retry.backoff", retry.Get("backoff"), gepGrammar)
	n := in.count(h, "retry.attempts", retry.Get("attempts"), counts)
	in.gwapiCodes(h, retry.Get("codes"))
	h.Waits = envoyBackoff(or(backoff, envoyBase), 0)
	h.Waits.Explicit = backoff != nil
	switch {
	case n == nil && retry.Has("attempts"):
		h.attempts(1) // refused or filled in outside
		h.Attempts = nil
	case n == nil:
		h.AttemptsLow, h.AttemptsHigh = ip(gwapiAbsent.low+1), ip(gwapiAbsent.high+1)
		h.Written = "attempts absent"
		in.fact("version-dependent-default", retry.At(), h, "attempts absent: 1 more attempt by v1.7 of the API and by Cilium, 2 by Istio and Envoy Gateway")
	default:
		h.retries("attempts", n, 0)
		if *n == 0 {
			in.fact("version-dependent-default", retry.Get("attempts").At(), h, "attempts 0 switches retries off up to v1.4 (by the data plane) and from v1.7 on; v1.6.3 refuses it")
		}
	}
	in.gwapiPlanes(h)
}

// gwapiCodes reads the status codes, 400 to 599.
func (in *input) gwapiCodes(h *Hop, codes *tree.Node) {
	p := envoyPolicy{conditions: []string{"connect-failure", "refused-stream"}, at: codes.At()}
	for _, c := range codes.List() {
		if v, err := counts.parse(c); err != nil || v < 400 || v > 599 {
			in.refuse(h, c.At(), "codes: %q is not a status from 400 to 599", c.Str())
			continue
		}
		p.codes = append(p.codes, c.Str())
	}
	h.Conditions = append(p.conditions, p.codes...)
	if len(p.codes) > 0 {
		h.MayHaveRun = Yes
	}
	if h.Refused == "" {
		h.Attempts = ip(2) // as far as the facts about codes are concerned
		in.statusFacts(h, p)
		h.Attempts = nil
	}
}

// gwapiPlanes gives the range that the data plane leaves: whether a per-try timeout is
// retried (Cilium: yes; Istio, Envoy Gateway: no) and the cap of the waits (10 times
// base, Cilium 2 times).
func (in *input) gwapiPlanes(h *Hop) {
	if h.Refused != "" || h.Attempts == nil || *h.Attempts < 2 || h.PerTry == nil {
		return
	}
	high := *h
	high.TimeoutRetried = Yes
	low := high
	low.Waits = envoyBackoff(h.Waits.Base, 2*h.Waits.Base)
	most := high.slowAttempts()
	h.SlowLow, h.SlowHigh = ip(1), most
	h.Worst, h.WorstHigh, h.WorstLow = high.worst(0), high.worst(0), low.worst(0)
	if *most > 1 {
		in.fact("implementation-differs", tree.Pos{}, h, "an attempt that is cut after %v: Istio and Envoy Gateway make 1 attempt, Cilium up to %d", *h.PerTry, *most)
	}
}

// btpReader reads BackendTrafficPolicy of Envoy Gateway.
// Source: envoyproxy/gateway v1.9.1 api/v1alpha1, internal/xds/translator.
var btpReader = &Reader{
	Name:    "envoy-gateway",
	Title:   "Envoy Gateway BackendTrafficPolicy",
	Objects: []string{"BackendTrafficPolicy"},
	Samples: []Reading{{Setting: "spec.retry.numRetries", Counts: "after the first", Name: "btp.yaml", Text: `apiVersion: gateway.envoyproxy.io/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: a}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: a}]
  retry:
    retryOn: {triggers: [5xx]}
    numRetries: @N@
`}},
	claims: func(d *doc) bool { return d.is("gateway.envoyproxy.io", "BackendTrafficPolicy") },
	read: func(in *input, own []*doc) {
		for _, d := range own {
			in.backendTrafficPolicy(d)
		}
	},
}

func (in *input) backendTrafficPolicy(d *doc) {
	spec := d.root.Get("spec")
	retry := spec.Get("retry")
	if retry == nil {
		in.file.Reason = "a policy without retries"
		return
	}
	refs := spec.Get("targetRefs").List()
	if r := spec.Get("targetRef"); r != nil {
		refs = append(refs, r)
	}
	names := []string{}
	for _, r := range refs {
		names = append(names, d.ns()+"/"+r.Get("kind").Str()+"/"+r.Get("name").Str())
	}
	if len(names) == 0 {
		names = []string{d.id()}
	}
	for _, name := range names {
		in.btpHop(in.hop("envoygateway.BackendTrafficPolicy", name, spec.Entry("retry").KeyPos), spec, retry)
	}
}

// btpDefault are the triggers without a retryOn block, with status 503.
var btpDefault = envoyPolicy{conditions: []string{"connect-failure", "refused-stream", "unavailable", "cancelled", "retriable-status-codes"}, codes: []string{"503"}}

func (in *input) btpHop(h *Hop, spec, retry *tree.Node) {
	in.unknownKeys(retry, h, "retry", "numRetries", "numAttemptsPerPriority", "retryOn", "perRetry")
	timeout := in.duration(h, "requestTimeout", spec.Get("timeout", "http", "requestTimeout"), gepGrammar)
	if timeout == nil {
		timeout = dp(envoyRouteTimeout)
		h.hidden("request timeout 15s (Envoy's default; the HTTPRoute may set another)")
	}
	n := in.count(h, "numRetries", retry.Get("numRetries"), counts)
	h.retries("numRetries", n, 2)
	if n == nil {
		h.hidden("numRetries absent: 2")
		in.fact("implicit-default-retry", tree.Pos{}, h, "numRetries absent: 2 more attempts")
	}
	per := retry.Get("perRetry")
	in.unknownKeys(per, h, "perRetry", "timeout", "backOff")
	each := in.duration(h, "perRetry.timeout", per.Get("timeout"), gepGrammar)
	bo := per.Get("backOff")
	in.unknownKeys(bo, h, "backOff", "baseInterval", "maxInterval")
	base := in.duration(h, "baseInterval", bo.Get("baseInterval"), gepGrammar)
	max := in.duration(h, "maxInterval", bo.Get("maxInterval"), gepGrammar)
	if base != nil && max != nil && *max < *base {
		in.fact("backoff-base-over-max", bo.At(), h, "baseInterval %v is above maxInterval %v", *base, *max)
		in.refuse(h, bo.At(), "maxInterval must not be below baseInterval")
	}
	h.Waits = envoyBackoff(or(base, envoyBase), or(max, 0))
	h.Waits.Explicit, h.Waits.Line = base != nil, bo.At().Line
	h.Budget = btpBudget(spec.Get("circuitBreaker"), in)
	in.envoyHop(h, in.btpConditions(h, retry.Get("retryOn")), each, timeout)
}

func (in *input) btpConditions(h *Hop, on *tree.Node) envoyPolicy {
	if !on.Is(tree.Map) {
		h.hidden("retryOn absent: %s with status 503", strings.Join(btpDefault.conditions, ","))
		return btpDefault
	}
	in.unknownKeys(on, h, "retryOn", "triggers", "httpStatusCodes")
	p := envoyPolicy{at: on.At()}
	if t := on.Get("triggers"); t != nil {
		p.conditions, p.at = in.unknownConditions(h, words(t, ","), t.At(), "the API server refuses it"), t.At()
		if len(p.conditions) < len(t.List()) {
			in.refuse(h, t.At(), "triggers: an unknown trigger")
		}
	} else if on.Has("httpStatusCodes") {
		p.conditions = []string{"connect-failure", "refused-stream", "unavailable", "cancelled", "retriable-status-codes"}
	}
	codes := on.Get("httpStatusCodes")
	p.codes = words(codes, ",")
	if len(p.codes) > 0 && !strings.Contains(strings.Join(p.conditions, ","), "retriable-status-codes") {
		in.fact("retry-condition-inert", codes.At(), h, "httpStatusCodes %s do nothing without the trigger retriable-status-codes", strings.Join(p.codes, ", "))
		p.codes = nil
	}
	return p
}

func btpBudget(cb *tree.Node, in *input) *Budget {
	b, max := cb.Get("retryBudget"), cb.Get("maxParallelRetries")
	if b.Is(tree.Map) {
		out := &Budget{Kind: "ratio", Ratio: 0.2, MinConcurrency: 3, Line: b.Pos.Line}
		if v, err := decimal(fraction(b.Get("percent")), time.Second); err == nil {
			out.Ratio = v.Seconds() / 100
		}
		if max != nil {
			in.fact("shadowed-config", max.At(), nil, "maxParallelRetries %s has no effect beside retryBudget", max.Str()).Value = max.Str()
		}
		return out
	}
	if v, err := counts.parse(orNull(max)); err == nil && v > 0 {
		return &Budget{Kind: "concurrency", Concurrency: v, Line: max.Pos.Line}
	}
	return nil
}

// fraction writes {numerator, denominator} of a percentage as a number of percent.
func fraction(n *tree.Node) string {
	num, err1 := strconv.ParseFloat(n.Get("numerator").Str(), 64)
	den, err2 := strconv.ParseFloat(n.Get("denominator").Str(), 64)
	switch {
	case err1 != nil:
		return n.Str()
	case err2 != nil || den <= 0:
		return n.Get("numerator").Str()
	}
	return fmt.Sprintf("%.6f", num/den*100)
}
