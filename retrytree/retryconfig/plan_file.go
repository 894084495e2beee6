package retryconfig

import (
	"path"
	"strings"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// Call is an edge of a plan file: who calls whom, with the hop it stands for.
type Call struct {
	From, To string
	File     string // the file that the plan takes the numbers from, relative to the plan; "" when stated in place
	HopName  string // the hop in File
	Hop      *Hop   // the numbers stated in place; nil with File
	Line     int
}

// planReader reads the calls of a plan file, so that lint sees the tree.
var planReader = &Reader{
	Name:    "plan",
	Title:   "plan file of this program, its calls",
	Objects: []string{"relplan: v1 with plan: and calls:"},
	Samples: []Reading{{Setting: "calls.NAME.calls[].attempts", Counts: "all", Name: "relplan.yaml", Text: `relplan: v1
plan: p
calls:
  a:
    calls:
    - to: b
      attempts: @N@
`}},
	claims: func(d *doc) bool { return d.root.Has("relplan") && (d.root.Has("plan") || d.root.Has("system")) },
	read: func(in *input, own []*doc) {
		for _, d := range own {
			in.file.Reason = "no calls in it"
			for _, svc := range d.root.Get("calls").Map() {
				for _, c := range svc.Value.Get("calls").List() {
					in.planCall(svc.Key, c)
				}
				if f := svc.Value.Get("from"); f.Is(tree.Map) { // every call that the file decides
					in.file.Calls = append(in.file.Calls, Call{From: svc.Key, File: planPath(f), HopName: f.Get("hop").Str(), Line: f.Pos.Line})
				}
			}
		}
	},
}

// planPath is the file that a from names, with slashes.
func planPath(from *tree.Node) string {
	return path.Clean(strings.ReplaceAll(from.Get("file").Str(), `\`, "/"))
}

func (in *input) planCall(from string, c *tree.Node) {
	call := Call{From: from, To: c.Get("to").Str(), Line: c.Pos.Line}
	if f := c.Get("from"); f.Is(tree.Map) {
		call.File, call.HopName = planPath(f), f.Get("hop").Str()
		in.file.Calls = append(in.file.Calls, call)
		return
	}
	h := in.hop("plan.call", from+"->"+call.To, c.Pos)
	h.From, h.To = []string{from}, []string{call.To}
	n := in.count(h, "attempts", c.Get("attempts"), number{Min: 1, Max: 1<<31 - 1})
	h.total("attempts", n, 1)
	h.OverallKnown = true
	h.TimeoutRetried = Yes
	h.perTry(in.duration(h, "per_try", c.Get("per_try"), quantityGrammar))
	h.Overall = in.duration(h, "overall", c.Get("overall"), quantityGrammar)
	if m := c.Get("method").Str(); m != "" {
		h.Methods = []string{m}
		h.MayHaveRun = Yes
		if c.Get("key").Str() == "reused" {
			h.MayHaveRun = No
			h.note("the key is reused, so that the callee can tell the attempts of one call")
		}
	}
	if b := c.Get("backoff"); b.Is(tree.Map) {
		h.Waits = Backoff{Growth: Constant, Explicit: true, Base: or(in.duration(h, "backoff.base", b.Get("base"), quantityGrammar), 0)}
		if f := in.float(h, "backoff.factor", b.Get("factor"), 1); f > 1 {
			h.Waits.Growth, h.Waits.Factor = Exponential, f
		}
		h.Waits.Max = or(in.duration(h, "backoff.max", b.Get("max"), quantityGrammar), 0)
		switch b.Get("jitter").Str() {
		case "full":
			h.Waits.Low, h.Waits.High, h.Waits.Jitter = 0, 1, true
		case "equal":
			h.Waits.Low, h.Waits.High, h.Waits.Jitter = 0.5, 1, true
		}
	} else {
		h.Waits.Open = true
	}
	if b := c.Get("budget"); b.Is(tree.Map) {
		h.Budget = &Budget{Kind: "ratio", Line: b.Pos.Line}
	}
	call.Hop = h
	in.file.Calls = append(in.file.Calls, call)
}
