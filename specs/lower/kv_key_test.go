package lower_test

import (
	"testing"

	"github.com/relplan/relplan/modelcheck"
)

// TestKeyOfAnEntryIsRead: a check compares the key of an entry with a constant;
// the entries of a kv with constant keys are told apart by it.
func TestKeyOfAnEntryIsRead(t *testing.T) {
	const spec = `
relplan: v1
system: keys
operations: {write: 1}
resources:
  cache: {kind: kv}
processes:
  writer:
    on: {start: write, as: w, durable: true}
    steps:
      - put: cache
        key: 'a'
        value: 1
      - put: cache
        key: 'b'
        value: 2
promises:
  none_of_b_is_1: {check: "not exists(cache where key == 'b' and value == 1)", always: true}
  none_of_a_is_1: {check: "not exists(cache where key == 'a' and value == 1)", always: true}
`
	got := check(t, parse(t, "keys.yaml", spec)[0]).Answers()
	if got[0].Verdict != modelcheck.Holds || got[1].Verdict != modelcheck.Broken {
		t.Errorf("%v %v, want holds and broken", got[0].Verdict, got[1].Verdict)
	}
}
