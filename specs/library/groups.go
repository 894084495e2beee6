package library

// Group is a question that a reader comes with, and the patterns that answer it.
type Group struct {
	Question string
	Patterns []string
}

// Groups sorts the library by the reader's question. Every pattern stands in one
// group.
var Groups = []Group{
	{"I consume messages from a broker", []string{"inbox-same-transaction", "setnx-before-write", "two-event-ids", "every-error-is-a-duplicate", "offset-and-business-commit",
		"batch-of-messages", "inbox-retention"}},
	{"I publish messages", []string{"transactional-outbox", "outbox-relay", "outbox-sequence-gap", "order-chain"}},
	{"I answer requests that clients repeat", []string{"check-then-insert", "lost-commit-answer", "same-key-other-payload", "result-replay", "ok-row-after-failed-check"}},
	{"I call a payment provider", []string{"external-payment", "payment-status-query", "provider-forgets-the-key", "lease-takeover", "late-success-after-cancel", "unknown-handed-over"}},
	{"I lock, shard or partition", []string{"distributed-lock", "sharded-arbitration", "unique-key-with-the-day"}},
	{"My messages arrive out of order", []string{"ordered-versions", "additions-and-snapshots"}},
	{"I keep a cache", []string{"cache-fill"}},
}
