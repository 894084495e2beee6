package lower_test

import (
	"testing"

	"github.com/relplan/relplan/modelcheck"
)

// TestProviderWithTwoLedgers: two methods that execute keep their records apart.
func TestProviderWithTwoLedgers(t *testing.T) {
	const spec = `
relplan: v1
system: two-methods
operations: {payment: 1}
resources:
  bank:
    kind: provider
    reserve: {effect: reserves, dedup_by: client_key}
    charge: {effect: takes_money, dedup_by: none}
    find: {by: client_key, of: charge}
  jobs: {kind: queue, starts_with: one per payment}
processes:
  payer:
    on: {message: jobs, as: m}
    steps:
      - call: bank.reserve
        with: {client_key: m.op, op: m.op}
      - call: bank.find
        with: {client_key: m.op}
        as: found
      - go: done
        when: found != none
      - call: bank.charge
        with: {client_key: m.op, op: m.op}
      - at: done
        ack: m
faults: {crash: 1}
promises:
  reserved: effect reserves happens at most once per payment
  charged: effect takes_money happens at most once per payment
  done: every payment eventually has effect takes_money
`
	for i, a := range check(t, parse(t, "two.yaml", spec)[0]).Answers() {
		if a.Verdict != modelcheck.Holds {
			t.Errorf("promise %d is %v: the record of a reservation must not be taken for a charge", i+1, a.Verdict)
		}
	}
}

// TestProviderRecognisesRefunds: a charge and its refund are recognised by the same
// key, each by itself.
func TestProviderRecognisesRefunds(t *testing.T) {
	const spec = `
relplan: v1
system: refunds
operations: {payment: 1}
resources:
  bank:
    kind: provider
    charge: {effect: takes_money, dedup_by: client_key}
    refund: {undo: takes_money, dedup_by: client_key}
  jobs: {kind: queue, starts_with: one per payment}
processes:
  payer:
    on: {message: jobs, as: m}
    steps:
      - call: bank.charge
        with: {client_key: m.op, op: m.op}
      - call: bank.refund
        with: {client_key: m.op, op: m.op}
      - ack: m
faults: {crash: 1, response_lost: 1}
promises:
  once: effect takes_money happens at most once per payment
  back: {check: "count(takes_money) == 0", finally: true}
`
	for i, a := range check(t, parse(t, "refunds.yaml", spec)[0]).Answers() {
		if a.Verdict != modelcheck.Holds {
			t.Errorf("promise %d is %v: a repeated refund must be recognised", i+1, a.Verdict)
		}
	}
}
