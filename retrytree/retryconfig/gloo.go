package retryconfig

import (
	"strconv"
	"time"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// glooReader reads retries of Gloo Edge, OSM and App Mesh, which compile to Envoy.
// Source: gloo api/v1/options/retries; OSM policy v1alpha1 (archived); App Mesh API.
var glooReader = &Reader{
	Name:    "gloo-osm-appmesh",
	Title:   "Gloo VirtualService and RouteTable, OSM Retry, App Mesh VirtualRouter",
	Objects: []string{"VirtualService (gateway.solo.io)", "RouteTable", "Retry (policy.openservicemesh.io)", "VirtualRouter (appmesh.k8s.aws)"},
	Samples: []Reading{
		{Setting: "options.retries.numRetries (Gloo)", Counts: "after the first", Name: "gloo.yaml", Text: `apiVersion: gateway.solo.io/v1
kind: VirtualService
metadata: {name: a}
spec:
  virtualHost:
    routes:
    - options:
        retries:
          retryOn: 5xx
          numRetries: @N@
`},
		{Setting: "spec.retryPolicy.numRetries (OSM)", Counts: "after the first", Name: "osm.yaml", Text: `apiVersion: policy.openservicemesh.io/v1alpha1
kind: Retry
metadata: {name: a}
spec:
  retryPolicy:
    retryOn: 5xx
    numRetries: @N@
`},
		{Setting: "httpRoute.retryPolicy.maxRetries (App Mesh)", Counts: "after the first", Name: "appmesh.yaml", Text: `apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualRouter
metadata: {name: a}
spec:
  routes:
  - name: r
    httpRoute:
      retryPolicy:
        httpRetryEvents: [server-error]
        perRetryTimeout: {unit: ms, value: 200}
        maxRetries: @N@
`}},
	claims: func(d *doc) bool {
		return d.is("gateway.solo.io", "VirtualService", "RouteTable") || d.is("policy.openservicemesh.io", "Retry") || d.is("appmesh.k8s.aws", "VirtualRouter")
	},
	read: func(in *input, own []*doc) {
		for _, d := range own {
			switch d.kind {
			case "Retry":
				in.osmRetry(d)
			case "VirtualRouter":
				for i, r := range d.root.Get("spec", "routes").List() {
					in.appMesh(d, i, r)
				}
			default:
				in.gloo(d)
			}
		}
	},
}

func (in *input) gloo(d *doc) {
	vh := d.root.Get("spec", "virtualHost")
	if d.kind == "RouteTable" {
		vh = d.root.Get("spec")
	}
	shared := vh.Get("options")
	for i, r := range vh.Get("routes").List() {
		if r.Has("redirectAction") || r.Has("directResponseAction") || r.Has("delegateAction") {
			continue
		}
		name := r.Get("name").Str()
		if name == "" {
			name = strconv.Itoa(i)
		}
		pol := r.Get("options", "retries")
		if pol != nil && shared.Get("retries") != nil {
			in.fact("overridden-policy", pol.At(), nil, "the retries of the route replace those of the virtual host as a whole")
		}
		at := r.At()
		if pol != nil {
			at = pol.At()
		} else {
			pol = shared.Get("retries")
		}
		h := in.hop("gloo."+d.kind, d.id()+"#"+name, at)
		timeout := in.duration(h, "timeout", r.Get("options", "timeout"), goGrammar)
		if pol == nil {
			h.attempts(1)
			h.Written = "no retries block"
			h.OverallKnown = true
			h.Overall = dp(or(timeout, envoyRouteTimeout))
			if *h.Overall == 0 {
				h.Overall = nil
			}
			continue
		}
		in.shim(h, pol, timeout, "retryBackOff")
	}
}

// shim is the shape that Gloo and OSM share.
func (in *input) shim(h *Hop, pol *tree.Node, timeout *time.Duration, backoffKey string) {
	if timeout == nil {
		timeout = dp(envoyRouteTimeout)
		h.hidden("route timeout 15s")
	}
	in.unknownKeys(pol, h, "retries", "retryOn", "numRetries", "perTryTimeout", "retryBackOff", "previousPriorities", "retriableStatusCodes", "rateLimitedRetryBackOff", "retryBackoffBaseInterval")
	n := in.count(h, "numRetries", pol.Get("numRetries"), counts)
	if n != nil && *n == 0 && backoffKey == "retryBackOff" {
		n = nil // proto zero counts as unset
	}
	perTry := in.duration(h, "perTryTimeout", pol.Get("perTryTimeout"), goGrammar)
	h.retries("numRetries", n, 1)
	base := in.duration(h, "baseInterval", pol.Get(backoffKey, "baseInterval"), goGrammar)
	max := in.duration(h, "maxInterval", pol.Get(backoffKey, "maxInterval"), goGrammar)
	if b := pol.Get("retryBackoffBaseInterval"); b != nil {
		base = in.duration(h, "retryBackoffBaseInterval", b, goGrammar)
	}
	if base != nil && max != nil && *max < *base {
		in.fact("backoff-base-over-max", pol.Get(backoffKey).At(), h, "baseInterval %v is above maxInterval %v", *base, *max)
		in.refuse(h, pol.Get(backoffKey).At(), "maxInterval must not be below baseInterval")
	}
	h.Waits = envoyBackoff(or(base, envoyBase), or(max, 0))
	h.Waits.Explicit = base != nil
	on := pol.Get("retryOn")
	p := envoyPolicy{at: on.At(), conditions: in.unknownConditions(h, words(on, ","), on.At(), "Envoy skips it, it never matches"), codes: words(pol.Get("retriableStatusCodes"), ",")}
	if len(p.conditions) == 0 {
		in.fact("dead-retry-policy", pol.At(), h, "no condition in retryOn: nothing is retried, whatever numRetries says")
		h.attempts(1)
	}
	in.envoyHop(h, p, perTry, timeout)
}

func (in *input) osmRetry(d *doc) {
	pol := d.root.Get("spec", "retryPolicy")
	h := in.hop("osm.Retry", d.id(), pol.At())
	for _, t := range d.root.Get("spec", "destinations").List() {
		h.To = append(h.To, t.Get("name").Str())
	}
	if s := d.root.Get("spec", "source", "name").Str(); s != "" {
		h.From = []string{s}
	}
	in.shim(h, pol, nil, "-")
}

// appMeshEvents maps App Mesh's events to Envoy's conditions.
var appMeshEvents = map[string][]string{"server-error": {"5xx"}, "gateway-error": {"gateway-error"}, "client-error": {"retriable-4xx"}, "stream-error": {"refused-stream"},
	"connection-error": {"connect-failure"}, "cancelled": {"cancelled"}, "deadline-exceeded": {"deadline-exceeded"}, "internal": {"internal"},
	"resource-exhausted": {"resource-exhausted"}, "unavailable": {"unavailable"}}

func (in *input) appMesh(d *doc, i int, r *tree.Node) {
	name := r.Get("name").Str()
	if name == "" {
		name = strconv.Itoa(i)
	}
	for _, proto := range []string{"httpRoute", "http2Route", "grpcRoute"} {
		route := r.Get(proto)
		pol := route.Get("retryPolicy")
		if pol == nil {
			continue
		}
		h := in.hop("appmesh.VirtualRouter", d.id()+"#"+name, pol.At())
		if m := route.Get("match", "method").Str(); m != "" && proto != "grpcRoute" {
			h.Methods = []string{m}
		}
		n := in.count(h, "maxRetries", pol.Get("maxRetries"), counts)
		h.retries("maxRetries", n, 0)
		if n == nil && h.Refused == "" && h.Undecided == "" {
			in.refuse(h, pol.At(), "maxRetries must be present")
		}
		p := envoyPolicy{at: pol.At()}
		for _, k := range []string{"httpRetryEvents", "tcpRetryEvents", "grpcRetryEvents"} {
			for _, w := range words(pol.Get(k), ",") {
				if c := appMeshEvents[w]; c != nil {
					p.conditions = append(p.conditions, c...)
				} else {
					in.badCondition(h, pol.Get(k).At(), w)
				}
			}
		}
		h.Waits = envoyBackoff(envoyBase, 0)
		timeout := in.unitValue(h, "timeout.perRequest", route.Get("timeout", "perRequest"))
		if timeout == nil {
			timeout = dp(envoyRouteTimeout)
			h.hidden("request timeout 15s")
		}
		in.envoyHop(h, p, in.unitValue(h, "perRetryTimeout", pol.Get("perRetryTimeout")), timeout)
	}
}

// unitValue reads {unit: ms, value: 200}.
func (in *input) unitValue(h *Hop, key string, n *tree.Node) *time.Duration {
	if !n.Is(tree.Map) {
		return nil
	}
	unit := units[n.Get("unit").Str()]
	d, err := whole(n.Get("value").Str(), max(unit, 1))
	if err != nil || unit <= 1 {
		in.refuseDuration(h, key, n, errSpelling)
		return nil
	}
	return &d
}
