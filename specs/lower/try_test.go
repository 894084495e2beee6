package lower_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/specs"
	"github.com/relplan/relplan/specs/lower"
)

func TestTry(t *testing.T) {
	pat := os.Getenv("TRY")
	if pat == "" {
		t.Skip()
	}
	files, _ := filepath.Glob(pat)
	for _, f := range files {
		src, _ := os.ReadFile(f)
		s, ds := specs.Load(f, src)
		if s == nil {
			t.Errorf("%v", ds)
			continue
		}
		for _, v := range s.Variants() {
			fmt.Printf("== %s %s\n", filepath.Base(f), v.Variant)
			o, err := lower.Check(context.Background(), v, modelcheck.Options{Workers: 1, Shortest: os.Getenv("SHORT") != ""})
			if err != nil {
				fmt.Println("  ERR:", err)
				continue
			}
			m, res := o.Model, o.Result
			fmt.Println("  expect", v.Expect, "reruns", o.Reruns, o.Unbounded)
			fmt.Printf("  %s states %d transitions %d depth %d words %d complete %v limits %v red %v\n", res.Verdict, res.States, res.Transitions, res.Depth, m.Shape().Words, res.Complete, res.Limits, res.Reductions)
			for _, p := range res.Properties {
				n := 0
				if p.History != nil {
					n = len(p.History.Steps)
				}
				fmt.Printf("    %-8s %3d  %s %s\n", p.Verdict, n, p.Name, p.Reason)
				if p.History != nil && os.Getenv("HIST") != "" && (p.Verdict == modelcheck.Broken) {
					for i, st := range p.History.Steps {
						a, self, params := m.Instance(st.ID)
						fmt.Printf("        %2d %s %d %v %s\n", i+1, a.Name, self, params, a.Fault)
						if os.Getenv("HIST") == "2" {
							prev := p.History.Initial
							if i > 0 {
								prev = p.History.Steps[i-1].State
							}
							fmt.Println("            ", m.Diff(prev, st.State))
						}
					}
					fmt.Println("         faults", p.History.Faults, "loop", p.History.LoopFrom, "sealed", p.History.Sealed)
				}
			}
			for _, n := range res.NeverTaken {
				fmt.Println("    never:", m.Shape().Steps[n])
			}
		}
	}
}
