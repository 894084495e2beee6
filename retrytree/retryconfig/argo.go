package retryconfig

import (
	"strconv"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// argoReader reads the retry strategies of Argo Workflows.
// Source: argo-workflows workflow/controller/operator.go processNodeRetries.
var argoReader = &Reader{
	Name:    "argo",
	Title:   "Argo Workflow, WorkflowTemplate, ClusterWorkflowTemplate, CronWorkflow",
	Objects: []string{"Workflow", "WorkflowTemplate", "ClusterWorkflowTemplate", "CronWorkflow"},
	Samples: []Reading{{Setting: "templates[].retryStrategy.limit", Counts: "after the first", Name: "wf.yaml", Text: `apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: a}
spec:
  templates:
  - name: t
    container: {image: a}
    retryStrategy:
      retryPolicy: Always
      limit: @N@
`}},
	claims: func(d *doc) bool {
		return d.is("argoproj.io", "Workflow", "WorkflowTemplate", "ClusterWorkflowTemplate", "CronWorkflow")
	},
	read: func(in *input, own []*doc) {
		for _, d := range own {
			in.argo(d)
		}
	},
}

func (in *input) argo(d *doc) {
	spec := d.root.Get("spec")
	if d.kind == "CronWorkflow" {
		spec = spec.Get("workflowSpec")
	}
	id := d.id()
	if d.kind == "ClusterWorkflowTemplate" {
		id = d.name
	}
	defaults := spec.Get("templateDefaults")
	inside := map[string]bool{}
	for _, t := range spec.Get("templates").List() {
		if t.Get("retryStrategy") != nil {
			inside[t.Get("name").Str()] = true
		}
	}
	for i, t := range spec.Get("templates").List() {
		rs := t.Get("retryStrategy")
		if rs == nil && (t.Has("steps") || t.Has("dag")) {
			continue
		}
		if rs == nil {
			rs = defaults.Get("retryStrategy")
		}
		if rs == nil {
			rs = spec.Get("retryStrategy")
		}
		if rs == nil {
			continue
		}
		name := t.Get("name").Str()
		if name == "" {
			name = strconv.Itoa(i)
		}
		h := in.hop("argo."+d.kind, id+"#"+name, rs.At())
		in.argoStrategy(h, spec, defaults, t, rs)
		for _, used := range argoUses(t) {
			if inside[used] {
				in.fact("nested-job-retries", rs.At(), h, "the template runs %s, which is retried too: their attempts multiply", used)
			}
		}
	}
}

// argoUses lists the templates that steps or tasks of a template run.
func argoUses(t *tree.Node) []string {
	var out []string
	for _, k := range []string{"steps", "dag"} {
		t.Get(k).Walk(func(_ []string, n *tree.Node) bool {
			if u := n.Get("template").Str(); u != "" {
				out = append(out, u)
			}
			return true
		})
	}
	return out
}

func (in *input) argoStrategy(h *Hop, spec, defaults, t, rs *tree.Node) {
	h.Class, h.OverallKnown, h.MayHaveRun, h.EndedOutside = Job, true, Yes, true
	in.unknownKeys(rs, h, "retryStrategy", "limit", "retryPolicy", "backoff", "affinity", "expression")
	n := in.count(h, "limit", rs.Get("limit"), number{Min: 0, Max: 1<<31 - 1, Strings: true, Floats: true})
	switch {
	case rs.Get("limit") == nil:
		h.Unbounded, h.Written = true, "no limit"
	case n != nil:
		h.retries("limit", n, 0)
	}
	policy := rs.Get("retryPolicy").Str()
	switch policy {
	case "":
		policy = "OnFailure"
		if rs.Get("expression") != nil {
			policy = "Always"
		}
		h.hidden("retryPolicy %s", policy)
	case "Always", "OnFailure", "OnError", "OnTransientError":
	default:
		in.badCondition(h, rs.Get("retryPolicy").At(), policy)
	}
	h.Conditions = []string{policy}
	h.TimeoutRetried = Yes
	if policy == "OnError" || policy == "OnTransientError" {
		h.TimeoutRetried = No
	}
	each := t.Get("activeDeadlineSeconds")
	if each == nil {
		each = defaults.Get("activeDeadlineSeconds")
	}
	if d := in.duration(h, "activeDeadlineSeconds", each, secondsGrammar); d != nil && *d > 0 {
		h.perTry(d)
	}
	if d := in.duration(h, "timeout", t.Get("timeout"), goOrSeconds); d != nil && *d > 0 && h.PerTry == nil {
		h.perTry(d)
	}
	b := rs.Get("backoff")
	in.unknownKeys(b, h, "backoff", "duration", "factor", "cap", "maxDuration")
	h.Overall = in.duration(h, "maxDuration", b.Get("maxDuration"), goOrSeconds)
	if h.Overall == nil {
		h.Overall = in.duration(h, "spec.activeDeadlineSeconds", spec.Get("activeDeadlineSeconds"), secondsGrammar)
	}
	h.Waits = Backoff{Source: "no backoff"}
	if base := in.duration(h, "backoff.duration", b.Get("duration"), goOrSeconds); base != nil {
		h.Waits = Backoff{Growth: Constant, Base: *base, Explicit: true, Line: b.Pos.Line, Source: "duration * factor^(n-1), at most cap"}
		if f := in.float(h, "factor", b.Get("factor"), 0); f > 0 {
			h.Waits.Growth, h.Waits.Factor = Exponential, f
			h.Waits.Max = or(in.duration(h, "cap", b.Get("cap"), goOrSeconds), 0)
			if h.Waits.Max > 0 && h.Waits.Max < *base {
				in.fact("backoff-base-over-max", b.At(), h, "duration %v is above cap %v: every wait is the cap", *base, h.Waits.Max)
			}
		}
	}
}
