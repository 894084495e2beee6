package specs

import (
	"strings"
	"testing"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/schematest"
	"github.com/relplan/relplan/internal/yamlx"
)

// TestSchemaAdmitsEverySpec: each spec that loads validates.
func TestSchemaAdmitsEverySpec(t *testing.T) {
	v := schematest.New(t, Schema())
	for _, src := range corpus(t) {
		s, _ := Load("x.yaml", []byte(src))
		if s == nil {
			continue
		}
		if errs := v.Validate(schematest.Value(t, src)); len(errs) > 0 {
			t.Errorf("%s: %s", s.System, strings.Join(errs, "; "))
		}
	}
}

// TestSchemaRefusesSlips: misspelt keys and words of closed lists, which is
// what an editor can see.
func TestSchemaRefusesSlips(t *testing.T) {
	v := schematest.New(t, Schema())
	refused := 0
	for _, s := range slips {
		text := ""
		for _, c := range corpus(t) {
			if strings.Contains(c, s.from) {
				text = strings.Replace(c, s.from, s.to, 1)
				break
			}
		}
		l := &diag.List{}
		if docs := yamlx.Parse("x", []byte(text), yamlx.Limits{}, l); len(docs) != 1 || l.HasErrors() {
			continue
		}
		if len(v.Validate(schematest.Value(t, text))) > 0 {
			refused++
		} else if strings.Contains(s.reason, "key of") || strings.Contains(s.reason, "plural") || strings.Contains(s.reason, "branch misspelt") {
			t.Errorf("%s: accepted", s.reason)
		}
	}
	if refused < 30 {
		t.Errorf("only %d slips are refused", refused)
	}
}

// TestSchemaKnowsEveryVerb: the schema has no list of its own.
func TestSchemaKnowsEveryVerb(t *testing.T) {
	if len(verbOrder) != len(verbs) {
		t.Errorf("%d verbs in order, %d in all", len(verbOrder), len(verbs))
	}
	args := map[string]bool{}
	for name, v := range verbs {
		if v.verb.String() != name {
			t.Errorf("verb %s is %s", name, v.verb)
		}
		for _, a := range v.args {
			args[a] = true
			if argTypes[a] == nil {
				t.Errorf("argument %s of %s has no type in the schema", a, name)
			}
		}
	}
	for a := range args { // verbs and arguments are disjoint, but for select's lock:
		if verbs[a] != nil && a != "lock" {
			t.Errorf("%s is a verb and an argument", a)
		}
	}
}
