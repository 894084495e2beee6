package retryconfig

import (
	"strings"
	"time"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// microprofileReader reads MicroProfile Fault Tolerance overrides: class/method/Retry/key.
// Source: microprofile-fault-tolerance Retry, Timeout (defaults 3, 0, 180000 ms, 200 ms).
var microprofileReader = &Reader{
	Name:    "microprofile",
	Title:   "MicroProfile Fault Tolerance in microprofile-config.properties or application.properties",
	Objects: []string{"class/method/Retry/maxRetries"},
	refusal: "the application does not start",
	Samples: []Reading{{Setting: "class/method/Retry/maxRetries", Counts: "after the first", Name: "application.properties", Text: `a.B/c/Timeout/value=1000
a.B/c/Retry/delay=100
a.B/c/Retry/maxRetries=@N@
`}},
	whole: func(in *input) bool {
		for _, d := range in.propDocs() {
			for _, x := range d {
				if _, _, ok := mpKey(x); ok {
					return true
				}
			}
		}
		return false
	},
	read: func(in *input, _ []*doc) {
		in.eachReading(func(d props) {
			in.microprofile(d)
		})
	},
}

// mpKey splits class/method/Retry/maxRetries into its target and its setting.
func mpKey(x tree.Prop) (target, setting string, ok bool) {
	key := x.Key()
	for _, a := range []string{"Retry", "Timeout", "ExponentialBackoff"} {
		if rest, found := strings.CutPrefix(key, a+"/"); found {
			return "", a + "/" + rest, true
		}
		if t, rest, found := strings.Cut(key, "/"+a+"/"); found {
			return t, a + "/" + rest, true
		}
	}
	return "", "", false
}

func (in *input) microprofile(d props) {
	set := map[string]map[string]*tree.Node{}
	var order []string
	for _, x := range d {
		target, setting, ok := mpKey(x)
		if !ok {
			continue
		}
		if set[target] == nil {
			set[target] = map[string]*tree.Node{}
			order = append(order, target)
		}
		set[target][setting] = x.Value
	}
	hasRetry := func(t string) bool {
		for k := range set[t] {
			if strings.HasPrefix(k, "Retry/") {
				return true
			}
		}
		return false
	}
	specific := false
	for _, t := range order {
		specific = specific || t != "" && hasRetry(t)
	}
	for _, t := range order {
		if !hasRetry(t) || t == "" && specific {
			continue
		}
		class, _, _ := strings.Cut(t, "/")
		get := func(key string) *tree.Node {
			for _, scope := range []string{t, class, ""} {
				if n := set[scope][key]; n != nil {
					return n
				}
			}
			return nil
		}
		name := t
		if name == "" {
			name = "*"
		}
		at := tree.Pos{}
		for _, x := range d {
			if tt, k, ok := mpKey(x); ok && tt == t && strings.HasPrefix(k, "Retry/") {
				at = x.Value.Pos
				break
			}
		}
		in.mpHop(in.hop("microprofile.Retry", name, at), get)
	}
}

var mpUnits = map[string]time.Duration{"NANOS": 1, "MICROS": time.Microsecond, "MILLIS": time.Millisecond, "SECONDS": time.Second, "MINUTES": time.Minute, "HOURS": time.Hour, "DAYS": 24 * time.Hour}

func (in *input) mpTime(h *Hop, get func(string) *tree.Node, key, unitKey string, def time.Duration) time.Duration {
	n := get(key)
	if n == nil || in.outside(h, key, n) {
		return def
	}
	unit := time.Millisecond
	if u, ok := mpUnits[strings.ToUpper(get(unitKey).Str())]; ok {
		unit = u
	}
	d, err := whole(strings.TrimSpace(n.Str()), unit)
	if err != nil {
		in.refuseDuration(h, key, n, err)
		return def
	}
	return d
}

func (in *input) mpHop(h *Hop, get func(string) *tree.Node) {
	n := in.count(h, "maxRetries", get("Retry/maxRetries"), number{Min: -1, Max: 1<<31 - 1, Strings: true})
	if on := get("Retry/enabled"); on != nil && !truth(on) {
		h.attempts(1)
		h.Written = "Retry/enabled=false"
		return
	}
	if n != nil && *n == -1 {
		h.Unbounded, h.Written = true, "maxRetries -1 = no limit"
	} else {
		h.retries("maxRetries", n, 3)
		if h.Undecided != "" {
			h.Attempts = nil
		}
	}
	if n == nil {
		h.hidden("maxRetries 3")
	}
	if v := get("Timeout/value"); v != nil && !(get("Timeout/enabled") != nil && !truth(get("Timeout/enabled"))) {
		d := in.mpTime(h, get, "Timeout/value", "Timeout/unit", time.Second)
		h.perTry(&d)
	}
	if max := in.mpTime(h, get, "Retry/maxDuration", "Retry/durationUnit", 180*time.Second); max > 0 {
		h.Overall, h.StopsOnly = &max, true
		if get("Retry/maxDuration") == nil {
			h.hidden("maxDuration 180s")
		}
	}
	h.OverallKnown = true
	delay := in.mpTime(h, get, "Retry/delay", "Retry/delayUnit", 0)
	jitter := in.mpTime(h, get, "Retry/jitter", "Retry/jitterDelayUnit", 200*time.Millisecond)
	h.Waits = Backoff{Growth: Constant, Base: delay, AddHigh: jitter, Jitter: jitter > 0, Explicit: get("Retry/delay") != nil, Source: "delay +- jitter"}
	if f := get("ExponentialBackoff/factor"); f != nil {
		h.Waits.Growth, h.Waits.Factor, h.Waits.Max = Exponential, in.float(h, "factor", f, 2), in.mpTime(h, get, "ExponentialBackoff/maxDelay", "ExponentialBackoff/maxDelayUnit", time.Minute)
	} else if delay > 0 {
		h.Waits.Low, h.Waits.High = max(0, 1-float64(jitter)/float64(delay)), 1
	}
	in.mpConditions(h, get)
	h.finish()
	if h.Worst != nil && h.WorstLow == nil && h.StopsOnly && *h.Worst > *h.Overall {
		h.WorstLow, h.WorstHigh = h.Overall, h.Worst
	}
}

func (in *input) mpConditions(h *Hop, get func(string) *tree.Node) {
	on, abort := words(get("Retry/retryOn"), ","), words(get("Retry/abortOn"), ",")
	broad := func(list []string) bool {
		for _, s := range list {
			switch s[strings.LastIndex(s, ".")+1:] {
			case "TimeoutException", "FaultToleranceException", "RuntimeException", "Exception", "Throwable":
				return true
			}
		}
		return false
	}
	h.Conditions = on
	if len(on) == 0 {
		h.Conditions = []string{"java.lang.Exception"}
	}
	h.MayHaveRun = Yes
	h.TimeoutRetried = Yes
	if len(on) > 0 && !broad(on) || broad(abort) {
		h.TimeoutRetried = No
		if h.PerTry != nil {
			in.fact("timeout-not-in-retry-list", get("Retry/retryOn").At(), h, "an attempt that @Timeout ends after %v throws TimeoutException, which is not retried", *h.PerTry)
		}
	}
}
