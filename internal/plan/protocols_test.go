package plan

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/specs/ast"
)

func protocolsOf(t *testing.T, src string) ([]*protocolResult, error) {
	t.Helper()
	f, err := Load("relplan.yaml", []byte("relplan: v1\nplan: test\nprotocols:\n"+src))
	if err != nil {
		t.Fatal(err)
	}
	return f.protocols(context.Background())
}

// TestPatterns: a plan names a pattern of the library by its variant, by parameters,
// or by a variant with some parameters otherwise. What the library expects of its
// anti-patterns is nothing that a plan may expect.
func TestPatterns(t *testing.T) {
	got, err := protocolsOf(t, `
  relay: {pattern: outbox-relay, variant: claim-token-and-inbox}
  hasty: {pattern: outbox-relay, variant: mark-before-send}
  bare: {pattern: outbox-relay, with: {inbox: false}}
  both: {pattern: distributed-lock, variant: compare-and-set, with: {write: plain}}
  locks: {pattern: setnx-before-write, with: {mark: lock, unique: true, workers: 3}}
`)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"relay": ast.Holds, "hasty": ast.Broken, "bare": ast.Broken, "both": ast.Broken, "locks": ast.Holds}
	if len(got) != len(want) {
		t.Fatalf("%d results, want %d: %v", len(got), len(want), got)
	}
	for _, p := range got {
		if p.doc.Verdict != want[p.doc.Name] {
			t.Errorf("%s is %s, want %s", p.doc.Name, p.doc.Verdict, want[p.doc.Name])
		}
		if p.asExpected() != (p.doc.Verdict == ast.Holds) {
			t.Errorf("%s is %s and counts as expected: %v", p.doc.Name, p.doc.Verdict, p.asExpected())
		}
	}
	// compare-and-set is checked with a stall, the file without one: with the
	// variant's faults the plain write is lost to a zombie.
	for _, p := range got {
		if p.doc.Name == "both" && p.doc.Bounds["stall"] != 1 {
			t.Errorf("both has the bounds %v, not those of its variant", p.doc.Bounds)
		}
	}
}

// TestPatternMistakes are told where they stand in the plan, all at once.
func TestPatternMistakes(t *testing.T) {
	_, err := protocolsOf(t, `
  one: {pattern: outbox-relays}
  two: {pattern: outbox-relay, variant: claim-token-and-inbx}
  three: {pattern: outbox-relay, with: {inbx: false}}
  four: {pattern: outbox-relay, with: {inbox: maybe}}
`)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`relplan.yaml:5:18: no pattern "outbox-relays" in the library, did you mean outbox-relay?`,
		`relplan.yaml:6:41: library/outbox-relay.yaml has no variant 'claim-token-and-inbx'`,
		"relplan.yaml:7:47: unknown parameter 'inbx'",
		"relplan.yaml:8:47: 'maybe' is not a value of the parameter 'inbox', expected true, false",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in\n%v", want, err)
		}
	}
	var e *diag.Err
	if !errors.As(err, &e) || e.Diagnostics[1].Hint != "did you mean: claim-token-and-inbox" {
		t.Errorf("no hint for the variant: %+v", e)
	}
}
