package lab

import (
	"context"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/modelcheck/replay"
	"github.com/relplan/relplan/specs/ast"
)

// Queries of the first half of the order chain.
const (
	ordersQuery = "select count(*) from orders"
	stockQuery  = "select pieces from stock where item = 'A'"
	outboxQuery = "select count(*) from outbox"
)

// Requests as schedules.
const (
	takes = `
		web: receives the request of order 1
		web: updates stock
		web: inserts into orders
		web: inserts into order_idempotency
		web: inserts into outbox`
	takesAgain = `
		web: receives the request of order 1
		web: updates stock
		web: inserts into orders
		web: inserts into order_idempotency
		web: reads order_idempotency
		web: replies ok`
	takesOther = `
		web: receives the request of order 2
		web: updates stock
		web: inserts into orders
		web: inserts into order_idempotency
		web: reads order_idempotency
		web: replies refused`
)

// rush is how many requests with one key come at once.
const rush = 8

// duplicateIdempotency: a repeat is told the first result, another payload is a
// conflict, and of eight requests at once one wins.
func duplicateIdempotency(ctx context.Context, b *replay.Bench, t *trial) error {
	run, err := act(ctx, b, schedule{"serial duplicates", takes + `
		web: commits
		web: replies ok` + unheard + takesAgain + takesOther}, nil)
	if err != nil {
		return err
	}
	t.ran(run)
	t.is("serial", statuses(run, "web"), []string{"SUCCEEDED", "DUPLICATE", "CONFLICT"})
	t.is("firstResultAgain", len(run.Attempts) > 1 && orderOf(run.Attempts[1]) == orderOf(run.Attempts[0]), true)
	effects, err := chain(ctx, b)
	if err != nil {
		return err
	}
	t.is("serialEffects", effects["orders"], 1)

	if err := b.Reset(ctx); err != nil {
		return err
	}
	attempts, err := b.Rush(ctx, "web", 0, rush)
	if err != nil {
		return err
	}
	winners, losers, agree := 0, 0, true
	for _, a := range attempts {
		switch {
		case status(a) == "SUCCEEDED":
			winners++
		case status(a) == "DUPLICATE" && a.Failed(engines.Duplicate):
			losers++
		}
		agree = agree && orderOf(a) != nil && orderOf(a) == orderOf(attempts[0])
	}
	if effects, err = chain(ctx, b); err != nil {
		return err
	}
	t.is("winner", winners, 1)
	t.is("uniqueLosers", losers, rush-1)
	t.is("allToldTheSameOrder", agree, true)
	t.is("effects", effects["orders"], 1)
	t.is("stockTaken", 10-effects["stock"], 1)
	t.is("outboxRows", effects["outbox"], 1)
	t.boundary.Injected = append(t.boundary.Injected, "duplicateIdempotency: 8 connections send one key at once, without a schedule; which one wins is the engine's choice")
	return nil
}

func orderOf(a *replay.Attempt) replay.Value { return replay.Field(a.Body, "order") }

// chain counts orders, what is left of the stock, and outbox rows, on a
// connection that is nobody's.
func chain(ctx context.Context, b *replay.Bench) (map[string]int, error) {
	db, err := b.Direct("shop")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	out := map[string]int{}
	for name, query := range map[string]string{"orders": ordersQuery, "stock": stockQuery, "outbox": outboxQuery} {
		if out[name], err = number(ctx, db, query); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// commitResponseLost: the proxy forwards the commit, waits for the answer and
// cuts the connection.
func commitResponseLost(ctx context.Context, b *replay.Bench, t *trial) error {
	var committed map[string]int
	run, err := act(ctx, b, schedule{"answer of the commit lost", takes + `
		web: commits ! done, answer lost
		? committed
		web: replies try_later` + takesAgain}, func(ctx context.Context, _ string) (err error) {
		committed, err = chain(ctx, b)
		return err
	})
	if err != nil {
		return err
	}
	t.ran(run)
	t.is("clientSeesConnectionError", len(run.Attempts) > 0 && run.Attempts[0].Failed(engines.Lost), true)
	t.is("committedOnDirectConnection", committed["orders"], 1)
	t.is("statuses", statuses(run, "web"), []string{"UNKNOWN", "DUPLICATE"})
	after, err := chain(ctx, b)
	if err != nil {
		return err
	}
	t.is("effects", after["orders"], 1)
	t.is("stockTaken", 10-after["stock"], 1)
	return nil
}

// midFailureRollback: after the order row is written the request fails, once by
// an error and once by a crash.
func midFailureRollback(ctx context.Context, b *replay.Bench, t *trial) error {
	const half = `
		web: receives the request of order 1
		web: updates stock
		web: inserts into orders
		web: inserts into order_idempotency`
	for _, c := range []struct{ name, moves string }{
		{"Error", half + "\n web: inserts into outbox ! fails\n web: replies try_later"},
		{"Crash", half + "\n web: crashes"},
	} {
		run, err := act(ctx, b, schedule{"failure half-way: " + c.name, c.moves}, nil)
		if err != nil {
			return err
		}
		t.ran(run)
		left, err := chain(ctx, b)
		if err != nil {
			return err
		}
		t.is("ordersAfter"+c.name, left["orders"], 0)
		t.is("stockAfter"+c.name, left["stock"], 10)
		t.is("outboxAfter"+c.name, left["outbox"], 0)
	}
	return nil
}

// rows is how many rows the step of an attempt has changed: it was done, or it
// found none.
func rows(a *replay.Attempt) int {
	for _, r := range a.Refused {
		if r.Branch == ast.IfNone {
			return 0
		}
	}
	return 1
}
