package retryconfig

import (
	"strings"
	"time"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// kumaReader reads MeshRetry with the MeshTimeout of the same file, and the older Retry.
// Source: kumahq/kuma pkg/plugins/policies/meshretry, pkg/defaults/mesh.
var kumaReader = &Reader{
	Name:    "kuma",
	Title:   "Kuma MeshRetry, MeshTimeout (universal and Kubernetes)",
	Objects: []string{"MeshRetry", "MeshTimeout", "Retry"},
	Samples: []Reading{{Setting: "to[].default.http.numRetries", Counts: "after the first", Name: "meshretry.yaml", Text: `type: MeshRetry
name: a
mesh: default
spec:
  to:
  - targetRef: {kind: MeshService, name: a}
    default:
      http:
        perTryTimeout: 1s
        numRetries: @N@
`}},
	claims: func(d *doc) bool {
		switch kumaKind(d) {
		case "MeshRetry", "MeshTimeout", "Retry":
			return true
		}
		return false
	},
	read: readKuma,
}

func kumaKind(d *doc) string {
	if d.group == "kuma.io" {
		return d.kind
	}
	if d.version == "" && d.root.Get("mesh") != nil {
		return d.root.Get("type").Str()
	}
	return ""
}

// kumaTarget names what a policy is about: mesh default, or the service.
func kumaTarget(ref *tree.Node) string {
	if n := ref.Get("name").Str(); n != "" {
		return n
	}
	return "mesh default"
}

const kumaRequest = 15 * time.Second

func readKuma(in *input, own []*doc) {
	timeouts := map[string]*tree.Node{}
	for _, d := range own {
		if kumaKind(d) == "MeshTimeout" {
			for _, to := range append(d.root.Get("spec", "to").List(), d.root.Get("spec", "rules").List()...) {
				if t := to.Get("default", "http", "requestTimeout"); t != nil {
					timeouts[kumaTarget(to.Get("targetRef"))] = t
				}
			}
		}
	}
	for _, d := range own {
		switch kumaKind(d) {
		case "MeshRetry":
			for _, to := range d.root.Get("spec", "to").List() {
				in.kumaTo(to, timeouts)
			}
		case "Retry":
			in.kumaOld(d, timeouts)
		}
	}
}

func (in *input) kumaTo(to *tree.Node, timeouts map[string]*tree.Node) {
	target := kumaTarget(to.Get("targetRef"))
	def := to.Get("default")
	for _, proto := range []string{"http", "grpc", "tcp"} {
		p := def.Get(proto)
		if p == nil {
			continue
		}
		name := target
		if target == "mesh default" || proto != "http" {
			name += " " + proto
		}
		h := in.hop("kuma.MeshRetry", name, p.At())
		if target != "mesh default" {
			h.To = []string{target}
		}
		if proto == "tcp" {
			n := in.count(h, "maxConnectAttempt", p.Get("maxConnectAttempt"), counts)
			h.total("maxConnectAttempt", n, 1)
			h.Undecided = "attempts to connect, not requests"
			h.Waits = Backoff{Open: true}
			continue
		}
		t := timeouts[target]
		if t == nil {
			t = timeouts["mesh default"]
		}
		in.kumaPolicy(h, p, proto, in.kumaTimeout(h, t))
	}
}

func (in *input) kumaTimeout(h *Hop, n *tree.Node) *time.Duration {
	d := in.duration(h, "requestTimeout", n, goGrammar)
	if d == nil {
		d = dp(kumaRequest)
		h.hidden("request timeout 15s (MeshTimeout of every new mesh)")
	}
	return d
}

// kumaConditions maps Kuma's names to Envoy's.
var kumaConditions = map[string]string{"5xx": "5xx", "gatewayerror": "gateway-error", "reset": "reset", "retriable4xx": "retriable-4xx", "connectfailure": "connect-failure",
	"envoyratelimited": "envoy-ratelimited", "refusedstream": "refused-stream", "http3postconnectfailure": "http3-post-connect-failure",
	"canceled": "cancelled", "cancelled": "cancelled", "deadlineexceeded": "deadline-exceeded", "internal": "internal", "resourceexhausted": "resource-exhausted", "unavailable": "unavailable"}

func (in *input) kumaPolicy(h *Hop, p *tree.Node, proto string, timeout *time.Duration) {
	in.unknownKeys(p, h, proto, "numRetries", "perTryTimeout", "backOff", "rateLimitedBackOff", "retryOn", "retriableResponseHeaders", "retriableRequestHeaders", "hostSelection", "hostSelectionMaxAttempts")
	n := in.count(h, "numRetries", p.Get("numRetries"), counts)
	perTry := in.duration(h, "perTryTimeout", p.Get("perTryTimeout"), goGrammar)
	base := in.duration(h, "baseInterval", p.Get("backOff", "baseInterval"), goGrammar)
	max := in.duration(h, "maxInterval", p.Get("backOff", "maxInterval"), goGrammar)
	h.retries("numRetries", n, 1)
	if base != nil && max != nil && *max < *base {
		in.fact("backoff-base-over-max", p.Get("backOff").At(), h, "baseInterval %v is above maxInterval %v", *base, *max)
		in.refuse(h, p.Get("backOff").At(), "maxInterval must not be below baseInterval")
	}
	if n != nil && *n == 0 {
		h.Written = "numRetries 0 = no policy"
		h.Overall, h.OverallKnown = timeout, true
		for _, k := range []string{"perTryTimeout", "retryOn"} {
			if e := p.Entry(k); e != nil {
				in.fact("dead-retry-policy", e.KeyPos, h, "numRetries 0 removes the policy, so %s has no effect", k)
				break
			}
		}
		return
	}
	h.Waits = envoyBackoff(or(base, envoyBase), or(max, 0))
	h.Waits.Explicit = base != nil
	pol := in.kumaRetryOn(h, p.Get("retryOn"), proto)
	in.envoyHop(h, pol, perTry, timeout)
	if p.Get("rateLimitedBackOff") != nil {
		in.dropFact("retry-on-429-without-retry-after", h)
	}
}

func (in *input) kumaRetryOn(h *Hop, on *tree.Node, proto string) envoyPolicy {
	p := envoyPolicy{at: on.At()}
	if len(on.List()) == 0 {
		p.conditions = []string{"gateway-error", "connect-failure", "refused-stream"}
		if proto == "grpc" {
			p.conditions = []string{"cancelled", "connect-failure", "gateway-error", "refused-stream", "reset", "resource-exhausted", "unavailable"}
		}
		h.hidden("retryOn %s", strings.Join(p.conditions, ","))
		return p
	}
	for _, w := range words(on, ",") {
		key := strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(w))
		switch {
		case kumaConditions[key] != "":
			p.conditions = append(p.conditions, kumaConditions[key])
		case strings.HasPrefix(key, "httpmethod"):
			h.Methods = append(h.Methods, strings.ToUpper(key[len("httpmethod"):]))
		case len(clientOrServer(w)) > 0:
			p.codes = append(p.codes, w)
		default:
			in.badCondition(h, on.At(), w)
		}
	}
	if len(p.codes) > 0 {
		p.conditions = append(p.conditions, "retriable-status-codes")
	}
	return p
}

// clientOrServer gives w when it is a status code.
func clientOrServer(w string) string {
	if d, err := whole(w, 1); err == nil && d >= 100 && d < 600 {
		return w
	}
	return ""
}

// kumaOld reads the Retry policy of older releases.
func (in *input) kumaOld(d *doc, timeouts map[string]*tree.Node) {
	conf := d.root.First("conf", "spec")
	if c := conf.Get("conf"); c != nil {
		conf = c
	}
	for _, proto := range []string{"http", "grpc"} {
		p := conf.Get(proto)
		if p == nil {
			continue
		}
		name := d.name
		if name == "" {
			name = d.root.Get("name").Str()
		}
		h := in.hop("kuma.Retry", name+" "+proto, p.At())
		n := in.count(h, "numRetries", p.Get("numRetries"), counts)
		h.retries("numRetries", n, 5)
		h.Waits = envoyBackoff(or(in.duration(h, "baseInterval", p.Get("backOff", "baseInterval"), goGrammar), envoyBase), or(in.duration(h, "maxInterval", p.Get("backOff", "maxInterval"), goGrammar), 0))
		pol := envoyPolicy{conditions: []string{"gateway-error", "connect-failure", "refused-stream"}, codes: words(p.Get("retriableStatusCodes"), ","), at: p.At()}
		h.Methods = words(p.Get("retriableMethods"), ",")
		in.envoyHop(h, pol, in.duration(h, "perTryTimeout", p.Get("perTryTimeout"), goGrammar), in.kumaTimeout(h, timeouts["mesh default"]))
	}
}
