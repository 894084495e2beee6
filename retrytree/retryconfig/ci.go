package retryconfig

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// gitlabReader reads the retry keyword of GitLab CI jobs.
// Source: GitLab CI YAML reference, retry (0 to 2).
var gitlabReader = &Reader{
	Name:    "gitlab-ci",
	Title:   "GitLab CI retry keyword",
	Objects: []string{".gitlab-ci.yml"},
	Samples: []Reading{{Setting: "JOB.retry", Counts: "after the first", Name: ".gitlab-ci.yml", Text: `stages: [test]
test:
  script: [make test]
  retry: @N@
`}},
	claims: func(d *doc) bool { return d.version == "" && len(gitlabJobs(d.root)) > 0 },
	read: func(in *input, own []*doc) {
		for _, d := range own {
			jobs := gitlabJobs(d.root)
			extended := map[string]bool{}
			for _, j := range jobs {
				for _, base := range words(j.Value.Get("extends"), ",") {
					extended[base] = extended[base] || !strings.HasPrefix(j.Key, ".")
				}
			}
			for _, j := range jobs {
				if strings.HasPrefix(j.Key, ".") && extended[j.Key] {
					continue // read with the jobs that extend it
				}
				retry, timeout := gitlabInherited(d.root, j, "retry"), gitlabInherited(d.root, j, "timeout")
				if retry == nil {
					continue
				}
				at := retry.KeyPos
				if j.Value.Entry("retry") == nil {
					at = j.KeyPos
				}
				var limit *tree.Node
				if timeout != nil {
					limit = timeout.Value
				}
				in.gitlabRetry(in.hop("gitlab-ci", j.Key, at), retry.Value, limit)
			}
			in.file.Reason = "jobs without a retry keyword"
		}
	},
}

// gitlabJobs finds what looks like a job: a mapping with a script, or the defaults of a
// file that has jobs.
func gitlabJobs(root *tree.Node) []tree.Entry {
	var out []tree.Entry
	jobs := false
	for _, e := range root.Map() {
		script := e.Value.Get("script")
		isJob := script.Is(tree.Seq) || script.Is(tree.Scalar) || e.Value.Get("trigger") != nil && e.Value.Get("stage") != nil
		jobs = jobs || isJob
		if isJob || e.Key == "default" && e.Value.Is(tree.Map) || strings.HasPrefix(e.Key, ".") && (e.Value.Get("retry") != nil || e.Value.Get("extends") != nil) {
			out = append(out, e)
		}
	}
	if !jobs {
		return nil
	}
	return out
}

// gitlabInherited gives the keyword of a job, or that of what it extends; of several the
// last one wins.
func gitlabInherited(root *tree.Node, job tree.Entry, key string) *tree.Entry {
	for range 11 { // GitLab follows eleven levels
		if e := job.Value.Entry(key); e != nil {
			return e
		}
		bases := words(job.Value.Get("extends"), ",")
		next := -1
		for i := len(bases) - 1; i >= 0 && next < 0; i-- {
			if e := root.Entry(bases[i]); e != nil && (i == 0 || e.Value.Entry(key) != nil || e.Value.Get("extends") != nil) {
				next = i
				job = *e
			}
		}
		if next < 0 {
			return nil
		}
	}
	return nil
}

var gitlabTime = regexp.MustCompile(`([0-9]+)\s*(weeks?|w|days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)`)

// gitlabDuration reads "1h 30m", "30 minutes".
func gitlabDuration(s string) (sum time.Duration, ok bool) {
	for _, m := range gitlabTime.FindAllStringSubmatch(s, -1) {
		d, err := whole(m[1], units[m[2][:1]])
		if err != nil {
			return 0, false
		}
		sum = addDur(sum, d)
	}
	return sum, sum > 0
}

func (in *input) gitlabRetry(h *Hop, r, timeout *tree.Node) {
	h.Class, h.OverallKnown, h.MayHaveRun, h.EndedOutside, h.TimeoutRetried = Job, true, Yes, true, Yes
	node := r
	if r.Is(tree.Map) {
		node = r.Get("max")
		in.unknownKeys(r, h, "retry", "max", "when", "exit_codes")
	}
	n := in.count(h, "retry", node, number{Min: 0, Max: 2})
	h.retries("retry", n, 0)
	if h.Refused != "" {
		h.Refused = "retry takes 0 to 2: the pipeline is not created"
	}
	if h.Undecided != "" {
		h.Attempts = nil
	}
	h.Conditions = words(r.Get("when"), ",")
	if len(h.Conditions) > 0 && !contains(h.Conditions, "always") && !contains(h.Conditions, "stuck_or_timeout_failure") && !contains(h.Conditions, "job_execution_timeout") {
		h.TimeoutRetried = No
		h.EndedOutside = false
	}
	if d, ok := gitlabDuration(timeout.Str()); ok {
		h.perTry(&d)
	} else {
		h.note("the job timeout (1h by default) is a setting of the project")
	}
	h.Waits = Backoff{Open: true, Source: "the next free runner"}
}

// githubReader reads retry actions in workflows; GitHub Actions has no retry of its own.
// Source: nick-fields/retry README, Wandalen/wretry.action README.
var githubReader = &Reader{
	Name:    "github-actions",
	Title:   "GitHub Actions with nick-fields/retry or Wandalen/wretry.action",
	Objects: []string{"workflow with jobs and steps"},
	Samples: []Reading{{Setting: "with.max_attempts of nick-fields/retry", Counts: "all", Name: "workflow.yml", Text: `name: ci
on: [push]
jobs:
  t:
    runs-on: ubuntu-latest
    steps:
    - uses: nick-fields/retry@v3
      with:
        timeout_minutes: 10
        command: make
        max_attempts: @N@
`}},
	claims: func(d *doc) bool {
		for _, j := range d.root.Get("jobs").Map() {
			if j.Value.Get("steps").Is(tree.Seq) || j.Value.Get("uses") != nil {
				return d.version == ""
			}
		}
		return d.version == "" && d.root.Get("runs", "steps").Is(tree.Seq)
	},
	read: func(in *input, own []*doc) {
		for _, d := range own {
			for _, j := range d.root.Get("jobs").Map() {
				in.githubJob("jobs."+j.Key, j.Value, j.Value.Get("steps"))
			}
			in.githubJob("runs", d.root.Get("runs"), d.root.Get("runs", "steps"))
			in.file.Reason = "a workflow without a retry action"
		}
	},
}

func (in *input) githubJob(name string, job, steps *tree.Node) {
	found := 0
	for _, s := range steps.List() {
		uses, _, _ := strings.Cut(s.Get("uses").Str(), "@")
		uses = strings.ToLower(uses)
		if uses != "nick-fields/retry" && uses != "nick-invision/retry" && uses != "wandalen/wretry.action" {
			continue
		}
		label := name
		if found++; found > 1 {
			label += "#" + strconv.Itoa(found)
		}
		h := in.hop("github-actions", label, s.At())
		h.Class, h.OverallKnown, h.MayHaveRun = Job, true, Yes
		limit := job.Get("timeout-minutes")
		if st := s.Get("timeout-minutes"); st != nil {
			limit = st
		}
		overall := in.duration(h, "timeout-minutes", limit, minutesGrammar)
		if overall == nil && h.Undecided == "" {
			overall = dp(6 * time.Hour)
			h.hidden("timeout-minutes 360")
		}
		h.Overall = overall
		if strings.HasPrefix(uses, "wandalen") {
			in.wretry(h, s.Get("with"))
		} else {
			in.nickRetry(h, s.Get("with"))
		}
	}
}

func (in *input) nickRetry(h *Hop, with *tree.Node) {
	n := in.count(h, "max_attempts", with.Get("max_attempts"), number{Min: 1, Max: 1 << 31, Strings: true, Floats: true})
	h.total("max_attempts", n, 1)
	if n == nil && h.Refused == "" && h.Undecided == "" {
		in.refuse(h, with.At(), "max_attempts is required")
	}
	if h.Undecided != "" {
		h.Attempts = nil
	}
	each := in.duration(h, "timeout_minutes", with.Get("timeout_minutes"), minutesGrammar)
	if each == nil {
		each = in.duration(h, "timeout_seconds", with.Get("timeout_seconds"), fracSeconds)
	}
	if each == nil && h.Refused == "" && h.Undecided == "" {
		in.refuse(h, with.At(), "timeout_minutes or timeout_seconds is required")
	}
	h.perTry(each)
	h.Waits = Backoff{Growth: Constant, Base: or(in.duration(h, "retry_wait_seconds", with.Get("retry_wait_seconds"), fracSeconds), 10*time.Second), Explicit: with.Has("retry_wait_seconds"), Source: "retry_wait_seconds"}
	on := with.Get("retry_on").Str()
	h.TimeoutRetried = Yes
	switch on {
	case "error":
		h.TimeoutRetried = No
	case "", "any", "timeout":
	default:
		in.badCondition(h, with.Get("retry_on").At(), on)
	}
	if on == "" {
		on = "any"
	}
	h.Conditions = []string{on}
}

func (in *input) wretry(h *Hop, with *tree.Node) {
	n := in.count(h, "attempt_limit", with.Get("attempt_limit"), number{Min: 1, Max: 1 << 31, Strings: true, Floats: true})
	h.total("attempt_limit", n, 2)
	h.Waits = Backoff{Growth: Constant, Base: or(in.duration(h, "attempt_delay", with.Get("attempt_delay"), millisGrammar), 0), Explicit: with.Has("attempt_delay"), Source: "attempt_delay"}
	h.Conditions = []string{"failure"}
	h.TimeoutRetried = No
	h.Written += " of the action"
}
