package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestHorizonMovesTheWindow: the retry horizon of the call tree is a source of the
// dedupe window, and moves it when attempts change.
func TestHorizonMovesTheWindow(t *testing.T) {
	window := func(attempts int) (required time.Duration, longest string) {
		t.Helper()
		f := load(t, fmt.Sprintf(`
workloads: {payments: {rate: 10/s, record: 100B}}
stores:
  inbox: {engine: innodb, holds: payments, dedupes: payments, retain: 1m, columns: [{name: id, type: binary(16)}], keys: {primary: [id]}}
replay_sources:
  broker: {of: payments, keeps: 10s}
calls:
  orders: {calls: [{to: payments, attempts: %d, per_try: 5s, backoff: {base: 1s}}]}
`, attempts))
		r, err := f.retries()
		if err != nil {
			t.Fatal(err)
		}
		c, err := f.capacity(r.horizonSources())
		if err != nil {
			t.Fatal(err)
		}
		return time.Duration(*c.doc.Windows[0].RequiredNS), c.doc.Windows[0].Longest
	}
	if d, by := window(2); d != 10*time.Second || by != "broker" {
		t.Errorf("2 attempts, horizon 6 s: the window needs %v because of %q; want 10s, broker", d, by)
	}
	d3, by := window(3)
	if d3 != 12*time.Second || !strings.Contains(by, "orders -> payments") {
		t.Errorf("3 attempts, horizon 12 s: the window needs %v because of %q", d3, by)
	}
	if d4, _ := window(4); d4 != 18*time.Second {
		t.Errorf("4 attempts, horizon 18 s: the window needs %v", d4)
	}
}
