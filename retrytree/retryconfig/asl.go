package retryconfig

import (
	"strconv"
	"strings"
	"time"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// aslReader reads Amazon States Language: each retrier has a counter of its own, and an
// outer Parallel or Map state runs its whole branch again.
// Source: Amazon States Language, Retry fields.
var aslReader = &Reader{
	Name:    "step-functions",
	Title:   "AWS Step Functions (Amazon States Language)",
	Objects: []string{"States with StartAt"},
	refusal: "the state machine is refused",
	Samples: []Reading{{Setting: "Retry[].MaxAttempts", Counts: "after the first", Name: "asl.json", Text: `{"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "TimeoutSeconds": 30,
 "Retry": [{"ErrorEquals": ["States.ALL"],
  "MaxAttempts": @N@,
  "IntervalSeconds": 1}], "End": true}}}
`}},
	claims: func(d *doc) bool { return isASL(d.root) },
	read: func(in *input, own []*doc) {
		for _, d := range own {
			in.asl(d.root, "")
		}
	},
}

func isASL(root *tree.Node) bool {
	return root.Get("States").Is(tree.Map) && root.Get("StartAt") != nil
}

// aslLoop is what one state's Retry list adds up to.
type aslLoop struct {
	extra   int64 // attempts after the first, all retriers together
	slow    int64 // those that a States.Timeout may use
	waits   []time.Duration
	low     []time.Duration
	long    bool // too many to list
	retried bool
}

func (in *input) asl(root *tree.Node, prefix string) {
	overall := in.aslSeconds(root.Get("TimeoutSeconds"))
	in.aslStates(root.Get("States"), prefix, nil, overall, 0)
}

func (in *input) aslSeconds(n *tree.Node) *time.Duration {
	if n.Missing() {
		return nil
	}
	if d, err := whole(n.Str(), time.Second); err == nil && d > 0 {
		return &d
	}
	return nil
}

func (in *input) aslStates(states *tree.Node, prefix string, outer []aslLoop, overall *time.Duration, depth int) {
	if depth > 20 {
		return
	}
	for _, e := range states.Map() {
		s := e.Value
		name := prefix + e.Key
		switch s.Get("Type").Str() {
		case "Parallel", "Map":
			h := &Hop{File: in.file.Path, Kind: "aws.step-functions", Name: name, Line: e.KeyPos.Line, Column: e.KeyPos.Col}
			loop := in.aslRetry(h, s.Get("Retry"))
			if h.Refused != "" {
				in.file.Hops = append(in.file.Hops, h)
				continue
			}
			loops := append(outer[:len(outer):len(outer)], loop)
			for _, b := range s.Get("Branches").List() {
				in.aslStates(b.Get("States"), name+"/", loops, overall, depth+1)
			}
			for _, k := range []string{"Iterator", "ItemProcessor"} {
				in.aslStates(s.Get(k, "States"), name+"/", loops, overall, depth+1)
			}
		case "Task":
			in.aslTask(in.hop("aws.step-functions", name, e.KeyPos), s, outer, overall)
		}
	}
}

func (in *input) aslTask(h *Hop, s *tree.Node, outer []aslLoop, overall *time.Duration) {
	h.Class = Job
	h.To = []string{s.Get("Resource").Str()}
	loop := in.aslRetry(h, s.Get("Retry"))
	if d := in.aslSeconds(s.Get("TimeoutSeconds")); d != nil {
		h.perTry(d)
	}
	h.Overall, h.OverallKnown = overall, true
	attempts, slow := loop.extra+1, loop.slow+1
	waits, low, long := loop.waits, loop.low, loop.long
	nested := int64(1)
	for i := len(outer) - 1; i >= 0; i-- {
		o := outer[i]
		inner, innerLow := waits, low
		for j := int64(0); j < o.extra && j < 1000; j++ {
			if j < int64(len(o.waits)) {
				waits, low = append(waits, o.waits[j]), append(low, o.low[j])
			}
			waits, low = append(waits, inner...), append(low, innerLow...)
		}
		long = long || o.long || len(waits) > sumSteps
		attempts = mulCap(attempts, o.extra+1)
		slow = mulCap(slow, o.slow+1)
		nested *= o.extra + 1
	}
	h.attempts(attempts)
	h.Written = "1 + " + strconv.FormatInt(loop.extra, 10) + " (all retriers)"
	if nested > 1 && loop.extra > 0 {
		h.Written += ", times " + strconv.FormatInt(nested, 10) + " by the states around it"
		in.fact("nested-job-retries", tree.Pos{}, h, "%d attempts inside, run again up to %d times by the states around it: %d", loop.extra+1, nested, attempts)
	}
	if long {
		h.Waits = Backoff{Open: true}
	} else if len(waits) > 0 {
		h.Waits = Backoff{Growth: Listed, List: waits, Explicit: loop.retried, Source: "IntervalSeconds * BackoffRate^(n-1), at most MaxDelaySeconds, for each retrier"}
		if d := sumOf(low); d < sumOf(waits) {
			h.Waits.Low, h.Waits.High, h.Waits.Jitter = 0, 1, true
		}
	}
	h.MayHaveRun = Yes
	h.TimeoutRetried = Yes
	switch {
	case slow == 1:
		h.TimeoutRetried = No
	case slow < attempts && h.PerTry != nil && h.Refused == "":
		limited := *h
		limited.Attempts = &slow
		h.Slow = limited.slowAttempts()
	}
}

func sumOf(list []time.Duration) (sum time.Duration) {
	for _, d := range list {
		sum = addDur(sum, d)
	}
	return sum
}

func mulCap(a, b int64) int64 {
	if a > 1<<40/b {
		return 1 << 40
	}
	return a * b
}

// aslRetry reads a Retry list.
func (in *input) aslRetry(h *Hop, list *tree.Node) aslLoop {
	var loop aslLoop
	timeoutTaken := false
	items := list.List()
	for i, r := range items {
		in.unknownKeys(r, h, "a retrier", "ErrorEquals", "IntervalSeconds", "MaxAttempts", "BackoffRate", "MaxDelaySeconds", "JitterStrategy", "Comment")
		n := or(in.count(h, "MaxAttempts", r.Get("MaxAttempts"), number{Min: 0, Max: 99999999, Floats: true}), 3)
		if r.Get("MaxAttempts") == nil {
			h.hidden("MaxAttempts 3")
		}
		errs := words(r.Get("ErrorEquals"), ",")
		all := contains(errs, "States.ALL")
		if all && (len(errs) > 1 || i < len(items)-1) {
			in.refuse(h, r.At(), "States.ALL must stand alone and in the last retrier")
		}
		if len(errs) == 0 {
			in.refuse(h, r.At(), "ErrorEquals must name an error")
		}
		h.Conditions = append(h.Conditions, errs...)
		if n == 0 {
			if all || contains(errs, "States.Timeout") {
				timeoutTaken = true
			}
			continue
		}
		loop.retried = true
		if all || contains(errs, "States.TaskFailed") {
			in.fact("wildcard-retry-on", r.At(), h, "%s takes every error, also those that come back each time", strings.Join(errs, ", "))
		}
		if (all || contains(errs, "States.Timeout")) && !timeoutTaken {
			timeoutTaken = true
			loop.slow += n
		}
		loop.extra = mulCap(loop.extra+n, 1)
		in.aslWaits(h, r, n, &loop)
	}
	return loop
}

func (in *input) aslWaits(h *Hop, r *tree.Node, n int64, loop *aslLoop) {
	base := time.Second
	if v := r.Get("IntervalSeconds"); v != nil {
		if d := in.duration(h, "IntervalSeconds", v, secondsGrammar); d != nil {
			base = *d
		}
	}
	rate := in.float(h, "BackoffRate", r.Get("BackoffRate"), 2)
	if rate < 1 {
		in.refuse(h, r.Get("BackoffRate").At(), "BackoffRate must be 1.0 or more")
	}
	max := or(in.duration(h, "MaxDelaySeconds", r.Get("MaxDelaySeconds"), secondsGrammar), 0)
	if max > 0 && max <= base {
		in.fact("backoff-base-over-max", r.Get("MaxDelaySeconds").At(), h, "IntervalSeconds %v is not below MaxDelaySeconds %v", base, max)
		in.refuse(h, r.Get("MaxDelaySeconds").At(), "MaxDelaySeconds must be greater than IntervalSeconds")
	}
	jitter := r.Get("JitterStrategy").Str()
	if jitter != "" && jitter != "NONE" && jitter != "FULL" {
		in.refuse(h, r.Get("JitterStrategy").At(), "JitterStrategy %q is not NONE or FULL", jitter)
	}
	if jitter != "FULL" {
		in.fact("no-jitter", r.At(), h, "the waits have no jitter (JitterStrategy is NONE)")
	}
	if max == 0 && rate > 1 && n > 3 {
		in.fact("backoff-uncapped", r.At(), h, "the wait grows without a cap (no MaxDelaySeconds)")
	}
	if n > sumSteps || len(loop.waits) > sumSteps {
		loop.long = true
		return
	}
	b := Backoff{Growth: Exponential, Base: base, Factor: rate, Max: max}
	for i := int64(1); i <= n; i++ {
		w := b.value(i)
		loop.waits = append(loop.waits, w)
		if jitter == "FULL" {
			w = 0
		}
		loop.low = append(loop.low, w)
	}
}
