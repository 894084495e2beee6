package specs

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite golden files")

// A slip is one small mistake made in a good spec.
type slip struct {
	base     string // file in testdata
	from, to string // replaced once
	reason   string
}

var slips = []slip{
	{"a-inbox-same-transaction", "relplan: v1", "relplan: v2", "another version"},
	{"a-inbox-same-transaction", "relplan: v1\n", "", "no version"},
	{"a-inbox-same-transaction", "system: inbox-same-transaction\n", "", "no name"},
	{"a-inbox-same-transaction", "operations:", "operation:", "section in the singular"},
	{"a-inbox-same-transaction", "{transfer: 1}          #", "{transfer: one}          #", "count in words"},
	{"a-inbox-same-transaction", "{transfer: 1}          #", "{transfer: 0}          #", "no operation"},
	{"a-inbox-same-transaction", "kind: sql", "kind: mysql", "engine for kind"},
	{"a-inbox-same-transaction", "    kind: sql\n", "", "no kind"},
	{"a-inbox-same-transaction", "isolation: read_committed", "isolation: read_commited", "isolation misspelt"},
	{"a-inbox-same-transaction", "inbox:  {unique: [msg_id]}", "inbox:  {uniqe: [msg_id]}", "key of a table"},
	{"a-inbox-same-transaction", "inbox:  {unique: [msg_id]}", "inbox:  {unique: [[msg_id]]}", "list in a list"},
	{"a-inbox-same-transaction", "inbox:  {unique: [msg_id]}", "inbox:  {unique: [{columns: [msg_id, op]}]}", "a key over a column that no row has"},
	{"a-inbox-same-transaction", "inbox:  {unique: [msg_id]}", "inbox:  {unique: [msgid]}", "a key over a misspelt column"},
	{"a-inbox-same-transaction", "starts_with: one per transfer", "starts_with: one per transfers2", "unknown operation"},
	{"a-inbox-same-transaction", "starts_with: one per transfer", "starts_with: some per transfer", "no count"},
	{"a-inbox-same-transaction", "delivery: at_least_once", "delivery: at_least_one", "delivery misspelt"},
	{"a-inbox-same-transaction", "instances: 2", "instances: two", "instances in words"},
	{"a-inbox-same-transaction", "on: {message: transfers, as: m}", "on: {mesage: transfers, as: m}", "trigger misspelt"},
	{"a-inbox-same-transaction", "on: {message: transfers, as: m}", "on: {message: transfer, as: m}", "an operation for a queue"},
	{"a-inbox-same-transaction", "on: {message: transfers, as: m}", "on: {message: shop, as: m}", "a database for a queue"},
	{"a-inbox-same-transaction", "    on: {message: transfers, as: m}\n", "", "no trigger"},
	{"a-inbox-same-transaction", "transaction: shop", "transaction: shp", "resource misspelt"},
	{"a-inbox-same-transaction", "transaction: shop", "transaction: inbox", "a table for a database"},
	{"a-inbox-same-transaction", "        do:\n", "", "no do:"},
	{"a-inbox-same-transaction", "            row: {msg_id: m.id}\n", "", "insert without a row"},
	{"a-inbox-same-transaction", "row: {msg_id: m.id}", "row: {msg_id: m.idd}", "field misspelt"},
	{"a-inbox-same-transaction", "row: {msg_id: m.id}", "row: {msg_id: }", "no value"},
	{"a-inbox-same-transaction", "row: {msg_id: m.id}", "row: {msg_id: transfer}", "an operation's name for a value"},
	{"a-inbox-same-transaction", "if_exists: go acknowledge ", "if_exists: acknowledge ", "label without go"},
	{"a-inbox-same-transaction", "if_exists: go acknowledge ", "if_exists: goto acknowledge ", "goto"},
	{"a-inbox-same-transaction", "if_exists: go acknowledge ", "if_none: go acknowledge ", "a branch of another verb"},
	{"a-inbox-same-transaction", "if_exists: go acknowledge ", "if_exist: go acknowledge ", "branch misspelt"},
	{"a-inbox-same-transaction", "if_exists: go acknowledge ", "if_exists: retry many ", "retry without a number"},
	{"a-inbox-same-transaction", "effect: {moves_money: m.op}", "effect: {moves_money: m.id, mails: 3}", "an effect for a number"},
	{"a-inbox-same-transaction", "effect: {moves_money: m.op}", "effect: moves_money", "effect without an operation"},
	{"a-inbox-same-transaction", "effect: {moves_money: m.op}", "effects: {moves_money: m.op}", "plural"},
	{"a-inbox-same-transaction", "effect: {moves_money: m.op}", "effect: {moves_money: m}", "a message for an operation"},
	{"a-inbox-same-transaction", "      - at: acknowledge\n        ack: m", "      - at: acknowledge\n        ack: msg", "unknown message"},
	{"a-inbox-same-transaction", "      - at: acknowledge\n        ack: m", "      - at: acknowledge\n        ack: m\n        stop: true", "two verbs"},
	{"a-inbox-same-transaction", "      - at: acknowledge\n        ack: m", "      - at: end\n        ack: m", "label end"},
	{"a-inbox-same-transaction", "      - at: acknowledge\n        ack: m", "      - ack: m\n      - at: acknowledge", "a label alone"},
	{"a-inbox-same-transaction", "          - insert: ledger", "          - at: acknowledge\n            insert: ledger", "a label twice"},
	{"a-inbox-same-transaction", "{crash: 1, redelivery: 1, response_lost: 1}", "{crash: yes}", "yes for a number"},
	{"a-inbox-same-transaction", "{crash: 1, redelivery: 1, response_lost: 1}", "{restart: 1}", "a fault without its subject"},
	{"a-inbox-same-transaction", "{crash: 1, redelivery: 1, response_lost: 1}", "{crash: {of: [consumers, shop], max: 1}}", "subject of another kind"},
	{"a-inbox-same-transaction", "{crash: 1, redelivery: 1, response_lost: 1}", "{crash: {on: [consumer]}}", "key of a fault"},
	{"a-inbox-same-transaction", "{crash: 1, redelivery: 1, response_lost: 1}", "{crash: 1, crash: 2}", "a key twice"},
	{"a-inbox-same-transaction", "effect moves_money happens at most once per transfer", "effect moves_mony happens at most once per transfer", "effect misspelt"},
	{"a-inbox-same-transaction", "effect moves_money happens at most once per transfer", "effect moves_money happens at most once for transfer", "preposition"},
	{"a-inbox-same-transaction", "effect moves_money happens at most once per transfer", "effect moves_money happens at most once", "cut short"},
	{"a-inbox-same-transaction", "effect moves_money happens at most once per transfer", "effect moves_money happens at most once per message", "per message"},
	{"a-inbox-same-transaction", "effect moves_money happens at most once per transfer", "money moves once", "no sentence of the list"},
	{"a-inbox-same-transaction", "no message of transfers is acked before effect moves_money", "no message of transfer is acked before effect moves_money", "queue misspelt"},
	{"a-inbox-same-transaction", "no message of transfers is acked before effect moves_money", "no message of transfers is acked before the effect moves_money", "an article"},
	{"a-inbox-same-transaction", "every transfer eventually has effect moves_money", "every transfer will have effect moves_money", "another tense"},
	{"a-inbox-same-transaction", "every transfer eventually has effect moves_money", "at_most_once: {effect: moves_money}", "map form without per"},
	{"a-inbox-same-transaction", "every transfer eventually has effect moves_money", "at_most_onse: {effect: moves_money, per: transfer}", "map form misspelt"},
	{"a-inbox-same-transaction", "every transfer eventually has effect moves_money", "{check: count(moves_money) <= 1}", "check without a mode"},
	{"a-inbox-same-transaction", "every transfer eventually has effect moves_money", "{check: count(moves_money) <= spent(crsh), always: true}", "fault in a check"},
	{"a-inbox-same-transaction", "every transfer eventually has effect moves_money", "{check: exists(ledger where opp == none), always: true}", "column in a check"},
	{"a-inbox-same-transaction", "a message of transfers is delivered twice", "a message is delivered twice", "no queue"},
	{"a-inbox-same-transaction", "promises:\n", "expect: {broken: [p9]}\npromises:\n", "unknown promise"},
	{"a-inbox-same-transaction", "promises:\n", "expect: broke\npromises:\n", "unknown verdict"},
	{"a-inbox-same-transaction", "promises:\n", "assume: [ttl of seen outlives its holder]\npromises:\n", "assumption about nothing"},
	{"a-inbox-same-transaction", "promises:\n", "variants: {v: {with: {fix: true}}}\npromises:\n", "unknown parameter"},
	{"a-inbox-same-transaction", "promises:\n", "run: {shop: {engine: postgress}}\npromises:\n", "engine misspelt"},
	{"a-inbox-same-transaction", "promises:\n", "run: {shp: {engine: postgres}, count: {moves: select 1}}\npromises:\n", "run of nothing"},
	{"a-inbox-same-transaction", "promises:\n", "initially: {ledgr: [{op: each transfer}]}\npromises:\n", "rows of no table"},
	{"a-inbox-same-transaction", "promises:\n", "initially: {ledger: [{op: each tranfer}]}\npromises:\n", "rows per nothing"},
	{"a-inbox-same-transaction", "transfers, as: m}", "transfers}", "a trigger that binds nothing"},
	{"a-inbox-same-transaction", "system: inbox-same-transaction", "plan: inbox", "a plan for a spec"},
	{"a-inbox-same-transaction", "- effect moves_money happens at most once", "- Effect moves_money happens at most once", "a capital letter"},
	{"a-inbox-same-transaction", "every transfer eventually", "each transfer eventually", "each for every"},
	{"d-setnx-ttl-zombie", "ttl: 30s", "ttl: 30", "no unit"},
	{"d-setnx-ttl-zombie", "ttl: 30s", "ttl: lease", "unknown duration"},
	{"d-setnx-ttl-zombie", "if_absent: true", "if_absent: on", "on for true"},
	{"d-setnx-ttl-zombie", "        if_absent: true\n", "", "branch that cannot happen"},
	{"d-setnx-ttl-zombie", "where: {op: m.op}", "where: {opp: m.op}", "column misspelt"},
	{"d-setnx-ttl-zombie", "where: {op: m.op}", "where: op = m.op", "assignment"},
	{"d-setnx-ttl-zombie", "where: {op: m.op}", "where: op == m.op and m.op", "no condition"},
	{"d-setnx-ttl-zombie", "where: {op: m.op}", "where: op < m.op", "order of operations"},
	{"d-setnx-ttl-zombie", "when: entry != none", "when: entry", "a row for a condition"},
	{"d-setnx-ttl-zombie", "when: entry != none", "when: entri != none", "name misspelt"},
	{"d-setnx-ttl-zombie", "when: entry != none", "when: entry.opp != none", "column of a row"},
	{"d-setnx-ttl-zombie", "when: entry != none", "when: exists(ledger where op == m.op)", "hidden read"},
	{"d-setnx-ttl-zombie", "when: entry != none", "when: count(moves_money) > 0", "a step reads a promise's counter"},
	{"d-setnx-ttl-zombie", "when: entry != none", "when: entry != none &&  true", "another language"},
	{"d-setnx-ttl-zombie", "when: entry != none", "when: m.op == 3 + me", "arithmetic with an instance"},
	{"d-setnx-ttl-zombie", "when: entry != none", "only: entry != none", "data decided when loading"},
	{"d-setnx-ttl-zombie", "key: m.op\n        only_if_value: me", "key: m.op\n        only_if_value: 3", "an instance and a number"},
	{"d-setnx-ttl-zombie", "- remove: locks", "- remove: lock", "kv misspelt"},
	{"e-outbox-end-to-end", "lasts: 30s", "last: 30s", "key of a lease"},
	{"e-outbox-end-to-end", "holder: holder", "holder: owner", "column of a lease"},
	{"e-outbox-end-to-end", "on: {row: outbox, where: {state: NEW}, as: r}", "on: {row: outbx, where: {state: NEW}, as: r}", "trigger on no table"},
	{"e-outbox-end-to-end", "set: {state: CLAIMED, token: r.token + 1, holder: me}", "set: {state: claimed, token: r.token + 1, holder: me}", "constant in small letters"},
	{"e-outbox-end-to-end", "set: {state: CLAIMED, token: r.token + 1, holder: me}", "set: {state: CLAIMED, token: r.state + 1, holder: me}", "arithmetic with a state"},
	{"e-outbox-end-to-end", "message: {id: r.op, op: r.op}", "message: {id: r.op}", "message without its operation"},
	{"e-outbox-end-to-end", "message: {id: r.op, op: r.op}", "message: {id: hash(r.op, r.token), op: r.op}", "YAML splits at the comma"},
	{"e-outbox-end-to-end", "events carries two messages for one order", "events carries two message for one order", "singular"},
	{"e-outbox-end-to-end", "on: {request: order, as: op}", "on: {request: orders, as: op, tries: 0}", "a number out of range"},
	{"f1-payment-client-key", "call: bank.charge", "call: bank.chrge", "method misspelt"},
	{"f1-payment-client-key", "call: bank.charge", "call: bank", "no method"},
	{"f1-payment-client-key", "with: {client_key: m.op, op: m.op}", "with: {op: m.op}", "key not sent"},
	{"f1-payment-client-key", "with: {client_key: m.op, op: m.op}", "with: {client_key: m.op}", "operation not sent"},
	{"f1-payment-client-key", "when: p.state == DONE", "when: p.state == 3", "a state and a number"},
	{"f1-payment-client-key", "a row of payments is in state UNKNOWN", "a row of payments is in state UNKNWON", "state misspelt"},
	{"f1-payment-client-key", "every row of payments in state UNKNOWN is", "every row of payments in state UNSURE is", "state that does not exist"},
	{"f1-payment-client-key", "late_requests: true", "late_request: true", "key of a provider"},
	{"f1-payment-client-key", "      - go: charge                       # same", "      - go: charge when r == none        # same", "when on the same line"},
	{"../incidents/p010-unique-needs-partition-column", "only: fix == dedupe_table", "only: fx == dedupe_table", "parameter misspelt"},
	{"../incidents/p010-unique-needs-partition-column", "{with: {fix: dedupe_table}, expect: holds}", "{with: {fix: dedup_table}, expect: holds}", "value of a parameter"},
	{"../incidents/p010-unique-needs-partition-column", "expect: {broken: [once]}", "expect: {broken: [onse]}", "promise misspelt"},
	{"../incidents/p016-key-from-single-use-token", "\"hash(q.op, token)\"", "hash(q.op, token)", "the trap of section 5"},
	{"../incidents/p052-sequence-gap", "where: id > c.pos and settled(id)", "where: id > c.pos and settled(op)", "settled of no sequence"},
	{"../incidents/p052-sequence-gap", "order_by: id", "order_by: ids", "order by no column"},
	{"../incidents/p013-retry-after-key-expired", "when: age(key) > key_life", "when: age(key) > keylife", "duration misspelt"},
	{"../incidents/p013-retry-after-key-expired", "when: age(key) > key_life", "when: age(key) > 3", "age in numbers"},
	{"../incidents/p019-forced-failed", "let: {n: 0 .. 2}", "let: {n: 2 .. 0}", "range upside down"},
	{"../incidents/p112-cache-aside", "      - script: cache\n", "      - script: db\n", "script on a database"},
	{"../incidents/p112-cache-aside", "finally: true}", "finaly: true}", "mode misspelt"},
	{"../incidents/p119-session-token", "        from: replica\n", "        from: replika\n", "replica misspelt"},
	{"../incidents/p119-session-token", ", replica: {lag: 1}", "", "no replica declared"},
	{"../incidents/p075-session-lock-behind-a-pooler", "parameters: {connection: [pooled, pinned]", "parameters: {connection: [pooled, pinned], session: [on_x, on_y]", "a parameter named like a value"},
}

// TestSlips compares what each slip gives with testdata/slips.golden, which
// people have read: place, words and suggestion.
func TestSlips(t *testing.T) {
	var out strings.Builder
	for _, s := range slips {
		src, err := os.ReadFile("testdata/" + s.base + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(src), s.from) {
			t.Errorf("%s: %q is not in %s", s.reason, s.from, s.base)
			continue
		}
		spec, ds := Load(filepath.Base(s.base)+".yaml", []byte(strings.Replace(string(src), s.from, s.to, 1)))
		fmt.Fprintf(&out, "# %s\n", s.reason)
		for _, d := range ds {
			fmt.Fprintln(&out, d)
			if d.Hint != "" {
				fmt.Fprintf(&out, "  hint: %s\n", d.Hint)
			}
			if d.Pos.Line == 0 {
				t.Errorf("%s: no position: %s", s.reason, d)
			}
		}
		if len(ds) == 0 || spec != nil {
			t.Errorf("%s: accepted", s.reason)
		}
	}
	const golden = "testdata/slips.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != out.String() {
		t.Errorf("differs from %s: run with -update and read the difference", golden)
	}
}
