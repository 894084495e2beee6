package replay

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

const bankSpec = `
relplan: v1
system: bank
operations: {payment: {count: 2, amount: [10, 20]}}
resources:
  bank:
    kind: provider
    charge: {effect: takes_money, dedup_by: key, compares: [amount], keeps: 1d}
    find: {by: key, lag: true}
    can_arrive_late: true
processes:
  payer:
    instances: 2
    on: {request: payment, as: q}
    steps:
      - {at: charge, call: bank.charge, with: {key: q, op: q, amount: q.amount}, as: r, on_unknown: stop, on_refused: stop, effect: {books: q}}
      - {at: other, call: bank.charge, with: {key: q, op: q, amount: 99}, on_refused: stop}
      - {at: find, call: bank.find, with: {key: q}, as: f, on_unknown: stop}
      - {at: end2, stop: true, when: f.key == none or r.amount == 0}
faults: {response_lost: 1}
promises:
  once: effect takes_money happens at most once per payment
  booked: effect books happens at most once per payment
`

// ofKey is how the model names a record or request.
func (g *rig) ofKey(method string, i int) lower.Subject {
	for _, m := range g.r.Provider.Methods {
		if m.Name == method {
			return lower.Subject{Method: m, Fields: lower.Record{"key": lower.OperationID{Of: g.spec.Operations[0], Index: i}}}
		}
	}
	g.t.Fatalf("no method %s", method)
	return lower.Subject{}
}

func (g *rig) requests(want int) {
	g.t.Helper()
	n, err := g.res.(*stubResource).ledger.requests(g.ctx)
	if err != nil || n != want {
		g.t.Errorf("%d requests have arrived, %v; want %d", n, err, want)
	}
}

func TestProviderRecognisesAKey(t *testing.T) {
	g := newRig(t, kindStub, "bank", bankSpec)
	w := g.worker("payer", 0)
	w.operation(0)
	first, _ := w.done("charge").(Record)
	again, _ := w.done("charge").(Record)
	if first["receipt"] == nil || first["receipt"] != again["receipt"] || first["amount"] != int64(10) {
		t.Errorf("receipts %v and %v", first, again)
	}
	g.counts("takes_money", map[string]int{"payment-1": 1})
	g.counts("books", map[string]int{"payment-1": 2}) // of the step: twice it was done
	w.ends("other", noFault, ast.OnRefused)
	w.ends("charge", refused, ast.OnError)
	g.requests(3)
	if v := w.done("find"); v != nil {
		t.Errorf("a record that is not visible yet was found: %v", v)
	}
	g.happens(lower.BecomesVisible, g.ofKey("charge", 0))
	if v, _ := w.done("find").(Record); v["receipt"] != first["receipt"] {
		t.Errorf("found %v", v)
	}
	g.happens(lower.KeyForgotten, g.ofKey("charge", 0))
	if v, _ := w.done("charge").(Record); v["receipt"] == first["receipt"] {
		t.Error("a forgotten key was recognised")
	}
	g.counts("takes_money", map[string]int{"payment-1": 2})
	of := g.ofKey("charge", 1)
	if err := g.res.happen(g.ctx, &lower.Event{What: lower.KeyForgotten, Of: of}); err == nil {
		t.Error("a key that nobody used was forgotten")
	}
	g.unsupported(lower.Restart)
}

func TestProviderLosesAnswersAndRequests(t *testing.T) {
	g := newRig(t, kindStub, "bank", bankSpec)
	w := g.worker("payer", 0)
	w.operation(0)
	w.ends("charge", requestLost, ast.OnUnknown)
	g.requests(0)
	g.counts("takes_money", nil)
	w.ends("charge", answerLost, ast.OnUnknown)
	g.counts("takes_money", map[string]int{"payment-1": 1})
	w.ends("find", answerLost, ast.OnUnknown)
	w.done("charge")
	g.counts("takes_money", map[string]int{"payment-1": 1})

	w.operation(1)
	w.ends("charge", arrivesLate, ast.OnUnknown)
	w.x.cut() // the request survives its caller
	g.counts("takes_money", map[string]int{"payment-1": 1})
	g.happens(lower.LateRequest, g.ofKey("charge", 1))
	g.counts("takes_money", map[string]int{"payment-1": 1, "payment-2": 1})
	g.counts("books", map[string]int{"payment-1": 2, "payment-2": 1})
	if err := g.res.happen(g.ctx, &lower.Event{What: lower.LateRequest, Of: g.ofKey("charge", 1)}); err == nil {
		t.Error("one late request was executed twice")
	}
}

func TestProviderWithoutDedupExecutesEachTime(t *testing.T) {
	g := newRig(t, kindStub, "bank", strings.Replace(bankSpec, "dedup_by: key, compares: [amount], keeps: 1d", "dedup_by: none", 1))
	w := g.worker("payer", 0)
	w.operation(0)
	w.done("charge")
	w.done("other")
	g.counts("takes_money", map[string]int{"payment-1": 2})
	g.happens(lower.BecomesVisible, g.ofKey("charge", 0))
	if v := w.done("find"); v == nil {
		t.Error("find by a field of the request finds nothing")
	}
}

func TestProviderThatLooksUpAndExecutesInTwoSteps(t *testing.T) {
	g := newRig(t, kindStub, "bank", strings.Replace(bankSpec, "keeps: 1d", "atomic: false", 1))
	a, b := g.worker("payer", 0), g.worker("payer", 1)
	a.operation(0)
	b.operation(0)
	for _, w := range []*rigWorker{a, b} {
		if e := w.do("charge", noFault); !e.done || !e.stays {
			t.Fatalf("the look-up ends with %+v", e)
		}
	}
	g.counts("takes_money", nil)
	a.done("charge")
	g.counts("takes_money", map[string]int{"payment-1": 1})
	b.ends("charge", answerLost, ast.OnUnknown)
	g.counts("takes_money", map[string]int{"payment-1": 2})
	if e := a.do("charge", noFault); !e.done || e.stays {
		t.Errorf("a key that is known: %+v", e)
	}

	a.operation(1)
	a.do("charge", noFault)
	a.x.cut()
	time.Sleep(50 * time.Millisecond)
	g.counts("takes_money", map[string]int{"payment-1": 2})
	b.operation(1)
	if e := b.do("charge", noFault); !e.stays {
		t.Errorf("the look-up ends with %+v", e)
	}
	b.ends("charge", requestLost, ast.OnUnknown)
	g.counts("takes_money", map[string]int{"payment-1": 2})
}

const refundSpec = `
relplan: v1
system: refunds
operations: {payment: 2}
resources:
  bank:
    kind: provider
    charge: {effect: takes_money, dedup_by: key}
    refund: {undo: takes_money, dedup_by: key, refuses_after: true}
    ask: {by: key, of: charge, not_found: final}
    look: {by: receipt}
processes:
  payer:
    on: {request: payment, as: q}
    steps:
      - {at: charge, call: bank.charge, with: {key: q, op: q}, as: r, on_refused: stop}
      - {at: refund, call: bank.refund, with: {key: q, op: q}, on_refused: stop}
      - {at: ask, call: bank.ask, with: {key: q}, as: f}
      - {at: look, call: bank.look, with: {receipt: r}, as: f2}
promises:
  once: effect takes_money happens at most once per payment
`

func TestProviderCancelsAndGivesFinalAnswers(t *testing.T) {
	g := newRig(t, kindStub, "bank", refundSpec)
	w := g.worker("payer", 0)
	w.operation(0)
	if v := w.done("look"); v != nil {
		t.Errorf("found without a receipt: %v", v)
	}
	w.done("charge")
	if v := w.done("ask"); v == nil {
		t.Error("a charge that was made is not found")
	}
	if v := w.done("look"); v == nil {
		t.Error("a receipt is not found")
	}
	w.done("refund")
	w.done("refund")
	g.counts("takes_money", nil)
	w.ends("charge", noFault, ast.OnRefused)

	w.operation(1)
	if v := w.done("ask"); v != nil {
		t.Errorf("found %v", v)
	}
	w.ends("charge", noFault, ast.OnRefused)
	g.counts("takes_money", nil)
}

func TestStubInASecondProcessAndCleanUp(t *testing.T) {
	g := newRig(t, kindStub, "bank", bankSpec)
	address := g.res.(served).address()
	far, err := openStore(t.Context(), g.spec, g.r, binding{Kind: kindStub, DSN: address})
	if err != nil {
		t.Fatal(err)
	}
	x, err := far.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := g.worker("payer", 0)
	w.x = x
	w.operation(0)
	w.done("charge")
	if err := far.close(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.counts("takes_money", map[string]int{"payment-1": 1})
	if err := g.res.reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.counts("takes_money", nil)
	g.requests(0)
	dir := filepath.Dir(strings.TrimPrefix(g.res.(*stubResource).ledger.own.DSN, "sqlite://"))
	if err := g.res.close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the ledger is left in %s", dir)
	}
	if e := w.do("charge", noFault); e.done {
		t.Error("the server answers after close")
	}
	if g.res, err = openStore(t.Context(), g.spec, g.r, g.b); err != nil {
		t.Fatal(err)
	}
}
