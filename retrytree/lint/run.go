package lint

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/retrytree/retryconfig"
)

// Edge is a call that the files decide: who calls whom through which hop.
type Edge struct {
	From, To string
	Hop      *retryconfig.Hop
	Why      string // how it is known: "plan", or the name both files use
}

// alike is from how many findings of one rule on one object a report groups them.
const alike = 20

// Run judges the files by all rules. Findings come sorted by file, line and rule; those
// that a comment or the baseline silences are marked, not left out.
func Run(files []*retryconfig.File, o Options) []Finding {
	marks := marksOf(files, o)
	out := append(group(dedupe(runRules(files, o))), badMarks(files, marks)...)
	slices.SortStableFunc(out, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Hop, b.Hop))
	})
	fingerprint(out)
	suppress(out, marks, o)
	return out
}

// runRules runs the rules in parallel and gives what they find in the order of the rules.
func runRules(files []*retryconfig.File, o Options) []Finding {
	calls := edges(files)
	passes := make([]*Pass, len(Rules))
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(Rules)) {
		wg.Go(func() {
			for i := range next {
				p := &Pass{Files: files, Options: o, Edges: calls, rule: Rules[i]}
				p.rule.Run(p)
				passes[i] = p
			}
		})
	}
	for i := range Rules {
		next <- i
	}
	close(next)
	wg.Wait()
	var out []Finding
	for _, p := range passes {
		out = append(out, p.found...)
	}
	return out
}

// dedupe drops a finding that repeats rule, hop and place.
func dedupe(in []Finding) []Finding {
	type key struct {
		rule, file, hop, msg string
		line                 int
	}
	seen := map[key]bool{}
	out := in[:0]
	for _, f := range in {
		k := key{f.Rule, f.File, f.Hop, f.Message, f.Line}
		if !seen[k] {
			seen[k] = true
			out = append(out, f)
		}
	}
	return out
}

// group replaces many findings of one rule on the routes of one object, alike but for
// the route, by the first of them.
func group(in []Finding) []Finding {
	type key struct{ rule, file, object, message string }
	keyOf := func(f Finding) key {
		object, _, _ := strings.Cut(f.Hop, "#")
		return key{f.Rule, f.File, object, f.Message}
	}
	count := map[key]int{}
	for _, f := range in {
		count[keyOf(f)]++
	}
	done := map[key]bool{}
	var out []Finding
	for _, f := range in {
		k := keyOf(f)
		if n := count[k]; n > alike {
			if done[k] {
				continue
			}
			done[k] = true
			f.Message += fmt.Sprintf(" (and %d more places alike in %s)", n-1, k.object)
		}
		out = append(out, f)
	}
	return out
}

// fingerprint names a finding by what it says, not by where it stands.
func fingerprint(fs []Finding) {
	seen := map[string]int{}
	for i := range fs {
		f := &fs[i]
		raw := strings.Join([]string{f.Rule, filepath.ToSlash(f.File), f.Hop, f.Value, f.Limit}, "\x00")
		n := seen[raw]
		seen[raw]++
		sum := sha256.Sum256([]byte(fmt.Sprintf("%s\x00%d", raw, n)))
		f.Fingerprint = hex.EncodeToString(sum[:8])
	}
}

// edges collects the calls that are certain: those of plan files, and those where the
// host that a proxy calls is the name that an application gives itself.
func edges(files []*retryconfig.File) []Edge {
	var out []Edge
	for _, f := range files {
		for _, c := range f.Calls {
			e := Edge{From: c.From, To: c.To, Hop: c.Hop, Why: "plan"}
			if c.File == "" {
				out = append(out, e)
				continue
			}
			for _, h := range hopsOf(files, f.Path, c) {
				e.Hop = h
				if c.To == "" { // every call that the file decides
					e.To = h.Name
					if len(h.To) > 0 {
						e.To = shortHost(h.To[0])
					}
				}
				out = append(out, e)
			}
		}
	}
	apps := map[string]bool{}
	eachHop(files, func(h *retryconfig.Hop) {
		for _, a := range h.From {
			apps[a] = true
		}
	})
	eachHop(files, func(h *retryconfig.Hop) {
		if h.Kind == "plan.call" {
			return
		}
		for _, to := range h.To {
			name := shortHost(to)
			from := ""
			if len(h.From) > 0 {
				from = h.From[0]
			}
			if from != "" || apps[name] {
				if from == "" {
					from = "callers"
				}
				out = append(out, Edge{From: from, To: name, Hop: h, Why: "names"})
			}
		}
	})
	return out
}

func eachHop(files []*retryconfig.File, f func(h *retryconfig.Hop)) {
	for _, file := range files {
		for _, h := range file.Hops {
			f(h)
		}
	}
}

// hopsOf finds the hops that a plan takes from another file: the one that is named, the
// only one, or all of them for a call without a callee.
func hopsOf(files []*retryconfig.File, plan string, c retryconfig.Call) []*retryconfig.Hop {
	want := path.Join(path.Dir(filepath.ToSlash(plan)), c.File)
	for _, f := range files {
		if p := filepath.ToSlash(f.Path); p != want && path.Clean(p) != want {
			continue
		}
		if c.To == "" && c.HopName == "" {
			return f.Hops
		}
		if h := f.Hop(c.HopName); h != nil {
			return []*retryconfig.Hop{h}
		}
	}
	return nil
}

// shortHost is the service name of a Kubernetes host, else the host without its port.
func shortHost(host string) string {
	host, _, _ = strings.Cut(host, ":")
	if name, rest, ok := strings.Cut(host, "."); ok && strings.Contains(rest, "svc") {
		return name
	}
	return host
}

// Counts gives the findings that count, by severity.
func Counts(fs []Finding) map[diag.Severity]int {
	out := map[diag.Severity]int{}
	for _, f := range fs {
		if f.Suppressed == nil {
			out[f.Severity]++
		}
	}
	return out
}
