package lab

import (
	"context"
	"fmt"

	"github.com/relplan/relplan/modelcheck/replay"
)

// claimed is the claim of the row of an order by a relay, as a schedule: it
// skips what another one has locked.
func claimed(relay, order int) string {
	return fmt.Sprintf(`
		relay %[1]d: starts
		relay %[1]d: locks and reads outbox where state == NEW: finds (op: order %[2]d
		relay %[1]d: updates outbox
		relay %[1]d: commits`, relay, order)
}

// published is what follows the claim.
func published(relay int) string {
	return fmt.Sprintf(`
		relay %[1]d: sends
		relay %[1]d: updates outbox`, relay)
}

// Treatments of a message as schedules.
const (
	notifies = `
		notifier: receives a message of events (order 1
		notifier: inserts into inbox
		notifier: inserts into notification
		notifier: commits
		notifier: acks`
	recognises = `
		notifier: receives a message of events (order 1
		notifier: inserts into inbox
		notifier: reads inbox
		notifier: acks`
)

// Queries of the second half of the order chain, for the row of order 1.
const (
	versionQuery       = "select version from outbox where op = 'order-1'"
	sentQuery          = "select count(*) from outbox where op = 'order-1' and state = 'SENT'"
	markedByTwoQuery   = "select count(*) from outbox where op = 'order-1' and marked_by = 'relay-2'"
	notificationsQuery = "select count(*) from notification"
	inboxRowsQuery     = "select count(*) from inbox"
)

// outboxFencing: relay 1 is A, relay 2 is B. B skips the row that A has locked,
// cannot mark with A's version, and after the lease A's version is old.
func outboxFencing(ctx context.Context, b *replay.Bench, t *trial) error {
	versions := map[string]int{}
	run, err := act(ctx, b, schedule{"two relays and a lease", `
		relay 1: starts
		relay 1: locks and reads outbox where state == NEW: finds (op: order 1` +
		claimed(2, 2) + published(2) + `
		relay 1: updates outbox
		relay 1: commits
		? A
		relay 2: starts
		relay 2: reads outbox where state == CLAIMED: finds (op: order 1
		relay 2: updates outbox
		-: the lease of outbox row (op: order 1` + claimed(2, 1) + `
		? B` + published(1) + published(2)}, func(ctx context.Context, name string) (err error) {
		versions[name], err = ask(ctx, b, "shop", versionQuery)
		return err
	})
	if err != nil {
		return err
	}
	t.ran(run)
	attempts := of(run, "relay") // A; B with the other row; B with A's version; B with its own
	if len(attempts) != 4 {
		t.is("attempts", len(attempts), 4)
		return nil
	}
	t.is("skippedLockedRow", rows(attempts[1]), 1)
	t.is("versionOfA", versions["A"], 1)
	t.is("markedByBWithVersionOfA", rows(attempts[2]), 0)
	t.is("versionOfB", versions["B"], 2)
	t.is("markedByAWithOldVersion", rows(attempts[0]), 0)
	t.is("markedByBWithOwnVersion", rows(attempts[3]), 1)
	return t.look(ctx, b, map[string]string{"sent": sentQuery, "markedByB": markedByTwoQuery}, map[string]int{"sent": 1, "markedByB": 1})
}

// look asks on a direct connection.
func (t *trial) look(ctx context.Context, b *replay.Bench, queries map[string]string, want map[string]int) error {
	for name, query := range queries {
		n, err := ask(ctx, b, "shop", query)
		if err != nil {
			return err
		}
		t.is(name, n, want[name])
	}
	return nil
}

// consumerInbox: a rollback and its replay, a duplicate, and another payload
// under the same identity.
func consumerInbox(ctx context.Context, b *replay.Bench, t *trial) error {
	run, err := act(ctx, b, schedule{"a consumer with an inbox", claimed(1, 1) + published(1) + claimed(1, 2) + published(1) + `
		notifier: receives a message of events (order 1
		notifier: inserts into inbox
		notifier: inserts into notification ! fails` + notifies + `
		-: events delivers` + recognises + `
		notifier: receives a message of events (order 2
		notifier: inserts into inbox
		notifier: reads inbox
		notifier: acks`}, nil)
	if err != nil {
		return err
	}
	t.ran(run)
	t.is("statuses", statuses(run, "notifier"), []string{"ROLLED_BACK", "SUCCEEDED", "DUPLICATE", "CONFLICT"})
	return t.look(ctx, b, map[string]string{"newEffects": notificationsQuery, "inboxRows": inboxRowsQuery}, map[string]int{"newEffects": 1, "inboxRows": 1})
}

// atLeastOnceRecovery: a relay dies between sending and marking; another one
// takes the row over and sends it again.
func atLeastOnceRecovery(ctx context.Context, b *replay.Bench, t *trial) error {
	run, err := act(ctx, b, schedule{"a relay dies", claimed(1, 1) + `
		relay 1: sends
		relay 1: crashes
		-: the lease of outbox row (op: order 1` + claimed(2, 1) + published(2) + notifies + recognises}, nil)
	if err != nil {
		return err
	}
	t.ran(run)
	t.is("statuses", statuses(run, "notifier"), []string{"SUCCEEDED", "DUPLICATE"})
	t.is("deliveries", len(of(run, "notifier")), 2)
	return t.look(ctx, b, map[string]string{"businessEffects": notificationsQuery, "sent": sentQuery}, map[string]int{"businessEffects": 1, "sent": 1})
}
