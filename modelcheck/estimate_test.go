package modelcheck_test

import (
	"context"
	"testing"

	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/modelcheck/models"
)

// TestEstimates: exact for spaces inside the sample, within a factor of four for
// spaces up to fifty times larger.
func TestEstimates(t *testing.T) {
	for _, c := range table() {
		if c.transitions == 0 {
			continue
		}
		e, err := modelcheck.Predict(context.Background(), c.model, modelcheck.Options{NoReduction: true})
		if err != nil {
			t.Fatal(err)
		}
		ratio := float64(e.States) / float64(c.states)
		t.Logf("%s: %d states, %d predicted (%d to %d, depth %d of %d), %v", c.name, c.states, e.States, e.Low, e.High, e.Depth, c.depth, e.Reason)
		if e.Exact != (c.states < 200_000) || e.Exact && e.States != c.states {
			t.Errorf("%s: exact %v with %d states, want %d", c.name, e.Exact, e.States, c.states)
		}
		if ratio < 0.25 || ratio > 4 {
			t.Errorf("%s: predicted %d states, there are %d", c.name, e.States, c.states)
		}
	}
	big := models.NewInbox(6, 4, 3, 3)
	if e, err := modelcheck.Predict(context.Background(), big, modelcheck.Options{}); err != nil || e.States < 50_000 {
		t.Errorf("%+v, %v", e, err)
	}
}
