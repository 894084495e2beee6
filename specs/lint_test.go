package specs

import (
	"os"
	"strings"
	"testing"

	"github.com/relplan/relplan/internal/diag"
)

// TestWarnings: each warning is given where it should be, and the spec with the
// advice taken is silent about it.
func TestWarnings(t *testing.T) {
	for _, c := range []struct {
		code, file, from, to string // from, to: an edit that brings the warning about
		line                 int
		fixFrom, fixTo       string // an edit that takes the advice
	}{
		{"RP101", "../incidents/p046-effect-and-status-apart", "", "", 25, "        effect: {applies: m.op}\n      - insert: inbox\n        row: {op: m.op}\n        if_exists: continue\n", "        effect: {applies: m.op}\n"},
		{"RP102", "a-inbox-same-transaction", "      - transaction: shop\n", "      - ack: m\n      - transaction: shop\n", 21, "      - ack: m\n      - transaction: shop\n", "      - transaction: shop\n"},
		{"RP103", "d-setnx-ttl-zombie", "", "", 17, "tables: {ledger: {}}", "tables: {ledger: {unique: [op]}}"},
		{"RP104", "f0-payment-client-key-naive", "", "", 44, "where: {op: m.op}\n        set: {state: UNKNOWN}", "where: {op: m.op, state: STARTED}\n        set: {state: UNKNOWN}"},
		{"RP105", "b-setnx-before-write", "", "", 17, "      - put: seen\n        key: m.id\n        if_absent: true\n        if_exists: go acknowledge\n", ""},
		{"RP106", "../incidents/p111-enqueue-inside-transaction", "", "", 25, "          - send: jobs\n            only: how == inside\n            message: {op: q.op}\n", ""},
		{"RP107", "../incidents/p010-unique-needs-partition-column", "", "", 24, "created_at: fresh()", "created_at: q.op"},
		{"RP108", "../incidents/p089-old-offset-committed-late", "", "", 26, "where: n == at + 1\n", "where: n == at + 1\n        order_by: n\n"},
		{"RP110", "../incidents/p028-outbox-redispatch", "", "", 28, "when: rec.dispatched", "when: rec != none and rec.dispatched"},
		{"RP111", "f1-payment-client-key", "faults: {crash: 1, response_lost: 1, redelivery: 1}", "faults: {crash: 1}", 9, "faults: {crash: 1}", "faults: {crash: 1, late_request: 1}"},
		{"RP112", "a-inbox-same-transaction", "delivery: at_least_once, starts_with", "delivery: at_least_once, max_deliveries: 3, starts_with", 14, "max_deliveries: 3, ", "max_deliveries: 3, dead_letter: dead, "},
		{"RP113", "e-outbox-end-to-end", "on: {row: outbox, where: {state: NEW}", "on: {row: outbox, where: {state: NEVER}", 38, "NEVER", "NEW"},
		{"RP114", "a-inbox-same-transaction", "inbox:  {unique: [msg_id]}", "inbox:  {}", 25, "inbox:  {}", "inbox:  {unique: [msg_id]}"},
		{"RP142", "a-inbox-same-transaction", "promises:\n", "assume: [ttl is long enough]\npromises:\n", 34, "ttl is long enough", "nobody deploys on Friday"},
		{"RP170", "../incidents/p109-late-try-after-cancel", "", "", 9, "cancels: {kind: queue, starts_with: one per saga}", "cancels: {kind: queue}"},
	} {
		b, err := os.ReadFile("testdata/" + c.file + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		src := string(b)
		if c.from != "" {
			if !strings.Contains(src, c.from) {
				t.Fatalf("%s: no %q", c.code, c.from)
			}
			src = strings.Replace(src, c.from, c.to, 1)
		}
		s, ds := Load("x.yaml", []byte(src))
		if s == nil {
			t.Errorf("%s: %v", c.code, ds)
			continue
		}
		found := false
		for _, d := range ds {
			found = found || d.Code == c.code && d.Pos.Line == c.line && d.Severity == diag.Warning
		}
		if !found {
			t.Errorf("%s is not given at line %d: %v", c.code, c.line, ds)
		}
		if !strings.Contains(src, c.fixFrom) {
			t.Fatalf("%s: no %q to fix", c.code, c.fixFrom)
		}
		fixed := strings.Replace(src, c.fixFrom, c.fixTo, 1)
		if c.code == "RP112" {
			fixed = strings.Replace(fixed, "\nprocesses:", "\n  dead: {kind: queue}\nprocesses:", 1)
		}
		s, ds = Load("x.yaml", []byte(fixed))
		if s == nil {
			t.Errorf("%s fixed: %v", c.code, ds)
		}
		for _, d := range ds {
			if d.Code == c.code && d.Pos.Line == c.line {
				t.Errorf("%s stays although its advice was taken: %s", c.code, d)
			}
		}
	}
}

// TestGoodSpecsAreSilent: the designs that hold give no warning.
func TestGoodSpecsAreSilent(t *testing.T) {
	for _, f := range []string{"a-inbox-same-transaction", "c-write-before-setnx", "d2-lock-plus-unique", "e-outbox-end-to-end", "e2-outbox-no-inbox"} {
		if _, ds := load(t, "testdata/"+f+".yaml"); len(ds) > 0 {
			t.Errorf("%s: %v", f, ds)
		}
	}
}
