package retryconfig

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// grpcReader reads gRPC service configs.
// Source: gRFC A6, grpc-go v1.85.0 service_config.go (isValidRetryPolicy).
var grpcReader = &Reader{
	Name:    "grpc",
	Title:   "gRPC service config",
	Objects: []string{"methodConfig", "serviceConfig"},
	refusal: "the whole service config is rejected",
	Samples: []Reading{{Setting: "retryPolicy.maxAttempts", Counts: "all", Name: "sc.json", Text: `{"methodConfig": [{"name": [{"service": "a.B"}], "timeout": "3s",
 "retryPolicy": {"initialBackoff": "0.1s", "maxBackoff": "1s", "backoffMultiplier": 2,
  "maxAttempts": @N@,
  "retryableStatusCodes": ["UNAVAILABLE"]}}]}
`}},
	claims: func(d *doc) bool {
		return d.version == "" && len(grpcChoices(d.root)) > 0
	},
	read: func(in *input, own []*doc) {
		for _, d := range own {
			for _, c := range grpcChoices(d.root) {
				in.grpcConfig(c)
			}
		}
	},
}

// fold gets a key whatever its case, as Go's JSON reader does.
func fold(n *tree.Node, key string) *tree.Node {
	if v := n.Get(key); v != nil {
		return v
	}
	for _, e := range n.Map() {
		if strings.EqualFold(e.Key, key) {
			return e.Value
		}
	}
	return nil
}

// grpcChoices gives the configs of a DNS TXT record or of a file that holds some at any
// depth.
func grpcChoices(root *tree.Node) []*tree.Node {
	var out []*tree.Node
	root.Walk(func(_ []string, n *tree.Node) bool {
		if !fold(n, "methodConfig").Is(tree.Seq) {
			return true
		}
		out = append(out, n)
		return false
	})
	return out
}

var grpcCodes = []string{"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED",
	"RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"}

// grpcConfig reads one service config; one invalid field rejects it as a whole.
func (in *input) grpcConfig(root *tree.Node) {
	first := len(in.file.Hops)
	seen := map[string]bool{}
	bad := ""
	for _, mc := range fold(root, "methodConfig").List() {
		in.grpcCase(mc)
		for _, n := range fold(mc, "name").List() {
			svc, method := fold(n, "service").Str(), fold(n, "method").Str()
			name := svc + "/" + method
			if method == "" {
				name = svc + "/*"
			}
			if svc == "" {
				name = "*"
			}
			h := in.hop("grpc.ServiceConfig", name, mc.At())
			if svc != "" {
				h.To = []string{svc}
			}
			if svc == "" && method != "" {
				in.refuse(h, n.At(), "a name with a method and without a service")
			}
			if seen[name] {
				in.refuse(h, n.At(), "the name %s stands in two entries", name)
			}
			seen[name] = true
			in.grpcMethod(h, mc, method)
			if h.Refused != "" && bad == "" {
				bad = h.Refused
			}
		}
	}
	budget := in.grpcThrottle(root, &bad)
	for _, h := range in.file.Hops[first:] {
		if bad != "" && h.Refused == "" {
			h.Refused = "the whole config is rejected: " + bad
		}
		if h.Retries() && h.Budget == nil {
			h.Budget = budget
		}
	}
}

// grpcCase reports keys that only Go reads.
func (in *input) grpcCase(mc *tree.Node) {
	known := []string{"name", "timeout", "waitForReady", "retryPolicy", "hedgingPolicy", "maxAttempts", "initialBackoff", "maxBackoff", "backoffMultiplier",
		"retryableStatusCodes", "hedgingDelay", "nonFatalStatusCodes", "service", "method", "maxRequestMessageBytes", "maxResponseMessageBytes"}
	mc.Walk(func(_ []string, n *tree.Node) bool {
		for _, e := range n.Map() {
			if slices.Contains(known, e.Key) {
				continue
			}
			for _, k := range known {
				if strings.EqualFold(k, e.Key) {
					in.fact("implementation-differs", e.KeyPos, nil, "%q is read as %s by Go only; other languages ignore or reject it", e.Key, k)
				}
			}
		}
		return true
	})
}

func (in *input) grpcMethod(h *Hop, mc *tree.Node, method string) {
	timeout := in.duration(h, "timeout", fold(mc, "timeout"), protoGrammar)
	h.OverallKnown = true
	if timeout != nil {
		h.Overall = timeout
	}
	if method != "" {
		h.Methods = []string{method}
	}
	rp, hp := fold(mc, "retryPolicy"), fold(mc, "hedgingPolicy")
	switch {
	case rp.Is(tree.Map) && hp.Is(tree.Map):
		h.attempts(1)
		in.refuse(h, hp.At(), "a method has a retryPolicy or a hedgingPolicy, not both")
	case rp.Is(tree.Map):
		in.grpcRetry(h, rp)
	case hp.Is(tree.Map):
		in.grpcHedge(h, hp)
	default:
		h.attempts(1)
		h.Written = "no retryPolicy"
	}
}

func (in *input) grpcRetry(h *Hop, rp *tree.Node) {
	in.grpcUnknown(h, rp, "retryPolicy", "maxAttempts", "initialBackoff", "maxBackoff", "backoffMultiplier", "retryableStatusCodes", "perAttemptRecvTimeout")
	in.grpcAttempts(h, rp)
	first := in.duration(h, "initialBackoff", fold(rp, "initialBackoff"), protoGrammar)
	last := in.duration(h, "maxBackoff", fold(rp, "maxBackoff"), protoGrammar)
	mult := fold(rp, "backoffMultiplier")
	m, merr := decimal(mult.Str(), time.Second)
	for _, f := range []struct {
		key string
		ok  bool
	}{{"initialBackoff", first != nil && *first > 0}, {"maxBackoff", last != nil && *last > 0}, {"backoffMultiplier", merr == nil && m > 0}} {
		if !f.ok && h.Refused == "" && h.Undecided == "" {
			in.refuse(h, rp.At(), "%s must be present and above 0", f.key)
		}
	}
	h.Conditions = in.grpcStatus(h, fold(rp, "retryableStatusCodes"), "retryableStatusCodes")
	if len(h.Conditions) == 0 {
		at := rp.At()
		if c := fold(rp, "retryableStatusCodes"); c != nil {
			at = c.At()
		}
		in.refuse(h, at, "retryableStatusCodes must not be empty")
	}
	for _, c := range h.Conditions {
		if c != "RESOURCE_EXHAUSTED" && c != "UNIMPLEMENTED" && c != "UNAUTHENTICATED" {
			h.MayHaveRun = Yes
		}
	}
	h.TimeoutRetried = No // there is no limit of one attempt
	if first != nil && last != nil && merr == nil {
		h.Waits = Backoff{Growth: Exponential, Base: *first, Factor: m.Seconds(), Max: *last, Low: 0.8, High: 1.2, Jitter: true, Explicit: true, Line: rp.Pos.Line,
			Source: "min(initialBackoff * multiplier^(n-1), maxBackoff) * [0.8, 1.2]"}
		if *first > *last {
			in.fact("backoff-base-over-max", rp.At(), h, "initialBackoff %v is above maxBackoff %v: every wait is maxBackoff", *first, *last)
		}
	}
	h.hidden("transparent retries of calls that never left the client do not count")
}

// grpcUnknown reports keys that no implementation knows.
func (in *input) grpcUnknown(h *Hop, n *tree.Node, what string, known ...string) {
	for _, e := range n.Map() {
		if !slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, e.Key) }) {
			msg := fmt.Sprintf("%s has no key %q: it is ignored", what, e.Key)
			if near, ok := diag.Closest(e.Key, known); ok {
				msg += fmt.Sprintf(" (did you mean %q?)", near)
			}
			in.fact("renamed-or-unknown-field", e.KeyPos, h, "%s", msg)
		}
	}
}

// grpcCap is the largest number of attempts without a channel option.
const grpcCap = 5

func (in *input) grpcAttempts(h *Hop, pol *tree.Node) {
	node := fold(pol, "maxAttempts")
	n := in.count(h, "maxAttempts", node, number{Min: 0, Max: 1<<31 - 1, Strings: true, Floats: true})
	if n == nil {
		h.attempts(1)
		if h.Refused == "" && h.Undecided == "" {
			in.refuse(h, pol.At(), "maxAttempts must be present")
		}
		return
	}
	h.total("maxAttempts", n, 0)
	if *n < 2 {
		in.refuse(h, node.At(), "maxAttempts must be above 1, found %d", *n)
	}
	if *n > grpcCap {
		f := in.fact("capped-attempts", node.At(), h, "maxAttempts %d counts as %d: the cap of the client (a channel option may raise it)", *n, grpcCap)
		f.Value, f.Limit = fmt.Sprint(*n), fmt.Sprint(grpcCap)
		h.attempts(grpcCap)
		h.Written += ", capped to 5"
	}
}

// grpcStatus reads a list of status codes: names in upper case or numbers.
func (in *input) grpcStatus(h *Hop, n *tree.Node, key string) []string {
	var out []string
	for _, c := range n.List() {
		name := c.Str()
		if v, err := loose.parse(c); err == nil && !c.Quoted && v >= 0 && v < int64(len(grpcCodes)) {
			name = grpcCodes[v]
		}
		up := strings.ToUpper(name)
		switch {
		case slices.Contains(grpcCodes, name):
		case slices.Contains(grpcCodes, up):
			in.fact("implementation-differs", c.At(), h, "%q: Go takes status names in upper case only", name)
		default:
			in.fact("unknown-condition", c.At(), h, "%s: %q is not a gRPC status", key, name)
			in.refuse(h, c.At(), "%s: %q is not a gRPC status", key, name)
		}
		out = append(out, up)
	}
	var final []string
	for _, c := range out {
		switch c {
		case "INVALID_ARGUMENT", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "FAILED_PRECONDITION", "OUT_OF_RANGE", "UNIMPLEMENTED", "UNAUTHENTICATED":
			final = append(final, c)
		case "RESOURCE_EXHAUSTED":
			in.fact("retry-on-429-without-retry-after", n.At(), h, "RESOURCE_EXHAUSTED is a limit: without grpc-retry-pushback-ms from the server the next attempt hits it again")
		}
	}
	if len(final) > 0 && key == "retryableStatusCodes" {
		in.fact("retry-on-4xx", n.At(), h, "%s is an answer to the request: the next attempt gets the same one", strings.Join(final, ", ")).Mild = true
	}
	return out
}

// grpcHedge reads a hedging policy: copies start by the clock, failed or not.
func (in *input) grpcHedge(h *Hop, hp *tree.Node) {
	in.grpcUnknown(h, hp, "hedgingPolicy", "maxAttempts", "hedgingDelay", "nonFatalStatusCodes")
	in.grpcAttempts(h, hp)
	delay := in.duration(h, "hedgingDelay", fold(hp, "hedgingDelay"), protoGrammar)
	in.grpcStatus(h, fold(hp, "nonFatalStatusCodes"), "nonFatalStatusCodes")
	h.Hedge = &Hedge{Delay: or(delay, 0), Line: hp.Pos.Line}
	h.MayHaveRun = Yes
	h.PerTryCopies = true
	h.Waits = Backoff{Growth: Constant, Base: or(delay, 0), Explicit: true, Line: hp.Pos.Line, Source: "hedgingDelay between copies"}
	if h.Attempts != nil && h.Refused == "" {
		h.Slow = h.Attempts
		if h.Overall != nil {
			h.Slow = ip(h.startsBefore(0, *h.Overall))
		}
	}
	in.fact("implementation-differs", hp.At(), h, "Go does not implement hedging: there the call makes 1 attempt; Java, C++ and .NET send copies")
}

// grpcThrottle reads retryThrottling, which is one for all methods.
func (in *input) grpcThrottle(root *tree.Node, bad *string) *Budget {
	t := fold(root, "retryThrottling")
	if !t.Is(tree.Map) {
		return nil
	}
	tokens, err1 := decimal(fold(t, "maxTokens").Str(), time.Second)
	ratio, err2 := decimal(fold(t, "tokenRatio").Str(), time.Second)
	fail := func(format string, args ...any) {
		msg := fmt.Sprintf(format, args...)
		in.fact("invalid-policy-rejected", t.At(), nil, "%s: the whole config is rejected", msg)
		if *bad == "" {
			*bad = msg
		}
	}
	switch {
	case err1 != nil || tokens <= 0 || tokens > 1000*time.Second:
		fail("maxTokens must be above 0 and at most 1000")
		return nil
	case err2 != nil || ratio <= 0:
		fail("tokenRatio must be above 0")
		return nil
	}
	return &Budget{Kind: "tokens", MaxTokens: tokens.Seconds(), Ratio: ratio.Seconds(), Line: t.Pos.Line}
}
