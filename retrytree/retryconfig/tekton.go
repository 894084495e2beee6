package retryconfig

import (
	"strconv"
	"time"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// tektonReader reads the retries of pipeline tasks.
// Source: tektoncd/pipeline docs/pipelines.md, docs/taskruns.md.
var tektonReader = &Reader{
	Name:    "tekton",
	Title:   "Tekton Pipeline, PipelineRun, TaskRun",
	Objects: []string{"Pipeline", "PipelineRun", "TaskRun"},
	Samples: []Reading{{Setting: "spec.tasks[].retries", Counts: "after the first", Name: "pipeline.yaml", Text: `apiVersion: tekton.dev/v1
kind: Pipeline
metadata: {name: a}
spec:
  tasks:
  - name: t
    taskRef: {name: t}
    timeout: 5m
    retries: @N@
`}},
	claims: func(d *doc) bool { return d.is("tekton.dev", "Pipeline", "PipelineRun", "TaskRun") },
	read: func(in *input, own []*doc) {
		for _, d := range own {
			spec := d.root.Get("spec")
			var limit *tree.Node
			switch d.kind {
			case "TaskRun":
				in.tektonTask(in.hop("tekton.TaskRun", d.id(), spec.At()), spec, nil, false)
				continue
			case "PipelineRun":
				limit = spec.Get("timeouts").First("tasks", "pipeline")
				if limit == nil {
					limit = spec.Get("timeout")
				}
				spec = spec.Get("pipelineSpec")
			}
			for _, list := range []string{"tasks", "finally"} {
				if list == "finally" && d.kind == "PipelineRun" {
					limit = tektonFinally(d.root.Get("spec", "timeouts"), limit)
				}
				for i, t := range spec.Get(list).List() {
					name := t.Get("name").Str()
					if name == "" {
						name = strconv.Itoa(i)
					}
					at := t.At()
					if e := t.Entry("retries"); e != nil {
						at = e.KeyPos
					}
					in.tektonTask(in.hop("tekton."+d.kind, d.id()+"#"+name, at), t, limit, true)
				}
			}
		}
	},
}

// tektonFinally is what the finally tasks have: timeouts.finally, or what timeouts.tasks
// leaves of timeouts.pipeline.
func tektonFinally(timeouts, other *tree.Node) *tree.Node {
	if f := timeouts.Get("finally"); f != nil {
		return f
	}
	all, err1 := time.ParseDuration(timeouts.Get("pipeline").Str())
	tasks, err2 := time.ParseDuration(timeouts.Get("tasks").Str())
	if err1 != nil || err2 != nil || tasks >= all {
		return other
	}
	return &tree.Node{Kind: tree.Scalar, Text: (all - tasks).String(), Pos: timeouts.At()}
}

func (in *input) tektonTask(h *Hop, t, limit *tree.Node, inPipeline bool) {
	h.Class, h.OverallKnown, h.MayHaveRun, h.TimeoutRetried = Job, true, Yes, Yes
	n := in.count(h, "retries", t.Get("retries"), counts)
	h.retries("retries", n, 0)
	if h.Undecided != "" {
		h.Attempts = nil
	}
	if d := in.duration(h, "timeout", t.Get("timeout"), goGrammar); d != nil && *d > 0 {
		h.perTry(d)
	}
	h.Waits = Backoff{Source: "no backoff"}
	if !inPipeline {
		h.EndedOutside = h.PerTry == nil
		return
	}
	overall := in.duration(h, "timeouts", limit, goGrammar)
	if overall == nil {
		overall = dp(time.Hour)
		h.hidden("PipelineRun timeout 1h")
	}
	if *overall > 0 {
		h.Overall = overall
	}
}
