package retryconfig

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// jobReader reads Kubernetes Jobs and CronJobs.
// Source: k8s.io/api v0.37.2 batch/v1 types.go; the Job controller's back-off.
var jobReader = &Reader{
	Name:    "kubernetes-job",
	Title:   "Kubernetes Job, CronJob, ScaledJob of KEDA",
	Objects: []string{"Job", "CronJob", "ScaledJob"},
	Samples: []Reading{{Setting: "spec.backoffLimit", Counts: "after the first", Name: "job.yaml", Text: `apiVersion: batch/v1
kind: Job
metadata: {name: a}
spec:
  backoffLimit: @N@
  template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}
`}},
	claims: func(d *doc) bool { return d.is("batch", "Job", "CronJob") || d.is("keda.sh", "ScaledJob") },
	read: func(in *input, own []*doc) {
		for _, d := range own {
			in.job(d)
		}
	},
}

func (in *input) job(d *doc) {
	spec, schedule := d.root.Get("spec"), d.root.Get("spec", "schedule")
	if d.kind == "ScaledJob" {
		spec = d.root.Get("spec", "jobTargetRef")
	}
	if d.kind == "CronJob" {
		spec = d.root.Get("spec", "jobTemplate", "spec")
	}
	at := spec.At()
	if e := spec.Entry("backoffLimit"); e != nil {
		at = e.KeyPos
	}
	h := in.hop("k8s."+d.kind, d.id(), at)
	h.Class, h.OverallKnown, h.MayHaveRun = Job, true, Yes
	n := in.count(h, "backoffLimit", spec.Get("backoffLimit"), counts)
	def := int64(6)
	if per := spec.Get("backoffLimitPerIndex"); per != nil {
		n = in.count(h, "backoffLimitPerIndex", per, counts)
		h.note("backoffLimitPerIndex: the count is for each index")
	}
	h.retries("backoffLimit", n, def)
	if n == nil && h.Refused == "" && h.Undecided == "" {
		h.Default = true
		h.hidden("backoffLimit 6")
		in.fact("implicit-default-retry", tree.Pos{}, h, "nobody wrote backoffLimit, still a failing pod is started up to 7 times").Value = "7"
	}
	if h.Undecided != "" {
		h.Attempts = nil
	}
	if s := in.count(h, "activeDeadlineSeconds", spec.Get("activeDeadlineSeconds"), counts); s != nil && *s > 0 {
		h.Overall = dp(time.Duration(*s) * time.Second)
	}
	h.EndedOutside, h.TimeoutRetried = true, Yes
	h.Waits = Backoff{Growth: Exponential, Base: 10 * time.Second, Factor: 2, Max: 6 * time.Minute, Source: "10s doubling to 6 min"}
	pod := spec.Get("template", "spec")
	if s := in.count(h, "template.spec.activeDeadlineSeconds", pod.Get("activeDeadlineSeconds"), counts); s != nil && *s > 0 && pod.Get("restartPolicy").Str() == "Never" {
		h.perTry(dp(time.Duration(*s) * time.Second)) // every attempt is a pod
	}
	if pod.Get("restartPolicy").Str() == "OnFailure" {
		h.note("restarts of the container by the kubelet count toward the limit")
	}
	if schedule != nil {
		in.cronWindow(h, schedule)
	}
}

// cronWindow compares the retries of one run with the gap to the next.
func (in *input) cronWindow(h *Hop, schedule *tree.Node) {
	gap := cronGap(schedule.Str())
	if gap == 0 || h.Attempts == nil || *h.Attempts < 2 {
		return
	}
	_, window := h.Waits.Sum(*h.Attempts - 1)
	what := "the waits alone take up to"
	if h.Overall != nil {
		window, what = *h.Overall, "a run may take up to"
	}
	if window > gap {
		f := in.fact("retry-window-exceeds-schedule", schedule.At(), h, "%s %v, and the next run starts %v after this one", what, window, gap)
		f.Value, f.Limit = window.String(), gap.String()
	}
}

// cronGap gives the smallest gap between two runs of a cron schedule, 0 when it cannot
// be told. Days are not looked at: the gap between two times of one day is a bound.
func cronGap(s string) time.Duration {
	switch strings.TrimSpace(s) {
	case "@hourly":
		return time.Hour
	case "@daily", "@midnight":
		return 24 * time.Hour
	case "@weekly":
		return 7 * 24 * time.Hour
	}
	f := strings.Fields(s)
	if len(f) == 6 && strings.HasPrefix(f[0], "CRON_TZ") || len(f) == 6 && strings.HasPrefix(f[0], "TZ=") {
		f = f[1:]
	}
	if len(f) != 5 {
		return 0
	}
	minutes, hours := cronField(f[0], 0, 59), cronField(f[1], 0, 23)
	if minutes == nil || hours == nil {
		return 0
	}
	var times []int
	for _, h := range hours {
		for _, m := range minutes {
			times = append(times, h*60+m)
		}
	}
	slices.Sort(times)
	gap := times[0] + 24*60 - times[len(times)-1]
	for i := 1; i < len(times); i++ {
		gap = min(gap, times[i]-times[i-1])
	}
	return time.Duration(gap) * time.Minute
}

func cronField(s string, low, high int) []int {
	var out []int
	for _, part := range strings.Split(s, ",") {
		rng, stepText, hasStep := strings.Cut(part, "/")
		step := 1
		if hasStep {
			v, err := strconv.Atoi(stepText)
			if err != nil || v < 1 {
				return nil
			}
			step = v
		}
		a, b := low, high
		if rng != "*" {
			x, y, isRange := strings.Cut(rng, "-")
			v, err := strconv.Atoi(x)
			if err != nil {
				return nil
			}
			a, b = v, v
			if isRange {
				if b, err = strconv.Atoi(y); err != nil {
					return nil
				}
			} else if hasStep {
				b = high
			}
		}
		if a < low || b > high {
			return nil
		}
		for v := a; v <= b; v += step {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
