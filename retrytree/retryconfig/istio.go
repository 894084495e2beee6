package retryconfig

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

const istioGroup = "networking.istio.io"

// istioReader reads VirtualService routes with the mesh default and the budgets of
// DestinationRules in the same file.
// Source: istio.io/api v1.32.0, pilot/pkg/networking/core/route/retry of istio/istio.
var istioReader = &Reader{
	Name:    "istio",
	Title:   "Istio VirtualService, DestinationRule, MeshConfig",
	Objects: []string{"VirtualService", "DestinationRule", "IstioOperator", "MeshConfig"},
	Samples: []Reading{{Setting: "spec.http[].retries.attempts", Counts: "after the first", Name: "vs.yaml", Text: `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: a}
spec:
  hosts: [a]
  http:
  - timeout: 10s
    retries:
      attempts: @N@
    route: [{destination: {host: a}}]
`}},
	claims: func(d *doc) bool {
		return d.group == istioGroup || d.is("install.istio.io", "IstioOperator") || d.root.Get("meshConfig").Is(tree.Map) ||
			d.root.Get("defaultHttpRetryPolicy").Is(tree.Map) || d.root.Get("defaultInboundHttpRetryPolicy").Is(tree.Map) || isMeshMap(d)
	},
	read: readIstio,
}

// istioDefault is the retry policy of a route without a retries block.
var istioDefault = []string{"connect-failure", "refused-stream", "unavailable", "cancelled", "retriable-status-codes"}

func readIstio(in *input, own []*doc) {
	objects := &istioObjects{rules: map[string]*hostRule{}}
	in.file.istio = objects
	for _, d := range own {
		if p := in.istioMesh(d); p != nil {
			objects.mesh = p
		}
		switch d.kind {
		case "DestinationRule":
			in.destinationRule(d, objects.rules)
		case "EnvoyFilter":
			in.envoyFilter(d)
		}
	}
	for _, d := range own {
		if d.kind == "VirtualService" {
			in.virtualService(d, objects)
		}
	}
}

// istioDuration is the Go spelling of at least 1 ms in whole milliseconds.
var istioGrammar = grammar{"a Go duration such as 250ms, 2s or 1m30s, at least 1ms", func(s string, q bool) (time.Duration, error) {
	d, err := goDuration(s, q)
	switch {
	case err != nil:
		return 0, err
	case d < time.Millisecond:
		return 0, errors.New("below 1ms")
	case d%time.Millisecond != 0:
		return 0, errors.New("not in whole milliseconds")
	}
	return d, nil
}}

var istioRouteKeys = []string{"name", "match", "route", "redirect", "directResponse", "delegate", "rewrite", "timeout", "retries", "fault", "mirror", "mirrors",
	"mirrorPercentage", "mirrorPercent", "mirror_percent", "corsPolicy", "headers"}

func (in *input) virtualService(d *doc, objects *istioObjects) {
	for i, r := range d.root.Get("spec", "http").List() {
		if r.Has("redirect") || r.Has("directResponse") || r.Has("delegate") || !r.Is(tree.Map) {
			continue
		}
		name := r.Get("name").Str()
		if name == "" {
			name = strconv.Itoa(i)
		}
		at := r.At()
		if e := r.Entry("retries"); e != nil {
			at = e.KeyPos
		}
		h := in.hop("istio.VirtualService", d.id()+"#"+name, at)
		in.unknownKeys(r, h, "a route", istioRouteKeys...)
		h.Methods = istioMethods(r.Get("match"))
		for _, dst := range r.Get("route").List() {
			if w := dst.Get("weight"); w.Str() == "0" {
				continue
			}
			if host := dst.Get("destination", "host").Str(); host != "" {
				h.To = append(h.To, qualify(host, d.ns()))
			}
		}
		timeout := in.duration(h, "timeout", r.Get("timeout"), istioGrammar)
		if r.Get("fault").Is(tree.Map) && (timeout != nil || r.Has("retries")) {
			in.fact("fault-injection-disables", r.Entry("fault").KeyPos, h, "timeouts and retries of a route are off while it injects faults")
		}
		if f := r.Get("fault"); f.Is(tree.Map) {
			h.attempts(1)
			h.Written = "fault injection: no retries, no timeout"
			continue
		}
		if r.Has("retries") && !r.Get("retries").Missing() {
			in.istioPolicy(h, r.Get("retries"), timeout)
		} else {
			in.istioNoBlock(h, timeout, objects.mesh)
		}
		for _, host := range h.To {
			if r := objects.rules[host]; r != nil {
				in.applyRule(h, r)
			}
		}
		in.istioExposure(h, d)
	}
}

// istioExposure notes who is affected by an object that binds gateways only.
func (in *input) istioExposure(h *Hop, d *doc) {
	gws := d.root.Get("spec", "gateways").List()
	if len(gws) == 0 {
		return
	}
	for _, g := range gws {
		if g.Str() == "mesh" {
			return
		}
	}
	h.exposure = "the object binds gateways only: callers inside the mesh keep the mesh default of 2 more attempts"
	h.note("%s", h.exposure)
}

// qualify writes a host as Istio resolves it.
func qualify(host, ns string) string {
	if !strings.Contains(host, ".") && !strings.Contains(host, "*") {
		return host + "." + ns + ".svc.cluster.local"
	}
	return host
}

// istioMethods gives the methods of the matches, or nil when one match takes all.
func istioMethods(match *tree.Node) []string {
	var out []string
	for _, m := range match.List() {
		me := m.Get("method")
		if me == nil {
			return nil
		}
		v := me.First("exact", "regex", "prefix").Str()
		if v == "" {
			return nil
		}
		out = append(out, strings.FieldsFunc(v, func(r rune) bool { return !(r >= 'A' && r <= 'Z') })...)
	}
	return out
}

// istioNoBlock is a route without a retries block: the mesh default.
func (in *input) istioNoBlock(h *Hop, timeout *time.Duration, mesh *tree.Node) {
	h.meshDefault = true
	if mesh != nil {
		in.istioPolicy(h, mesh, timeout)
		h.Hidden = append(h.Hidden, "the retry policy comes from the mesh configuration")
		return
	}
	h.Default = true
	h.Attempts = ip(3)
	h.Written = "no retries block: mesh default of 2 after the first"
	h.hidden("2 more attempts on %s (older releases also on 503), unless a mesh configuration that was not read says otherwise", strings.Join(istioDefault, ","))
	h.Waits = envoyBackoff(envoyBase, 0)
	in.envoyHop(h, envoyPolicy{conditions: istioDefault}, nil, timeout)
	in.fact("implicit-default-retry", tree.Pos{}, h, "nobody wrote retries, still a call makes up to 3 attempts (mesh default)").Value = "3"
}

var istioRetryKeys = []string{"attempts", "perTryTimeout", "retryOn", "retryRemoteLocalities", "retryIgnorePreviousHosts", "backoff"}

// istioPolicy is a written HTTPRetry.
func (in *input) istioPolicy(h *Hop, r *tree.Node, timeout *time.Duration) {
	in.unknownKeys(r, h, "retries", istioRetryKeys...)
	n := in.count(h, "attempts", r.Get("attempts"), number{Min: 0, Max: 1<<31 - 1, Floats: true})
	perTry := in.duration(h, "perTryTimeout", r.Get("perTryTimeout"), istioGrammar)
	backoff := in.duration(h, "backoff", r.Get("backoff"), istioGrammar)
	if r.Has("attempts") && n == nil {
		return // refused or filled in outside
	}
	h.retries("attempts", n, 0)
	if or(n, 0) == 0 {
		in.istioOff(h, r, timeout)
		return
	}
	p := in.istioConditions(h, r)
	in.onlyCodes(h, p, r.At())
	h.Waits = envoyBackoff(or(backoff, envoyBase), 0)
	h.Waits.Explicit = backoff != nil
	in.envoyHop(h, p, perTry, timeout)
}

// istioOff is a block that switches retries off.
func (in *input) istioOff(h *Hop, r *tree.Node, timeout *time.Duration) {
	h.Written += ", retries are off"
	h.OverallKnown = true
	if timeout != nil {
		h.Overall = timeout
	}
	for _, k := range []string{"perTryTimeout", "retryOn", "retryRemoteLocalities"} {
		if e := r.Entry(k); e != nil {
			in.fact("dead-retry-policy", e.KeyPos, h, "a retries block without attempts switches retries off, so %s has no effect (and the admission check refuses it)", k)
			in.fact("invalid-policy-rejected", e.KeyPos, h, "the admission check refuses %s while attempts is 0", k)
			return
		}
	}
}

// istioConditions reads retryOn; status codes may stand among the conditions.
func (in *input) istioConditions(h *Hop, r *tree.Node) envoyPolicy {
	on := r.Get("retryOn")
	p := envoyPolicy{at: on.At()}
	list := words(on, ",")
	if len(list) == 0 {
		p.conditions = istioDefault
		h.hidden("retryOn absent: %s; an answer of 500 or 503 is not retried", strings.Join(istioDefault, ","))
		p.at = tree.Pos{}
		return p
	}
	in.istioSpaces(h, on)
	conds, codes := splitCodes(list, istioStatus)
	p.conditions = in.unknownConditions(h, conds, on.At(), "the admission check refuses it, Envoy skips it")
	p.codes = codes
	if len(codes) > 0 {
		p.conditions = append(p.conditions, "retriable-status-codes")
	}
	if on.Is(tree.Seq) {
		in.refuse(h, on.At(), "retryOn: found a list, expected one text with commas")
	}
	return p
}

// istioSpaces sees conditions with white space around them: the converter trims it, the
// admission check does not.
// Source: pilot retry.go parseRetryOn, pkg/config/validation validateHTTPRetry.
func (in *input) istioSpaces(h *Hop, on *tree.Node) {
	for _, c := range strings.Split(on.Str(), ",") {
		if c != strings.TrimSpace(c) {
			in.fact("invalid-policy-rejected", on.At(), h, "retryOn: the admission check takes %q with its white space and refuses it; without that check it is read as %q", c, strings.TrimSpace(c)).Value = c
			return
		}
	}
}

// istioStatus reports a number that Istio takes for a status code: a registered one.
func istioStatus(n int) bool {
	return n >= 100 && n <= 103 || n >= 200 && n <= 208 || n == 226 || n >= 300 && n <= 308 && n != 306 || n >= 400 && n <= 418 || n >= 421 && n <= 426 ||
		n == 428 || n == 429 || n == 431 || n == 451 || n >= 500 && n <= 508 || n == 510 || n == 511
}

// orNull gives an absent node a body, so that it can be parsed and fail.
func orNull(n *tree.Node) *tree.Node {
	if n == nil {
		return &tree.Node{}
	}
	return n
}
