package retryconfig

import (
	"strings"
	"time"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

const ingressNginx = "nginx.ingress.kubernetes.io/"

// ingressNginxReader reads Ingress objects of the class nginx and the ConfigMap of the
// controller.
// Source: ingress-nginx annotations and ConfigMap documentation, balancer.lua.
var ingressNginxReader = &Reader{
	Name:    "ingress-nginx",
	Title:   "ingress-nginx annotations, ConfigMap",
	Objects: []string{"Ingress", "ConfigMap"},
	Samples: []Reading{{Setting: ingressNginx + "proxy-next-upstream-tries", Counts: "all", Name: "ing.yaml", Text: `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: a
  annotations:
    nginx.ingress.kubernetes.io/proxy-next-upstream-tries: "@N@"
spec: {ingressClassName: nginx}
`}},
	claims: func(d *doc) bool {
		switch d.kind {
		case "Ingress":
			return isNginxClass(d.root)
		case "ConfigMap":
			return d.version == "v1" && hasPrefixKey(d.root.Get("data"), "proxy-next-upstream", "retry-non-idempotent")
		}
		return false
	},
	read: func(in *input, own []*doc) {
		var global *tree.Node
		for _, d := range own {
			if d.kind == "ConfigMap" {
				global = d.root.Get("data")
				in.ingressHop(in.hop("ingress-nginx.ConfigMap", d.id(), global.At()), nil, global)
			}
		}
		for _, d := range own {
			if d.kind == "Ingress" {
				an := d.root.Get("metadata", "annotations")
				at := d.root.At()
				for _, e := range an.Map() {
					if strings.HasPrefix(e.Key, ingressNginx+"proxy-next-upstream") {
						at = e.KeyPos
						break
					}
				}
				h := in.hop("ingress-nginx.Ingress", d.id(), at)
				h.To = ingressBackends(d)
				in.ingressHop(h, an, global)
			}
		}
	},
}

func ingressBackends(d *doc) []string {
	var out []string
	add := func(b *tree.Node) {
		n := b.Get("service", "name").Str()
		if n == "" {
			n = b.Get("serviceName").Str()
		}
		if n != "" && !contains(out, qualify(n, d.ns())) {
			out = append(out, qualify(n, d.ns()))
		}
	}
	spec := d.root.Get("spec")
	add(spec.First("defaultBackend", "backend"))
	for _, r := range spec.Get("rules").List() {
		for _, p := range r.Get("http", "paths").List() {
			add(p.Get("backend"))
		}
	}
	return out
}

func isNginxClass(root *tree.Node) bool {
	class := root.Get("spec", "ingressClassName").Str()
	an := root.Get("metadata", "annotations")
	if class == "" {
		class = an.Get("kubernetes.io/ingress.class").Str()
	}
	return strings.Contains(class, "nginx") || hasPrefixKey(an, ingressNginx)
}

func hasPrefixKey(n *tree.Node, prefixes ...string) bool {
	for _, e := range n.Map() {
		for _, p := range prefixes {
			if strings.HasPrefix(e.Key, p) {
				return true
			}
		}
	}
	return false
}

// ingressHop reads the settings of one Ingress; what it lacks comes from the ConfigMap,
// then from the controller.
func (in *input) ingressHop(h *Hop, an, global *tree.Node) {
	get := func(key string) *tree.Node {
		if v := an.Get(ingressNginx + key); v != nil {
			return v
		}
		return global.Get(key)
	}
	seconds := func(key string, def time.Duration) time.Duration {
		if d := in.duration(h, key, get(key), secondsGrammar); d != nil {
			return *d
		}
		return def
	}
	h.phases(seconds("proxy-connect-timeout", 5*time.Second), seconds("proxy-send-timeout", 60*time.Second), seconds("proxy-read-timeout", 60*time.Second))
	if d := seconds("proxy-next-upstream-timeout", 0); d > 0 {
		h.Overall, h.StopsOnly = &d, true
	}
	h.OverallKnown = true
	h.Waits = Backoff{Elsewhere: true, Source: "the next pod at once; the balancer may pick the same one again"}
	h.TimeoutRetried = Yes
	in.ingressTries(h, get("proxy-next-upstream-tries"))
	list := []string{"error", "timeout"}
	if on := get("proxy-next-upstream"); on != nil {
		list = words(on, " ")
		in.nextUpstream(h, list, on.At())
		h.TimeoutRetried = No
		if contains(list, "timeout") {
			h.TimeoutRetried = Yes
		}
	}
	h.Conditions = list
	if contains(list, "off") {
		h.attempts(1)
		h.Unbounded = false
		h.Written = "proxy-next-upstream off"
	}
	if v := get("retry-non-idempotent"); v.Str() == "true" && an.Get(ingressNginx+"retry-non-idempotent") == nil && h.Retries() {
		h.MayHaveRun, h.Methods = Yes, []string{"POST", "LOCK", "PATCH"}
	}
	if e := an.Entry(ingressNginx + "retry-non-idempotent"); e != nil {
		in.fact("renamed-or-unknown-field", e.KeyPos, h, "retry-non-idempotent is a key of the ConfigMap, not an annotation: it is ignored here; the word non_idempotent in proxy-next-upstream is what acts")
	}
	if get("proxy-next-upstream-tries") == nil && get("proxy-next-upstream") == nil && h.Retries() {
		h.Default = true
		in.fact("implicit-default-retry", tree.Pos{}, h, "nobody wrote retries, still a request makes up to 3 attempts on error and timeout").Value = "3"
	}
	if h.Retries() {
		in.fact("sticky-retry", tree.Pos{}, h, "the balancer may send the next attempt to the same pod")
	}
}

func (in *input) ingressTries(h *Hop, tries *tree.Node) {
	n := in.count(h, "proxy-next-upstream-tries", tries, number{Min: 0, Max: 1 << 31, Strings: true})
	if n != nil && *n == 0 {
		h.Unbounded = true
		h.Written = "tries 0 = no limit"
		return
	}
	h.total("proxy-next-upstream-tries", n, 3)
	if n == nil {
		h.hidden("tries 3, on error and timeout")
	}
}
