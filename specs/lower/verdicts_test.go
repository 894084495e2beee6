package lower_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/specs"
	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

// load reads a spec of the tests; every variant must lower.
func load(t *testing.T, file string) []*ast.Spec {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, file, string(src))
}

func parse(t *testing.T, file, src string) []*ast.Spec {
	t.Helper()
	s, ds := specs.Load(file, []byte(src))
	if s == nil {
		t.Fatalf("%s: %v", file, ds)
	}
	return s.Variants()
}

func check(t *testing.T, v *ast.Spec) *lower.Outcome {
	t.Helper()
	o, err := lower.Check(context.Background(), v, modelcheck.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// The table at the end of the language's design: verdicts, and the lengths of
// the shortest histories.
func TestVerdictTable(t *testing.T) {
	tests := []struct {
		file string
		want string // one word per promise; a number is the steps of the history that breaks it
	}{
		{"a-inbox-same-transaction", "holds holds holds"},
		{"b-setnx-before-write", "holds 6 6"},
		{"c-write-before-setnx", "7 holds holds"},
		{"d-setnx-ttl-zombie", "10 holds holds"},
		{"d2-lock-plus-unique", "holds holds holds"},
		{"e-outbox-end-to-end", "holds holds holds"},
		{"e2-outbox-no-inbox", "16 holds holds"},
		{"f0-payment-client-key-naive", "holds holds 11"},
		{"f1-payment-client-key", "holds holds holds"},
		{"f2-payment-receipt-only-retry", "6 holds holds"},
		{"f3-payment-receipt-only-human", "holds holds holds"},
		{"f4-payment-query-no-dedup", "8 holds holds"},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			for _, v := range load(t, filepath.Join("../testdata", tt.file+".yaml")) {
				o := check(t, v)
				if !o.Result.Complete {
					t.Errorf("incomplete: %v", o.Result.Limits)
				}
				var got []string
				for _, a := range o.Answers() {
					got = append(got, short(a))
				}
				if g := strings.Join(got, " "); g != tt.want {
					t.Errorf("got %s, want %s", g, tt.want)
				}
				possible(t, o)
			}
		})
	}
}

// short is the verdict, or the number of steps of the history that breaks it.
func short(a lower.PromiseAnswer) string {
	if a.Verdict == modelcheck.Broken {
		return strconv.Itoa(len(a.History.Steps))
	}
	return a.Verdict.String()
}

// possible: every must_be_possible line was reached.
func possible(t *testing.T, o *lower.Outcome) {
	t.Helper()
	for _, p := range o.Possibilities() {
		if p.Verdict != modelcheck.Holds {
			t.Errorf("%s: %v", p.Possibility.Text, p.Verdict)
		}
	}
}
