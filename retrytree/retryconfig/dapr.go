package retryconfig

import (
	"fmt"
	"strings"
	"time"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// daprReader reads Resiliency objects: the targets with the policies they name, and the
// built-in policies that the file overrides.
// Source: dapr v1.14.0 pkg/resiliency, docs policies.md.
var daprReader = &Reader{
	Name:    "dapr",
	Title:   "Dapr Resiliency",
	Objects: []string{"Resiliency"},
	Samples: []Reading{{Setting: "policies.retries.NAME.maxRetries", Counts: "after the first", Name: "resiliency.yaml", Text: `apiVersion: dapr.io/v1alpha1
kind: Resiliency
metadata: {name: a}
spec:
  policies:
    timeouts: {t: 1s}
    retries:
      r:
        policy: constant
        maxRetries: @N@
  targets:
    apps:
      b: {timeout: t, retry: r}
`}},
	claims: func(d *doc) bool { return d.is("dapr.io", "Resiliency") },
	read: func(in *input, own []*doc) {
		for _, d := range own {
			in.dapr(d)
		}
	},
}

func (in *input) dapr(d *doc) {
	pol := d.root.Get("spec", "policies")
	for _, e := range pol.Get("retries").Map() {
		if strings.HasPrefix(e.Key, "DaprBuiltIn") {
			h := in.hop("dapr.Resiliency", e.Key, e.KeyPos)
			h.OverallKnown = true
			in.daprRetry(h, e.Value)
			h.TimeoutRetried = No // no timeout of its own, and a hang is not among what it retries
			if h.Attempts != nil && *h.Attempts < 4 {
				f := in.fact("value-overridden", e.Value.At(), h, "maxRetries %d of a built-in policy is raised to 3", *h.Attempts-1)
				f.Value, f.Limit = fmt.Sprint(*h.Attempts-1), "3"
				h.attempts(4)
			}
		}
	}
	targets := d.root.Get("spec", "targets")
	used := map[string]bool{}
	for _, kind := range [][2]string{{"apps", "app"}, {"actors", "actor"}} {
		for _, e := range targets.Get(kind[0]).Map() {
			in.daprTarget(kind[1]+" "+e.Key, e.Key, e, pol, used)
		}
	}
	for _, e := range targets.Get("components").Map() {
		for _, dir := range []string{"outbound", "inbound"} {
			if x := e.Value.Entry(dir); x != nil {
				in.daprTarget("component "+e.Key+" "+dir, e.Key, *x, pol, used)
			}
		}
	}
	for _, e := range pol.Get("retries").Map() {
		if !used[e.Key] && !strings.HasPrefix(e.Key, "DaprBuiltIn") && !strings.HasPrefix(e.Key, "DefaultRetryPolicy") && !strings.HasPrefix(e.Key, "Default") {
			in.fact("shadowed-config", e.KeyPos, nil, "no target names the retry policy %q: it has no effect", e.Key)
		}
	}
}

func (in *input) daprTarget(name, to string, e tree.Entry, pol *tree.Node, used map[string]bool) {
	t := e.Value
	retry := t.Get("retry")
	if retry == nil {
		return // the built-in policy stays, the timeout bounds each attempt
	}
	h := in.hop("dapr.Resiliency", name, e.KeyPos)
	h.To = []string{to}
	h.OverallKnown = true
	used[retry.Str()] = true
	r := pol.Get("retries", retry.Str())
	if r == nil {
		in.refuse(h, retry.At(), "no retry policy is named %q: the object is refused", retry.Str())
		return
	}
	in.daprRetry(h, r)
	if tn := t.Get("timeout"); tn != nil {
		v := pol.Get("timeouts", tn.Str())
		if v == nil {
			v = tn // a duration in place
		}
		h.perTry(in.duration(h, "timeout", v, goGrammar))
	}
	if t.Get("circuitBreaker") != nil {
		h.note("an open breaker stops the attempts")
	}
}

func (in *input) daprRetry(h *Hop, r *tree.Node) {
	in.unknownKeys(r, h, "a retry policy", "policy", "duration", "maxInterval", "maxRetries", "initialInterval", "multiplier", "randomizationFactor", "matching")
	n := in.count(h, "maxRetries", r.Get("maxRetries"), number{Min: -1 << 31, Max: 1<<31 - 1, Floats: true})
	if n == nil || *n < 0 {
		h.Unbounded, h.Written = true, "maxRetries absent or -1 = no limit"
		if n == nil {
			h.hidden("maxRetries -1: no limit")
		}
	} else {
		h.retries("maxRetries", n, 0)
	}
	h.TimeoutRetried, h.MayHaveRun = Yes, Yes
	h.Conditions = []string{"every error"}
	if m := r.Get("matching"); m != nil {
		h.Conditions = append(words(m.Get("httpStatusCodes"), ","), words(m.Get("gRPCStatusCodes"), ",")...)
	}
	switch p := r.Get("policy").Str(); p {
	case "exponential":
		max := or(in.duration(h, "maxInterval", r.Get("maxInterval"), goGrammar), time.Minute)
		if max <= 0 {
			max = 0
		}
		h.Waits = Backoff{Growth: Exponential, Base: 500 * time.Millisecond, Factor: 1.5, Max: max, Low: 0.5, High: 1.5, Jitter: true, Explicit: true,
			Source: "500ms * 1.5^(n-1) * [0.5, 1.5], at most maxInterval"}
	case "constant", "":
		h.Waits = Backoff{Growth: Constant, Base: or(in.duration(h, "duration", r.Get("duration"), goGrammar), 5*time.Second), Explicit: r.Get("duration") != nil, Source: "duration"}
	default:
		in.refuse(h, r.Get("policy").At(), "policy %q is not constant or exponential", p)
	}
}
