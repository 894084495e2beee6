package retryconfig

import (
	"time"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// emissaryReader reads Mappings with the global policy of a Module.
// Source: emissary crd_mapping.go, irretrypolicy.py.
var emissaryReader = &Reader{
	Name:    "emissary",
	Title:   "Emissary (Ambassador) Mapping, Module",
	Objects: []string{"Mapping", "Module"},
	Samples: []Reading{{Setting: "spec.retry_policy.num_retries", Counts: "after the first", Name: "mapping.yaml", Text: `apiVersion: getambassador.io/v3alpha1
kind: Mapping
metadata: {name: a}
spec:
  prefix: /a/
  service: a:80
  retry_policy:
    retry_on: 5xx
    num_retries: @N@
`}},
	claims: func(d *doc) bool { return d.is("getambassador.io", "Mapping", "Module") },
	read: func(in *input, own []*doc) {
		var global, globalTimeout *tree.Node
		for _, d := range own {
			if d.kind == "Module" {
				global = d.root.Get("spec", "config", "retry_policy")
				globalTimeout = d.root.Get("spec", "config", "cluster_request_timeout_ms")
			}
		}
		for _, d := range own {
			if d.kind == "Mapping" {
				in.emissary(d, global, globalTimeout)
			}
		}
	},
}

// emissaryOn are the values of which retry_on takes exactly one.
var emissaryOn = []string{"5xx", "gateway-error", "connect-failure", "retriable-4xx", "refused-stream", "retriable-status-codes"}

func (in *input) emissary(d *doc, global, globalTimeout *tree.Node) {
	spec := d.root.Get("spec")
	if spec.Get("host_redirect") != nil && truth(spec.Get("host_redirect")) {
		return
	}
	pol := spec.Get("retry_policy")
	at := spec.At()
	if pol != nil {
		at = pol.At()
	}
	h := in.hop("emissary.Mapping", d.id(), at)
	h.To = []string{spec.Get("service").Str()}
	if m := spec.Get("method").Str(); m != "" && !truth(spec.Get("method_regex")) {
		h.Methods = []string{m}
	}
	tn := spec.Get("timeout_ms")
	if tn == nil {
		tn = globalTimeout
	}
	timeout := in.duration(h, "timeout_ms", tn, millisGrammar)
	if timeout == nil {
		timeout = dp(3 * time.Second)
		h.hidden("timeout_ms 3000")
	}
	if pol == nil {
		pol = global
	}
	if !pol.Is(tree.Map) {
		h.attempts(1)
		h.Written = "no retry_policy"
		h.OverallKnown = true
		if *timeout > 0 {
			h.Overall = timeout
		}
		return
	}
	in.unknownKeys(pol, h, "retry_policy", "retry_on", "num_retries", "per_try_timeout")
	n := in.count(h, "num_retries", pol.Get("num_retries"), counts)
	perTry := in.duration(h, "per_try_timeout", pol.Get("per_try_timeout"), goGrammar)
	h.retries("num_retries", n, 1)
	on := pol.Get("retry_on")
	if !contains(emissaryOn, on.Str()) {
		at := pol.At()
		if on != nil {
			at = on.At()
		}
		in.fact("unknown-condition", at, h, "%q is not a retry condition of a Mapping", on.Str()).Value = on.Str()
		in.refuse(h, at, "retry_on takes exactly one of %v, found %q", emissaryOn, on.Str())
	}
	h.Waits = envoyBackoff(envoyBase, 0)
	in.envoyHop(h, envoyPolicy{conditions: []string{on.Str()}, at: on.At()}, perTry, timeout)
}
