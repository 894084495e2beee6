package replay_test

import (
	"testing"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/specs/incidents"
)

// TestIncidents acts out the histories of every incident, a good run and random
// schedules: on SQLite, and with RELPLAN_LONG=1 on every engine.
func TestIncidents(t *testing.T) {
	kinds, random := []engines.Kind{engines.SQLite}, 2
	if long() {
		kinds, random = sqlKinds, 10
	}
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			s := newStand(t, kind)
			for _, name := range incidents.Names() {
				spec, err := incidents.Load(name)
				if err != nil {
					t.Fatal(err)
				}
				for _, v := range spec.Spec.Variants() {
					historiesOn(t, s, v, 1)
					randomOn(t, s, v, random, today())
				}
			}
		})
	}
}
