package retryconfig

import (
	"strconv"
	"strings"
	"time"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// contourReader reads HTTPProxy routes and the annotations of an Ingress.
// Source: contour v1.33.8 internal/dag/policy.go (retryPolicy).
var contourReader = &Reader{
	Name:    "contour",
	Title:   "Contour HTTPProxy, Ingress annotations",
	Objects: []string{"HTTPProxy", "Ingress"},
	Samples: []Reading{{Setting: "spec.routes[].retryPolicy.count", Counts: "after the first", Name: "proxy.yaml", Text: `apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: a}
spec:
  routes:
  - services: [{name: a, port: 80}]
    retryPolicy:
      perTryTimeout: 1s
      count: @N@
`}},
	claims: func(d *doc) bool {
		return d.is("projectcontour.io", "HTTPProxy") || d.kind == "Ingress" && hasPrefixKey(d.root.Get("metadata", "annotations"), contourPrefix)
	},
	read: func(in *input, own []*doc) {
		for _, d := range own {
			if d.kind == "Ingress" {
				in.contourIngress(d)
				continue
			}
			for i, r := range d.root.Get("spec", "routes").List() {
				in.contourRoute(d, i, r)
			}
		}
	},
}

const contourPrefix = "projectcontour.io/"

// contourTimeout takes Go durations and infinity; ok is false for a bad one.
func contourTimeout(n *tree.Node) (d *time.Duration, ok bool) {
	if n.Missing() {
		return nil, true
	}
	s := n.Str()
	if s == "infinity" || s == "infinite" {
		return dp(0), true
	}
	v, err := goDuration(s, true)
	if err != nil {
		return nil, false
	}
	return &v, true
}

func (in *input) contourRoute(d *doc, i int, r *tree.Node) {
	pol := r.Get("retryPolicy")
	at := r.At()
	if pol != nil {
		at = pol.At()
	}
	h := in.hop("contour.HTTPProxy", d.id()+"#"+strconv.Itoa(i), at)
	for _, s := range r.Get("services").List() {
		h.To = append(h.To, qualify(s.Get("name").Str(), d.ns()))
	}
	timeout, ok := contourTimeout(r.Get("timeoutPolicy", "response"))
	if !ok {
		in.refuseDuration(h, "timeoutPolicy.response", r.Get("timeoutPolicy", "response"), errSpelling)
	}
	in.contourPolicy(h, pol, timeout)
}

// contourPolicy reads a retry policy: count 0 is 1, -1 is off.
func (in *input) contourPolicy(h *Hop, pol *tree.Node, timeout *time.Duration) {
	if timeout == nil {
		timeout = dp(envoyRouteTimeout)
		h.hidden("response timeout 15s")
	}
	if !pol.Is(tree.Map) {
		h.attempts(1)
		h.Written = "no retryPolicy"
		h.OverallKnown = true
		if *timeout > 0 {
			h.Overall = timeout
		}
		return
	}
	in.unknownKeys(pol, h, "retryPolicy", "count", "perTryTimeout", "retryOn", "retriableStatusCodes")
	count := pol.Get("count")
	n := in.count(h, "count", count, number{Min: -1, Max: 1<<31 - 1, Floats: true})
	switch {
	case n == nil:
		h.retries("count", nil, 1)
	case *n == 0:
		in.fact("zero-does-not-disable", count.At(), h, "count 0 makes 1 more attempt; -1 switches retries off").Value = "0"
		h.retries("count", n, 1)
		h.attempts(2)
	case *n < 0:
		h.attempts(1)
		h.Written = "count -1 = off"
	default:
		h.retries("count", n, 1)
	}
	perTry, ok := contourTimeout(pol.Get("perTryTimeout"))
	if !ok {
		in.fact("invalid-duration", pol.Get("perTryTimeout").At(), h, "perTryTimeout %q is no duration: Contour ignores it without a word", pol.Get("perTryTimeout").Str())
	}
	p := envoyPolicy{at: pol.At()}
	p.conditions = words(pol.Get("retryOn"), ",")
	if len(p.conditions) == 0 {
		p.conditions = []string{"5xx"}
		h.hidden("retryOn 5xx")
	} else {
		p.at = pol.Get("retryOn").At()
		known := in.unknownConditions(h, p.conditions, p.at, "the API server refuses it")
		if len(known) < len(p.conditions) {
			in.refuse(h, p.at, "retryOn: an unknown condition")
		}
		p.conditions = known
	}
	p.codes = words(pol.Get("retriableStatusCodes"), ",")
	if len(p.codes) > 0 && !contains(p.conditions, "retriable-status-codes") {
		in.fact("retry-condition-inert", pol.Get("retriableStatusCodes").At(), h, "retriableStatusCodes %s do nothing without retriable-status-codes in retryOn", strings.Join(p.codes, ", "))
		p.codes = nil
	}
	h.Waits = envoyBackoff(envoyBase, 0)
	if h.Retries() {
		in.envoyHop(h, p, perTry, timeout)
		return
	}
	h.OverallKnown = true
	if *timeout > 0 {
		h.Overall = timeout
	}
}

func (in *input) contourIngress(d *doc) {
	an := d.root.Get("metadata", "annotations")
	on := an.Get(contourPrefix + "retry-on")
	if on == nil && an.Get(contourPrefix+"num-retries") == nil {
		return
	}
	h := in.hop("contour.Ingress", d.id(), an.At())
	h.To = ingressBackends(d)
	timeout, _ := contourTimeout(an.Get(contourPrefix + "response-timeout"))
	if on == nil {
		in.fact("dead-retry-policy", an.At(), h, "num-retries without retry-on: nothing is retried")
		h.attempts(1)
		h.OverallKnown = true
		h.Overall = dp(or(timeout, envoyRouteTimeout))
		return
	}
	pol := &tree.Node{Kind: tree.Map, Pos: an.Pos}
	add := func(key, annotation string) {
		if n := an.Get(contourPrefix + annotation); n != nil {
			v := *n
			v.Quoted = false
			pol.Entries = append(pol.Entries, tree.Entry{Key: key, KeyPos: n.Pos, Value: &v})
		}
	}
	add("count", "num-retries")
	add("perTryTimeout", "per-try-timeout")
	add("retryOn", "retry-on")
	in.contourPolicy(h, pol, timeout)
}
