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

// TestFindsByOtherFields: each look-up compares the field that it names, not the
// one by which repeats are recognised.
func TestFindsByOtherFields(t *testing.T) {
	const spec = `
relplan: v1
system: finds
operations: {payment: 1}
resources:
  bank:
    kind: provider
    charge: {effect: takes_money, dedup_by: key}
    status: {by: receipt_no, not_found: final}
    find: {by: own_ref}
processes:
  payer:
    on: {start: payment, as: p}
    steps:
      - let: {key: fresh()}
      - call: bank.charge
        with: {key: key, own_ref: p.op, receipt_no: R1, op: p.op}
      - call: bank.find
        with: {own_ref: p.op}
        as: found
      - call: bank.status
        with: {receipt_no: R1}
        as: known
      - call: bank.status
        with: {receipt_no: R2}
        as: unknown
      - let: {key: fresh()}
      - call: bank.charge                # R2 was "not found" for good
        with: {key: key, own_ref: p.op, receipt_no: R2, op: p.op}
        on_refused: continue
      - at: done
        stop: true
promises:
  finds: {check: "at(payer, done) implies payer.found != none and payer.known != none and payer.unknown == none", always: true}
  once: effect takes_money happens at most once per payment
  ends: every payment eventually ends
`
	for _, a := range check(t, parse(t, "finds.yaml", spec)[0]).Answers() {
		if a.Verdict != modelcheck.Holds {
			t.Errorf("%s is %v", a.Promise.Name, a.Verdict)
		}
	}
}
