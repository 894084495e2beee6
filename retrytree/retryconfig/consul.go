package retryconfig

import (
	"strings"
	"time"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// consulReader reads service routers: the JSON entry and the ServiceRouter object.
// Source: hashicorp/consul agent/xds/routes.go getRetryPolicyForDestination.
var consulReader = &Reader{
	Name:    "consul",
	Title:   "Consul service-router entry, ServiceRouter",
	Objects: []string{"Kind: service-router", "ServiceRouter"},
	Samples: []Reading{{Setting: "Routes[].Destination.NumRetries", Counts: "after the first", Name: "router.json", Text: `{"Kind": "service-router", "Name": "web", "Routes": [
 {"Match": {"HTTP": {"PathPrefix": "/a"}},
  "Destination": {"Service": "a",
   "NumRetries": @N@,
   "RetryOnConnectFailure": true}}]}
`}},
	claims: func(d *doc) bool {
		return fold(d.root, "kind").Str() == "service-router" || d.is("consul.hashicorp.com", "ServiceRouter")
	},
	read: func(in *input, own []*doc) {
		for _, d := range own {
			root := d.root
			if d.kind == "ServiceRouter" {
				root = d.root.Get("spec")
			}
			for _, r := range fold(root, "routes").List() {
				in.consulRoute(r)
			}
		}
	},
}

// word gets a field in CamelCase, camelCase or snake_case.
func word(n *tree.Node, key string) *tree.Node {
	for _, e := range n.Map() {
		if sameName(e.Key, key) {
			return e.Value
		}
	}
	return nil
}

func (in *input) consulRoute(r *tree.Node) {
	dest := word(r, "Destination")
	http := word(word(r, "Match"), "HTTP")
	name := ""
	for _, k := range []string{"PathPrefix", "PathExact", "PathRegex"} {
		if v := word(http, k).Str(); v != "" && name == "" {
			name = v
		}
	}
	if name == "" {
		name = word(dest, "Service").Str()
	}
	if name == "" {
		name = "*"
	}
	at := r.At()
	h := in.hop("consul.service-router", name, at)
	h.Methods = words(word(http, "Methods"), ",")
	if s := word(dest, "Service").Str(); s != "" {
		h.To = []string{s}
	}
	for _, e := range dest.Map() {
		if !containsCanon([]string{"Service", "ServiceSubset", "Namespace", "Partition", "PrefixRewrite", "RequestTimeout", "IdleTimeout", "NumRetries", "RetryOnConnectFailure",
			"RetryOnStatusCodes", "RetryOn", "RequestHeaders", "ResponseHeaders"}, e.Key) {
			in.fact("renamed-or-unknown-field", e.KeyPos, h, "a destination has no key %q: it is ignored or refused", e.Key)
		}
	}
	timeout := in.consulTimeout(h, word(dest, "RequestTimeout"))
	node := word(dest, "NumRetries")
	n := in.count(h, "NumRetries", node, counts)
	if n != nil && *n == 0 {
		n = nil
	}
	p := in.consulConditions(h, dest)
	if len(p.conditions) == 0 {
		h.attempts(1)
		h.Written = "no condition"
		if n != nil {
			in.fact("dead-retry-policy", node.At(), h, "NumRetries %d without RetryOnConnectFailure, RetryOnStatusCodes or RetryOn: nothing is retried", *n)
			h.Written = "NumRetries without a condition"
		}
		h.OverallKnown = true
		if *timeout > 0 {
			h.Overall = timeout
		}
		return
	}
	h.retries("NumRetries", n, 1)
	h.Waits = envoyBackoff(envoyBase, 0)
	h.note("Consul cannot set a limit of one attempt")
	in.envoyHop(h, p, nil, timeout)
}

func containsCanon(list []string, s string) bool {
	for _, x := range list {
		if sameName(x, s) {
			return true
		}
	}
	return false
}

func (in *input) consulTimeout(h *Hop, n *tree.Node) *time.Duration {
	if strings.HasPrefix(n.Str(), "-") {
		return dp(0) // a negative value switches the timeout off
	}
	if n != nil && !n.Quoted {
		if d, err := whole(n.Str(), 1); err == nil { // a number is nanoseconds
			return &d
		}
	}
	d := in.duration(h, "RequestTimeout", n, goGrammar)
	if d == nil || *d == 0 {
		h.hidden("RequestTimeout 15s")
		return dp(envoyRouteTimeout)
	}
	return d
}

func (in *input) consulConditions(h *Hop, dest *tree.Node) envoyPolicy {
	p := envoyPolicy{at: dest.At()}
	if on := word(dest, "RetryOn"); on != nil {
		p.at = on.At()
		p.conditions = in.unknownConditions(h, words(on, ","), on.At(), "Consul refuses the entry")
		if len(p.conditions) < len(words(on, ",")) {
			in.refuse(h, on.At(), "RetryOn: an unknown condition")
		}
	}
	if truth(word(dest, "RetryOnConnectFailure")) {
		p.conditions = append(p.conditions, "connect-failure")
	}
	if codes := words(word(dest, "RetryOnStatusCodes"), ","); len(codes) > 0 {
		p.codes = codes
		p.conditions = append(p.conditions, "retriable-status-codes")
	}
	return p
}
