package retryconfig

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// resilience4jReader reads the retry instances of Spring Boot settings.
// Source: resilience4j CommonRetryConfigurationProperties, RetryConfig.
var resilience4jReader = &Reader{
	Name:    "resilience4j",
	Title:   "Resilience4j in application.yml or application.properties",
	Objects: []string{"resilience4j.retry"},
	refusal: "the application does not start",
	Samples: []Reading{{Setting: "resilience4j.retry.instances.NAME.maxAttempts", Counts: "all", Name: "application.yml", Text: `resilience4j:
  retry:
    instances:
      a:
        waitDuration: 500ms
        maxAttempts: @N@
`}},
	whole: func(in *input) bool { return in.anyProp("resilience4j.retry") },
	read: func(in *input, _ []*doc) {
		in.eachReading(func(d props) {
			in.resilience4j(d)
		})
	},
}

// r4jKeys are the settings of one instance.
var r4jKeys = []string{"maxAttempts", "waitDuration", "enableExponentialBackoff", "exponentialBackoffMultiplier", "exponentialMaxWaitDuration",
	"enableRandomizedWait", "randomizedWaitFactor", "retryExceptions", "ignoreExceptions", "resultPredicate", "retryExceptionPredicate", "failAfterMaxAttempts",
	"baseConfig", "intervalBiFunction", "eventConsumerBufferSize", "registerHealthIndicator", "consumeResultBeforeRetryAttempt", "ignoreClassBindingExceptions",
	"ignoreUnknownExceptions", "retryOnResultPredicate", "writableStackTraceEnabled"}

func (in *input) resilience4j(d props) {
	retry := d.sub("resilience4j.retry")
	instances := append(retry.sub("instances"), retry.sub("backends")...)
	configs := retry.sub("configs")
	app := d.get("spring.application.name").Str()
	names, from := instances.names(), instances
	if len(names) == 0 {
		names, from = configs.names(), configs
	}
	for _, name := range names {
		own := from.sub(name)
		if len(own) == 0 {
			own = props{{Path: []string{"-"}, Value: from.get(name)}}
		}
		h := in.hop("spring.resilience4j", name, own.at())
		if app != "" {
			h.From = []string{app}
		}
		h.To = []string{name}
		in.r4jInstance(h, d, in.r4jMerged(h, name, own, configs), own)
	}
}

// r4jMerged is the instance over its base configuration, that over its own base, and all
// over the default one where it is defined. A base that is not defined, or that comes
// back to itself, stops the application at its start.
func (in *input) r4jMerged(h *Hop, name string, own, configs props) props {
	defined := configs.names()
	merged := slices.Clone(own)
	seen := map[string]bool{name: true}
	for layer := own; ; {
		base := strings.TrimSpace(layer.get("baseConfig").Str())
		if base == "" {
			if seen["default"] {
				return merged
			}
			return append(configs.sub("default"), merged...)
		}
		at := layer.get("baseConfig").At()
		switch {
		case in.outside(h, "baseConfig", layer.get("baseConfig")):
			return merged
		case !slices.Contains(defined, base):
			msg := fmt.Sprintf("baseConfig %q is not among the configs", base)
			if near, ok := diag.Closest(base, defined); ok {
				msg += fmt.Sprintf(" (did you mean %q?)", near)
			}
			in.refuse(h, at, "%s: the application does not start", msg)
			return merged
		case seen[base] && base != name, len(seen) > 100:
			in.refuse(h, at, "baseConfig %q comes back to itself: the application does not start", base)
			return merged
		}
		seen[base] = true
		layer = configs.sub(base)
		merged = append(slices.Clone(layer), merged...)
	}
}

func (in *input) r4jInstance(h *Hop, d, set, own props) {
	for _, x := range own {
		in.r4jUnknown(h, x)
	}
	n := in.count(h, "maxAttempts", set.get("maxAttempts"), loose)
	h.total("maxAttempts", n, 3)
	switch {
	case n == nil && h.Refused == "" && h.Undecided == "":
		h.hidden("maxAttempts absent: 3 in all")
		in.fact("implicit-default-retry", tree.Pos{}, h, "maxAttempts absent: 3 attempts").Value = "3"
	case n != nil && *n < 1:
		in.refuse(h, set.get("maxAttempts").At(), "maxAttempts must be 1 or more, found %d: the application does not start", *n)
	}
	if h.Undecided != "" {
		h.Attempts = nil
	}
	in.r4jWaits(h, set)
	in.r4jTimeLimiter(h, d)
	in.r4jExceptions(h, d, set)
}

func (in *input) r4jUnknown(h *Hop, x tree.Prop) {
	key := x.Path[0]
	if key == "-" || slices.ContainsFunc(r4jKeys, func(k string) bool { return sameName(k, key) }) {
		return
	}
	msg := "a retry instance has no setting " + key + ": it is ignored"
	if canon(key) == "maxretryattempts" {
		msg = "maxRetryAttempts was renamed to maxAttempts and is ignored since 2.0"
	} else if near, ok := diag.Closest(key, r4jKeys); ok {
		msg += " (did you mean " + near + "?)"
	}
	in.fact("renamed-or-unknown-field", x.Value.Pos, h, "%s", msg).Value = x.Value.Str()
}

// truth reads a boolean of a flat or nested file.
func truth(n *tree.Node) bool { return strings.EqualFold(strings.TrimSpace(n.Str()), "true") }

// float reads a decimal number, or gives the default.
func (in *input) float(h *Hop, key string, n *tree.Node, def float64) float64 {
	if n.Missing() || in.outside(h, key, n) {
		return def
	}
	v, err := decimal(strings.TrimSpace(n.Str()), time.Second)
	if err != nil {
		in.refuse(h, n.At(), "%s: found %q, expected a number", key, n.Str())
		return def
	}
	return v.Seconds()
}

func (in *input) r4jWaits(h *Hop, set props) {
	wait := in.duration(h, "waitDuration", set.get("waitDuration"), springGrammar)
	expo, random := set.get("enableExponentialBackoff"), set.get("enableRandomizedWait")
	h.Waits = Backoff{Growth: Constant, Base: 500 * time.Millisecond, Source: "waitDuration"}
	if wait == nil {
		h.hidden("waitDuration 500ms")
		for key, n := range map[string]*tree.Node{"enableExponentialBackoff": expo, "enableRandomizedWait": random} {
			if truth(n) {
				in.fact("backoff-setting-ignored", n.At(), h, "%s works only beside waitDuration: every wait is 500ms", key)
			}
		}
		if bi := set.get("intervalBiFunction"); bi != nil {
			h.Waits = Backoff{Open: true, Source: "intervalBiFunction, in code"}
		}
		return
	}
	h.Waits.Base, h.Waits.Explicit, h.Waits.Line = *wait, true, set.get("waitDuration").At().Line
	if truth(expo) {
		h.Waits.Growth = Exponential
		h.Waits.Factor = in.float(h, "exponentialBackoffMultiplier", set.get("exponentialBackoffMultiplier"), 1.5)
		h.Waits.Max = or(in.duration(h, "exponentialMaxWaitDuration", set.get("exponentialMaxWaitDuration"), springGrammar), 0)
		h.Waits.Source = "waitDuration * multiplier^(n-1), at most exponentialMaxWaitDuration"
		in.r4jIgnored(h, set, truth(random))
		if h.Waits.Max > 0 && h.Waits.Max < *wait {
			in.fact("backoff-base-over-max", set.get("exponentialMaxWaitDuration").At(), h, "waitDuration %v is above exponentialMaxWaitDuration %v: every wait is the maximum", *wait, h.Waits.Max)
		}
	} else {
		for _, k := range []string{"exponentialBackoffMultiplier", "exponentialMaxWaitDuration"} {
			if n := set.get(k); n != nil {
				in.fact("backoff-setting-ignored", n.At(), h, "%s works only with enableExponentialBackoff", k)
			}
		}
	}
	if truth(random) {
		f := in.float(h, "randomizedWaitFactor", set.get("randomizedWaitFactor"), 0.5)
		if truth(expo) && set.get("exponentialBackoffMultiplier") == nil {
			f = 0.5
		}
		h.Waits.Low, h.Waits.High, h.Waits.Jitter = 1-f, 1+f, true
		if h.Waits.Low == 0 {
			h.Waits.Low = math.SmallestNonzeroFloat64
		}
	}
}

// r4jIgnored sees settings of the exponential wait that count only beside others: the
// largest wait needs the multiplier, and with a random wait the factor, too.
// Source: CommonRetryConfigurationProperties.configureExponentialBackoff and
// configureExponentialBackoffAndRandomizedWait.
func (in *input) r4jIgnored(h *Hop, set props, random bool) {
	multiplier, factor := set.get("exponentialBackoffMultiplier"), set.get("randomizedWaitFactor")
	if most := set.get("exponentialMaxWaitDuration"); most != nil {
		switch {
		case multiplier == nil:
			h.Waits.Max = 0
			in.fact("backoff-setting-ignored", most.At(), h, "exponentialMaxWaitDuration works only beside exponentialBackoffMultiplier: the wait has no cap")
		case random && factor == nil:
			h.Waits.Max = 0
			in.fact("backoff-setting-ignored", most.At(), h, "exponentialMaxWaitDuration of a random wait works only beside randomizedWaitFactor: the wait has no cap")
		}
	}
	if random && factor != nil && multiplier == nil {
		in.fact("backoff-setting-ignored", factor.At(), h, "randomizedWaitFactor works only beside exponentialBackoffMultiplier: the factor is 0.5")
	}
}

// r4jOrder gives the aspect order in force; lower is outer.
func (in *input) r4jOrder(d props, module, key string, def int64) (order int64, at tree.Pos, written bool) {
	n := d.get("resilience4j." + module + "." + key)
	if v, err := loose.parse(orNull(n)); err == nil {
		return v, n.Pos, true
	}
	return math.MaxInt32 - def, tree.Pos{}, false
}

func (in *input) r4jTimeLimiter(h *Hop, d props) {
	h.OverallKnown = true
	tl := d.sub("resilience4j.timelimiter.instances").sub(h.Name)
	if len(tl) == 0 {
		h.note("no TimeLimiter: the limit of one attempt is that of the client, which is not in the file")
		return
	}
	tl = in.r4jMerged(h, h.Name, tl, d.sub("resilience4j.timelimiter.configs"))
	limit := in.duration(h, "timeoutDuration", tl.get("timeoutDuration"), springGrammar)
	if limit == nil {
		limit = dp(time.Second)
		h.hidden("timeoutDuration 1s")
	}
	retry, _, _ := in.r4jOrder(d, "retry", "retryAspectOrder", 5)
	timeLimiter, at, written := in.r4jOrder(d, "timelimiter", "timeLimiterAspectOrder", 2)
	if timeLimiter < retry {
		h.Overall = limit
		in.fact("aspect-order", at, h, "the TimeLimiter sits outside Retry: %v is the limit of the call, not of one attempt", *limit)
		return
	}
	h.perTry(limit)
	if written {
		h.note("the TimeLimiter sits inside Retry")
	}
	if c := tl.get("cancelRunningFuture"); c != nil && !truth(c) {
		h.note("cancelRunningFuture false: the work of an attempt goes on after its limit")
	}
}

// r4jExceptions reads which exceptions are retried: a list is a whitelist.
func (in *input) r4jExceptions(h *Hop, d, set props) {
	retried, ignored := set.list("retryExceptions"), set.list("ignoreExceptions")
	h.Conditions = retried
	if len(retried) == 0 {
		h.Conditions = []string{"every exception"}
	}
	h.MayHaveRun = Yes
	broad := func(list []string, names ...string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return slices.Contains(names, s[strings.LastIndex(s, ".")+1:]) })
	}
	h.TimeoutRetried = Yes
	switch {
	case broad(ignored, "TimeoutException", "Exception", "Throwable"), len(retried) > 0 && !broad(retried, "TimeoutException", "Exception", "Throwable"):
		h.TimeoutRetried = No
	}
	if set.get("retryExceptionPredicate") != nil && h.TimeoutRetried == No {
		h.TimeoutRetried = Unknown
		h.note("retryExceptionPredicate decides in code")
	}
	if h.TimeoutRetried == No && h.PerTry != nil && h.Retries() {
		in.fact("timeout-not-in-retry-list", tree.Pos{}, h, "an attempt that the TimeLimiter ends after %v throws TimeoutException, which is not retried", *h.PerTry)
	}
	if len(retried) == 0 && len(ignored) == 0 && h.Retries() {
		in.fact("wildcard-retry-on", tree.Pos{}, h, "no exception list: every exception is retried, client errors and bugs too")
	}
	in.r4jBreaker(h, d, retried, ignored, broad)
}

func (in *input) r4jBreaker(h *Hop, d props, retried, ignored []string, broad func([]string, ...string) bool) {
	if len(d.sub("resilience4j.circuitbreaker.instances").sub(h.Name)) == 0 || !h.Retries() {
		return
	}
	retry, _, _ := in.r4jOrder(d, "retry", "retryAspectOrder", 5)
	breaker, at, _ := in.r4jOrder(d, "circuitbreaker", "circuitBreakerAspectOrder", 4)
	if breaker < retry {
		in.fact("aspect-order", at, h, "the breaker sits outside Retry: it counts one call, however many attempts it took")
		return
	}
	taken := len(retried) == 0 || broad(retried, "CallNotPermittedException", "RuntimeException", "Exception", "Throwable")
	if taken && !broad(ignored, "CallNotPermittedException", "RuntimeException", "Exception", "Throwable") {
		in.fact("retries-open-breaker", tree.Pos{}, h, "CallNotPermittedException of the open breaker is retried: ignore it")
	}
}
