package lower_test

import (
	"context"
	"strings"
	"testing"

	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/specs/lower"
)

// rule is a minimal spec that decides one rule: built differently, it would
// give another answer.
type rule struct {
	name   string
	reason string
	spec   string
	// want has one word per promise: holds, broken, unknown, or the number of
	// steps of the shortest history that breaks it; then one per line of
	// must_be_possible: seen or unseen.
	want string
}

func runRules(t *testing.T, rules []rule) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			vs := parse(t, r.name+".yaml", "relplan: v1\nsystem: rule\n"+r.spec)
			o, err := lower.Check(context.Background(), vs[0], modelcheck.Options{Workers: 1, Shortest: true, MaxStates: 200000})
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Fields(r.want)
			var got []string
			for i, a := range o.Answers() {
				w := short(a)
				if i < len(want) && want[i] == "broken" && a.Verdict == modelcheck.Broken {
					w = "broken"
				}
				got = append(got, w)
			}
			for _, p := range o.Possibilities() {
				if p.Verdict == modelcheck.Holds {
					got = append(got, "seen")
				} else {
					got = append(got, "unseen")
				}
			}
			onEngines(t, vs[0])
			if g := strings.Join(got, " "); g != r.want {
				t.Errorf("got %s, want %s: %s %v", g, r.want, r.reason, o.Unbounded)
				for _, a := range o.Answers() {
					if a.History != nil {
						for _, s := range a.History.Steps {
							t.Logf("%s: %d %s %s %s %s", a.Promise.Name, s.N, s.Actor, s.Text, s.Then, s.Waited)
						}
					}
				}
			}
		})
	}
}

func replace(s, old, new string) string { return strings.ReplaceAll(s, old, new) }
