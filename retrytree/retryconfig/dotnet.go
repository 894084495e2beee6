package retryconfig

import (
	"slices"
	"strings"
	"time"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// dotnetReader reads sections of appsettings.json that bind the options of
// Microsoft.Extensions.Http.Resilience, whatever name the code gives them.
// Source: dotnet/extensions HttpStandardResilienceOptions and its validator; Polly v8.
var dotnetReader = &Reader{
	Name:    "dotnet",
	Title:   ".NET Http.Resilience (Polly) in appsettings.json",
	Objects: []string{"a section with Retry, AttemptTimeout, TotalRequestTimeout, CircuitBreaker or Hedging"},
	refusal: "the application does not start",
	Samples: []Reading{{Setting: "Retry.MaxRetryAttempts", Counts: "after the first", Name: "appsettings.json", Text: `{"Http": {
 "Retry": {
  "Delay": "00:00:00.200",
  "MaxRetryAttempts": @N@
 },
 "AttemptTimeout": {"Timeout": "00:00:02"}}}
`}},
	claims: func(d *doc) bool { return d.version == "" && len(dotnetSections(d.root)) > 0 },
	read: func(in *input, own []*doc) {
		for _, d := range own {
			for _, s := range dotnetSections(d.root) {
				in.dotnetSection(s)
			}
		}
	},
}

type dotnetEntry struct {
	name string
	at   tree.Pos
	node *tree.Node
}

var (
	dotnetRetryKeys = []string{"MaxRetryAttempts", "Delay", "MaxDelay", "BackoffType", "UseJitter", "ShouldRetryAfterHeader", "Name"}
	// what people look for in the file and is a method in code
	dotnetCode = []string{"DisableFor", "DisableForUnsafeHttpMethods"}
)

// dotnetSections finds the sections by their children.
func dotnetSections(root *tree.Node) []dotnetEntry {
	var out []dotnetEntry
	root.Walk(func(path []string, n *tree.Node) bool {
		if len(out) > 200 || len(path) > 12 {
			return false
		}
		for _, e := range n.Map() {
			if isDotnet(e.Value) {
				out = append(out, dotnetEntry{strings.Join(append(slices.Clone(path), e.Key), ":"), e.KeyPos, e.Value})
			}
		}
		return true
	})
	return out
}

func isDotnet(n *tree.Node) bool {
	if !n.Is(tree.Map) {
		return false
	}
	if fold(n, "TotalRequestTimeout").Is(tree.Map) || fold(n, "AttemptTimeout").Is(tree.Map) {
		return true
	}
	for _, e := range append(fold(n, "Retry").Map(), fold(n, "Hedging").Map()...) {
		if e.Key == "MaxRetryAttempts" || e.Key == "MaxHedgedAttempts" || e.Key == "BackoffType" || e.Key == "UseJitter" || e.Key == "ShouldRetryAfterHeader" || contains(dotnetCode, e.Key) {
			return true
		}
	}
	return false
}

func (in *input) dotnetSection(s dotnetEntry) {
	h := in.hop("dotnet.HttpStandardResilience", s.name, s.at)
	span := func(n *tree.Node, key string, def time.Duration) time.Duration {
		d := in.duration(h, key, n, timeSpan)
		if d == nil {
			return def
		}
		if *d > 24*time.Hour || *d < 10*time.Millisecond && key != "Delay" && key != "MaxDelay" {
			in.refuse(h, n.At(), "%s %v is outside 10ms..1 day: the application does not start", key, *d)
		}
		return *d
	}
	attempt := span(fold(fold(s.node, "AttemptTimeout"), "Timeout"), "AttemptTimeout", 10*time.Second)
	if e := fold(s.node, "Endpoint"); e != nil {
		attempt = span(fold(fold(e, "Timeout"), "Timeout"), "Endpoint.Timeout", 10*time.Second)
	}
	total := span(fold(fold(s.node, "TotalRequestTimeout"), "Timeout"), "TotalRequestTimeout", 30*time.Second)
	h.perTry(&attempt)
	h.Overall, h.OverallKnown = &total, true
	h.TimeoutRetried, h.MayHaveRun = Yes, Yes
	h.Conditions = []string{"5xx", "408", "429", "HttpRequestException", "timeout"}
	if attempt > total {
		f := in.fact("per-try-exceeds-overall", s.at, h, "AttemptTimeout %v is above TotalRequestTimeout %v", attempt, total)
		f.Value, f.Limit = attempt.String(), total.String()
		in.refuse(h, s.at, "AttemptTimeout %v is above TotalRequestTimeout %v: the application does not start", attempt, total)
	}
	cb := fold(s.node, "CircuitBreaker")
	if c := fold(fold(s.node, "Endpoint"), "CircuitBreaker"); c != nil {
		cb = c
	}
	sampling := span(fold(cb, "SamplingDuration"), "SamplingDuration", 30*time.Second)
	if sampling < 2*attempt {
		at := s.at
		if n := fold(cb, "SamplingDuration"); n != nil {
			at = n.At()
		}
		in.refuse(h, at, "SamplingDuration %v is below twice the attempt timeout %v: the application does not start", sampling, attempt)
	}
	if hd := fold(s.node, "Hedging"); hd.Is(tree.Map) {
		in.dotnetHedging(h, hd, span)
		return
	}
	in.dotnetRetry(h, fold(s.node, "Retry"), span)
}

func (in *input) dotnetRetry(h *Hop, r *tree.Node, span func(*tree.Node, string, time.Duration) time.Duration) {
	for _, e := range r.Map() {
		if slices.ContainsFunc(dotnetRetryKeys, func(k string) bool { return strings.EqualFold(k, e.Key) }) {
			continue
		}
		msg := "Retry has no setting " + e.Key + ": it is ignored"
		if contains(dotnetCode, e.Key) {
			msg = e.Key + " is a method in code, not a setting: it is ignored, and unsafe methods are retried"
		} else if near, ok := diag.Closest(e.Key, dotnetRetryKeys); ok {
			msg += " (did you mean " + near + "?)"
		}
		in.fact("renamed-or-unknown-field", e.KeyPos, h, "%s", msg)
	}
	node := fold(r, "MaxRetryAttempts")
	n := in.count(h, "MaxRetryAttempts", node, loose)
	h.retries("MaxRetryAttempts", n, 3)
	if n != nil && (*n < 1 || *n > 1<<31-1) {
		in.refuse(h, node.At(), "MaxRetryAttempts %d is outside 1..2147483647: the application does not start", *n)
	}
	if n == nil {
		h.hidden("MaxRetryAttempts 3")
		in.fact("implicit-default-retry", tree.Pos{}, h, "MaxRetryAttempts absent: 3 more attempts, POST too")
	}
	base := span(fold(r, "Delay"), "Delay", 2*time.Second)
	max := span(fold(r, "MaxDelay"), "MaxDelay", 0)
	jitter := true
	if j := fold(r, "UseJitter"); j != nil {
		jitter = truth(j)
	}
	kind := strings.ToLower(fold(r, "BackoffType").Str())
	b := Backoff{Growth: Exponential, Base: base, Factor: 2, Max: max, Jitter: jitter, Explicit: fold(r, "Delay") != nil, Line: r.At().Line, Source: "Delay * 2^(n-1), at most MaxDelay"}
	switch kind {
	case "constant", "0":
		b.Growth, b.Source = Constant, "Delay"
	case "linear", "1":
		b.Growth, b.Source = Linear, "Delay * n"
	case "", "exponential", "2":
		if jitter {
			b.Growth, b.Source = Decorrelated, "decorrelated jitter, Delay * 2^(n-1) in the median"
		}
	default:
		in.refuse(h, fold(r, "BackoffType").At(), "BackoffType %q is not Constant, Linear or Exponential", kind)
	}
	if jitter && b.Growth != Decorrelated {
		b.Low, b.High = 0.75, 1.25
	}
	h.Waits = b
	if max > 0 && max < base {
		in.fact("backoff-base-over-max", r.At(), h, "Delay %v is above MaxDelay %v: every wait is the maximum", base, max)
	}
	if ra := fold(r, "ShouldRetryAfterHeader"); ra == nil || truth(ra) {
		in.fact("retry-after-exceeds-deadline", ra.At(), h, "Retry-After of the server has no cap: it may use up the total of %v", or(h.Overall, 0))
	}
}

func (in *input) dotnetHedging(h *Hop, hd *tree.Node, span func(*tree.Node, string, time.Duration) time.Duration) {
	h.Kind = "dotnet.HttpStandardHedging"
	node := fold(hd, "MaxHedgedAttempts")
	n := in.count(h, "MaxHedgedAttempts", node, loose)
	if n != nil && (*n < 1 || *n > 10) {
		in.refuse(h, node.At(), "MaxHedgedAttempts %d is outside 1..10: the application does not start", *n)
	}
	h.retries("MaxHedgedAttempts", n, 1)
	delay := span(fold(hd, "Delay"), "Delay", 2*time.Second)
	h.Hedge = &Hedge{Delay: delay, Line: hd.Pos.Line}
	h.Waits = Backoff{Growth: Constant, Base: delay, Explicit: true, Source: "Delay between copies"}
	if h.Attempts != nil && h.Refused == "" {
		h.Slow = ip(h.startsBefore(0, *h.Overall))
		last := addDur(mulDur(delay, *h.Attempts-1), *h.PerTry)
		h.Worst = dp(min(last, *h.Overall))
	}
}
