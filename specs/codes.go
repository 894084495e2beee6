package specs

import "sort"

// Code explains one diagnostic of the language, for `relplan help CODE`.
type Code struct {
	Code   string
	Title  string
	Text   string // what is wrong and why it matters, in full sentences
	Before string // a fragment of a spec that gives it
	After  string // the same, right
}

// LookupCode gives the explanation of a code.
func LookupCode(code string) (Code, bool) {
	for _, c := range codes {
		if c.Code == code {
			return c, true
		}
	}
	return Code{}, false
}

// Codes lists the explanations by code.
func Codes() []Code {
	out := append([]Code(nil), codes...)
	sort.Slice(out, func(i, j int) bool { return out[i].Code < out[j].Code })
	return out
}

var codes = []Code{
	{"RP001", "not a spec of a known version", "A spec is one YAML document whose first key is `relplan: v1`. The version comes first, so that a later version of the language is refused instead of misread.",
		"system: inbox", "relplan: v1\nsystem: inbox"},
	{"RP002", "unknown key", "The file has a key that the language does not know at this place. Unknown keys are errors, because a misspelt key would otherwise be ignored and the spec would check something else.",
		"promisses: [..]", "promises: [..]"},
	{"RP003", "something is missing", "A section or key that has no default is not there.",
		"- insert: inbox", "- insert: inbox\n  row: {msg_id: m.id}"},
	{"RP004", "another kind of value was expected", "The value does not fit its key. Only true and false are truth values: yes, no, on and off are words.",
		"durable: yes", "durable: true"},
	{"RP005", "YAML has split an expression at its comma", "Inside { } a comma ends the value, without an error: `{key: hash(a, b)}` gives the keys `key` and `b)`. Quote the expression or write the mapping on several lines.",
		"with: {key: hash(q.op, token), op: q.op}", "with: {key: \"hash(q.op, token)\", op: q.op}"},
	{"RP006", "a name that cannot be used", "A name starts with a letter and has letters, digits and _. It must not be a word of the expression language, and stands once. ALL_CAPS words are constants, so bound names have a small letter.",
		"as: M", "as: m"},
	{"RP010", "unknown table, resource, effect, operation or process", "Nothing of that name is declared, or it is of another kind than needed here.",
		"- insert: legder", "- insert: ledger"},
	{"RP011", "unknown label", "A jump leads to `at: LABEL` of the same process. `end` is predefined: the end of the process.",
		"if_exists: go acknowlege", "if_exists: go acknowledge"},
	{"RP012", "unknown name in an expression", "A bare word in small letters is a name bound by `as:` or `let:`, a column (in `where` and `set`), or a parameter. Constants are written in capitals, texts in quotes.",
		"row: {msg_id: msg.id}   # as: m", "row: {msg_id: m.id}"},
	{"RP013", "unknown column, field or state", "A column exists by being declared or written somewhere; a state exists by being written. Reading what nobody writes is a slip, or a promise that is empty.",
		"where: {stat: NEW}", "where: {state: NEW}"},
	{"RP014", "unknown verb or trigger", "Steps start with one verb of a closed list.",
		"- insrt: inbox", "- insert: inbox"},
	{"RP015", "no verb, or two", "One list item is one round trip and has one verb. Branches such as `if_exists:` stand beside it.",
		"- insert: inbox\n  row: {..}\n  ack: m", "- insert: inbox\n  row: {..}\n- ack: m"},
	{"RP016", "blocks", "`transaction:` covers one sql resource, `script:` one kv server; they do not nest, and no jump leads into one.",
		"if_exists: go inside   # a label inside a transaction", "if_exists: go after    # a label outside"},
	{"RP017", "the label end", "`end` is predefined: it is the end of the process. A last step `stop: true` may carry it, nothing else.",
		"- at: end\n  ack: m", "- at: acknowledge\n  ack: m"},
	{"RP018", "branch value", "A branch is `go LABEL`, `stop`, `continue`, `retry N`, `retry N then go LABEL`, `ask_human`, `reply ok`, or `commit LABEL` inside a transaction.",
		"if_exists: acknowledge", "if_exists: go acknowledge"},
	{"RP019", "a key that does not belong to the verb", "Each verb has its own arguments and branches.",
		"- get: seen\n  if_exists: stop", "- put_new: seen\n  key: m.id\n  if_exists: stop"},
	{"RP020", "not an expression", "Expressions have == != < <= > >= and or not implies + -, fields, integers, 'text', none, me, bound names, ALL_CAPS constants and a few functions. && || ! = of other languages are not known.",
		"when: entry != = none", "when: entry != none"},
	{"RP021", "types that do not fit", "Every value has a finite type, found from everything that is ever assigned. A comparison that can never be true, an order of what has no order, or a condition that is no condition is an error.",
		"where: {node: 1}   # node is only ever set to me", "where: {node: me}"},
	{"RP022", "an effect is counted per operation", "The value of `effect:` must be an operation. A spec that named a message or a position instead would count nothing, and pass.",
		"effect: {moves_money: m}", "effect: {moves_money: m.op}"},
	{"RP023", "a hidden read", "count(), exists() of a remote table inside `when`, `set` or `value` is a second round trip in disguise: another worker can act between the two. Read in a step of its own.",
		"- go: end\n  when: exists(outbox where state == NEW)", "- select: outbox\n  where: {state: NEW}\n  as: r\n- go: end\n  when: r != none"},
	{"RP024", "a name that means two things", "A bare word in `set:` or in an expression `where:` is a column first. A bound name of the same spelling makes that ambiguous.",
		"where: id > id     # a column and a bound name", "where: row.id > last"},
	{"RP026", "a value without end", "A record or hash that contains its own earlier value grows with every step, so the state would not be finite.",
		"value: {before: v}   # v is the value read before", "value: {version: v.version + 1}"},
	{"RP030", "unknown sentence", "Promises are sentences of a fixed list, each with an exact meaning; or `check: EXPR` with always, eventually, finally or leads_to.",
		"- money moves once", "- effect moves_money happens at most once per transfer"},
	{"RP031", "a sentence that goes wrong in the middle", "The sentence starts like one of the list and goes on differently.",
		"- effect moves_money happens at most one time", "- effect moves_money happens at most once per transfer"},
	{"RP032", "the map form of a promise", "Each sentence has a map form with named arguments.",
		"once: {at_most_once: {effect: moves_money}}", "once: {at_most_once: {effect: moves_money, per: transfer}}"},
	{"RP033", "must_be_possible", "What must be reachable is a sentence of its own list, or {reach: EXPR}.",
		"- transfers are redelivered", "- a message of transfers is delivered twice"},
	{"RP040", "unknown fault", "Faults are a closed list; a fault of your own starts a process by `on: {fault: NAME}`.",
		"faults: {crsh: 1}", "faults: {crash: 1}"},
	{"RP041", "the arguments of a fault", "Faults that happen to one thing name it.",
		"faults: {restart: 1}", "faults: {restart: {of: seen, loses: memory, max: 1}}"},
	{"RP042", "an assumption", "Assumptions of the closed list remove histories: ttl, visibility or lease outlives its holder, downtime of P < D, key is never reused, A < B. Anything else is printed and removes nothing.",
		"assume: [lease of inbox outlives its holder]   # inbox has no lease", "assume: [lease of outbox outlives its holder]"},
	{"RP043", "a duration", "Lengths of time have a unit (30s, 7d) or a name declared under durations:.",
		"ttl: 30", "ttl: 30s"},
	{"RP050", "a parameter", "Parameters are declared with their values; the first is the default. `with:` names declared parameters and values.",
		"with: {fix: maybe}", "with: {fix: true}"},
	{"RP051", "a variant", "A variant is a name with parameter values and its own faults, durations, assumptions and expectation.",
		"variants: [fixed]", "variants: {fixed: {with: {fix: true}, expect: holds}}"},
	{"RP052", "an expectation", "`expect: holds`, or {broken: [NAME]} with names or numbers of promises; what is not named is expected to hold.",
		"expect: {broken: [onse]}", "expect: {broken: [once]}"},
	{"RP053", "only:", "`only:` is decided when the file is read, from parameters and constants; what it excludes does not exist. Conditions on data are `go: LABEL, when: ..`.",
		"only: r.state == NEW", "only: fix"},
	{"RP060", "the run section", "`run:` says which engine stands for a resource, and how to count an effect there.",
		"run: {shop: {engine: postgress}}", "run: {shop: {engine: postgres, dsn: $RELPLAN_PG}}"},
	{"RP070", "an operation that nothing starts", "Every operation has a source: a request, a start, starts_with of a queue, or rows under initially:. Without one, promises about it hold for no reason.",
		"operations: {payment: 1}   # and no process or queue names it", "jobs: {kind: queue, starts_with: one per payment}"},
	{"RP090", "not given a meaning", "The language allows to write it, but the checker has no meaning for this combination and says so instead of guessing.", "", ""},
	{"RP101", "the effect and the inbox row are written apart", "An inbox works because its row and the effect commit together. In two transactions a crash between them leaves one without the other: a lost or a repeated effect.",
		"- insert: inbox\n  row: {msg_id: m.id}\n  if_exists: go acknowledge\n- insert: ledger\n  row: {op: m.op}\n  effect: {moves_money: m.op}",
		"- transaction: shop\n  do:\n    - insert: inbox\n      row: {msg_id: m.id}\n      if_exists: go acknowledge\n    - insert: ledger\n      row: {op: m.op}\n      effect: {moves_money: m.op}"},
	{"RP102", "ack before the last write", "What is acked does not come back. A crash between the ack and a later write loses that write.",
		"- ack: m\n- insert: ledger\n  row: {op: m.op}", "- insert: ledger\n  row: {op: m.op}\n- ack: m"},
	{"RP103", "a lock with a ttl and nothing behind it", "A worker can outlive its lock: it pauses, the key expires, another worker takes it, and the first one goes on. Only a check at the write itself helps: a fencing token, or a unique key.",
		"- put: locks\n  key: m.op\n  value: me\n  ttl: 30s\n  if_absent: true\n- insert: ledger   # no unique key", "tables: {ledger: {unique: [op]}}"},
	{"RP104", "an update that ignores the old state", "Without the old state in `where:` a late worker overwrites what a newer one wrote, DONE with UNKNOWN for example.",
		"- update: payments\n  where: {op: m.op}\n  set: {state: UNKNOWN}", "- update: payments\n  where: {op: m.op, state: STARTED}\n  set: {state: UNKNOWN}\n  if_none: continue"},
	{"RP105", "a mark written before the effect", "A mark says \"done\" from the moment it is written. A crash between the mark and the effect loses the effect: the redelivery sees the mark and acks.",
		"- put_new: seen\n  key: m.id\n  if_exists: go acknowledge\n- insert: ledger", "write both in one transaction, or make the effect refuse a repeat"},
	{"RP106", "a remote call inside a transaction", "It happens at once. A rollback does not undo it, and a crash before the commit leaves it done without the rows.",
		"- transaction: db\n  do:\n    - send: jobs", "write an outbox row in the transaction; a relay sends it"},
	{"RP107", "a key that every attempt makes anew", "A deduplication key must be the same in every attempt of one operation. fresh(), my_run, or a hash of one, never repeats.",
		"with: {key: fresh(), op: q.op}", "with: {key: q.op, op: q.op}"},
	{"RP108", "a select that does not say which row", "Several rows match and no order is given: the engine may return any of them, so every choice is explored.",
		"- select: outbox\n  where: {state: NEW}\n  as: r", "- select: outbox\n  where: {state: NEW}\n  order_by: id\n  as: r"},
	{"RP110", "a field of what may be none", "A select, get or look-up may find nothing. A field of none is none, and an order comparison with none is false.",
		"- go: done\n  when: p.state == DONE", "- go: create\n  when: p == none\n- go: done\n  when: p.state == DONE"},
	{"RP111", "late requests without a budget", "The provider may execute a request late, but nothing lets an answer get lost.",
		"faults: {crash: 1}", "faults: {crash: 1, late_request: 1}"},
	{"RP112", "messages that vanish", "After max_deliveries without a dead letter queue a message is gone.",
		"max_deliveries: 3", "max_deliveries: 3\ndead_letter: errors"},
	{"RP113", "a comparison with a constant that is never written", "Nothing ever writes this constant there, so the comparison is always false.",
		"where: {state: SEND}", "where: {state: SENT}"},
	{"RP114", "if_exists: on a table without a uniqueness constraint", "Nothing conflicts, so the branch is never taken.",
		"tables: {ledger: {}}", "tables: {ledger: {unique: [op]}}"},
	{"RP142", "an assumption that is text only", "It is printed in every verdict and removes no history. The forms with a meaning are listed in the hint.",
		"assume: [ttl is long enough]", "assume: [ttl of locks outlives its holder]"},
	{"RP170", "an operation with several sources", "The same operation starts in several places, each of which does its work. That may be meant (a try and a cancel), or a slip.",
		"", ""},
	{"RPV1", "a promise is broken", "A history within the budgets breaks the promise. The finding stands on the step to look at: the last one of the history, or, where something never happens any more, the step that sealed it.", "", ""},
	{"RPV2", "a promise is undecided", "A limit stopped the search, or a number left its range, before every history was covered. Raise the limit, name the range, or make the spec smaller.", "", ""},
	{"RPV3", "a step is never taken", "No history takes the step. A verdict over steps that never run says less than it seems to: name a fault that leads there, or remove the step.", "", ""},
	{"RPV4", "what must be possible never happens", "The situation that must_be_possible asks for is not reachable, so the promises hold for no good reason.", "", ""},
	{"RPV5", "a promise is not as expected", "The verdict of the promise differs from the expectation of the variant.", "", ""},
	{"YAML", "not readable as YAML", "The file is not YAML, or uses what is refused: duplicate keys, tabs as indentation, aliases that expand without end.", "", ""},
}
