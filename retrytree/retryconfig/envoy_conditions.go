package retryconfig

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// envoyHTTP and envoyGRPC are the retry conditions that Envoy knows, with the answer to
// whether the call may have run before it is sent again.
var envoyConditions = map[string]bool{
	"5xx": true, "gateway-error": true, "reset": true, "retriable-4xx": true, "retriable-status-codes": true, "retriable-headers": true,
	"connect-failure": false, "refused-stream": false, "reset-before-request": false, "http3-post-connect-failure": false, "envoy-ratelimited": false,
	"cancelled": true, "deadline-exceeded": true, "internal": true, "resource-exhausted": false, "unavailable": true,
}

// envoyDefaultBreaker is Envoy's limit of concurrent retries of a cluster.
const envoyDefaultBreaker = 3

// envoyPolicy is a retry policy of Envoy or of a product that writes one.
type envoyPolicy struct {
	conditions []string
	codes      []string
	at         tree.Pos // of the condition list
	onlyGRPC   bool
}

// timeoutRetried: a per-try timeout counts as a reset without a response.
func (p envoyPolicy) timeoutRetried() Answer {
	for _, c := range p.conditions {
		if c == "5xx" || c == "gateway-error" || c == "reset" {
			return Yes
		}
	}
	return No
}

// mayHaveRun answers whether something is retried that the upstream may have done.
func (p envoyPolicy) mayHaveRun() Answer {
	for _, c := range p.conditions {
		if c == "retriable-status-codes" && len(p.codes) == 0 || c == "unavailable" || c == "cancelled" {
			continue // a code list that is empty; gRPC codes say nothing about an HTTP write
		}
		if envoyConditions[c] {
			return Yes
		}
	}
	return No
}

// envoyHop fills a hop by Envoy's rules: conditions, per-try limit against the route
// timeout, waits.
func (in *input) envoyHop(h *Hop, p envoyPolicy, perTry, overall *time.Duration) {
	h.Conditions = append(slices.Clone(p.conditions), p.codes...)
	h.MayHaveRun = p.mayHaveRun()
	h.TimeoutRetried = p.timeoutRetried()
	h.OverallKnown = true
	if overall != nil && *overall > 0 {
		h.Overall = overall
	}
	in.envoyPerTry(h, perTry)
	in.statusFacts(h, p)
	if h.Retries() && h.PerTry != nil && h.TimeoutRetried == No && !h.PerTryCopies {
		in.fact("per-try-timeout-not-retried", p.at, h, "an attempt that is cut after %v is not retried: the condition list lacks 5xx, gateway-error and reset", *h.PerTry).Value = strings.Join(h.Conditions, ",")
	}
}

// envoyPerTry sets the per-try limit; one that is not below the route timeout is
// dropped by Envoy.
func (in *input) envoyPerTry(h *Hop, perTry *time.Duration) {
	if perTry == nil || *perTry == 0 {
		return
	}
	h.PerTryWritten = perTry
	if h.Overall != nil && *perTry >= *h.Overall {
		h.PerTryIgnored = "not below the route timeout, so Envoy ignores it"
		return
	}
	h.PerTry = perTry
}

// statusFacts records retries of client errors.
func (in *input) statusFacts(h *Hop, p envoyPolicy) {
	if h.Attempts == nil || *h.Attempts < 2 {
		return
	}
	var four []string
	for _, c := range p.conditions {
		if c == "retriable-4xx" {
			four = append(four, "409 (retriable-4xx)")
		}
	}
	four = append(four, clientErrors(p.codes)...)
	if len(four) > 0 {
		in.fact("retry-on-4xx", p.at, h, "%s is an answer to the request: the next attempt gets the same one", strings.Join(four, ", "))
	}
	if slices.Contains(p.codes, "429") {
		in.fact("retry-on-429-without-retry-after", p.at, h, "429 is retried after the usual wait, whatever the server asks for (no rate_limited_retry_back_off)")
	}
}

// clientErrors picks the codes from 400 to 499 that repeat themselves: all but 408,
// 425 and 429.
func clientErrors(codes []string) []string {
	var out []string
	for _, c := range codes {
		if n, err := strconv.Atoi(c); err == nil && n >= 400 && n < 500 && n != 408 && n != 425 && n != 429 {
			out = append(out, c)
		}
	}
	return out
}

// unknownConditions records conditions that Envoy does not know and gives the known
// ones.
func (in *input) unknownConditions(h *Hop, conditions []string, at tree.Pos, effect string) []string {
	var known []string
	for _, c := range conditions {
		if _, ok := envoyConditions[c]; ok {
			known = append(known, c)
			continue
		}
		in.fact("unknown-condition", at, h, "%q is not a retry condition: %s", c, effect).Value = c
	}
	return known
}

// splitCodes divides a list into conditions and the numbers that are status codes.
func splitCodes(list []string, isCode func(int) bool) (conditions, codes []string) {
	for _, c := range list {
		if n, err := strconv.Atoi(c); err == nil && isCode(n) {
			codes = append(codes, c)
		} else {
			conditions = append(conditions, c)
		}
	}
	return conditions, codes
}
