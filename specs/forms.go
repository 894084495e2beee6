package specs

import "github.com/relplan/relplan/specs/ast"

// form is one sentence of the language with its map form. Text is a row of
// phrases separated by |: `{effect:E}` is a slot (kind:argument), everything
// else stands as it is written. A phrase in [ ] may be left out.
type form struct {
	key     string            // of the map form
	flags   map[string]string // arguments of the map form that choose this sentence
	text    string
	build   func(d *decoder, a args) ast.Sentence
	reach   func(d *decoder, a args) ast.Reachable // must_be_possible instead
	phrases []phrase
}

// The sentences of promises. Slots: effect, op, queue, table, state, proc,
// label, n (a count), class (of a reply), word, expr (up to the next phrase).
var promiseForms = []*form{
	{key: "at_most_once", text: "effect|{effect:effect}|happens|at most once|per|{op:per}",
		build: func(d *decoder, a args) ast.Sentence { return a.atMost(1) }},
	{key: "exactly_once", text: "effect|{effect:effect}|happens|exactly once|per|{op:per}",
		build: func(d *decoder, a args) ast.Sentence {
			return &ast.ExactlyOnce{Effect: a.effect("effect"), Operation: a.op("per")}
		}},
	{key: "at_most", text: "effect|{effect:effect}|happens|{atmost:times}|per|{op:per}",
		build: func(d *decoder, a args) ast.Sentence { return a.atMost(a.n("times")) }},
	{key: "at_most", text: "effect|{effect:effect}|happens|{atmost:times}|per|{op:per}|plus one per|{fault:plus_one_per}",
		build: func(d *decoder, a args) ast.Sentence { return plusFaults(d, a, a.atMost(a.n("times"))) }},
	{key: "at_most_once", text: "effect|{effect:effect}|happens|at most once|per|{op:per}|plus one per|{fault:plus_one_per}",
		build: func(d *decoder, a args) ast.Sentence { return plusFaults(d, a, a.atMost(1)) }},
	{key: "eventually", text: "every|{op:per}|eventually has effect|{effect:effect}",
		build: func(d *decoder, a args) ast.Sentence {
			return &ast.EventuallyEffect{Operation: a.op("per"), Effect: a.effect("effect")}
		}},
	{key: "eventually", flags: map[string]string{"or_human": "true"}, text: "every|{op:per}|eventually has effect|{effect:effect}|or is handed to a human",
		build: func(d *decoder, a args) ast.Sentence {
			return &ast.EventuallyEffect{Operation: a.op("per"), Effect: a.effect("effect"), OrHuman: true}
		}},
	{key: "row_eventually", text: "every row of|{table:table}|eventually has effect|{effect:effect}",
		build: func(d *decoder, a args) ast.Sentence {
			return &ast.RowEventuallyEffect{Table: a.table("table"), Effect: a.effect("effect")}
		}},
	{key: "row_eventually", flags: map[string]string{"or_human": "true"}, text: "every row of|{table:table}|eventually has effect|{effect:effect}|or is handed to a human",
		build: func(d *decoder, a args) ast.Sentence {
			return &ast.RowEventuallyEffect{Table: a.table("table"), Effect: a.effect("effect"), OrHuman: true}
		}},
	{key: "acked_after", text: "no message of|{queue:queue}|is acked before effect|{effect:effect}",
		build: func(d *decoder, a args) ast.Sentence {
			return &ast.AckedAfter{Queue: a.queue("queue"), Effect: a.effect("effect")}
		}},
	{key: "decided", flags: map[string]string{"or_human": "true"}, text: "every row of|{table:table}|in state|{state:state}|is eventually decided|or handed to a human",
		build: func(d *decoder, a args) ast.Sentence { return a.decided(true) }},
	{key: "decided", text: "every row of|{table:table}|in state|{state:state}|is eventually decided",
		build: func(d *decoder, a args) ast.Sentence { return a.decided(false) }},
	{key: "no_ghost_effects", text: "no effect|{effect:effect}|without a row in|{table:table}",
		build: func(d *decoder, a args) ast.Sentence {
			return &ast.NoEffectWithoutRow{Effect: a.effect("effect"), Table: a.table("table")}
		}},
	{key: "no_ghost_messages", text: "no message of|{queue:queue}|without a row in|{table:table}",
		build: func(d *decoder, a args) ast.Sentence {
			return &ast.NoMessageWithoutRow{Queue: a.queue("queue"), Table: a.table("table")}
		}},
	{key: "row_sent", text: "every row of|{table:table}|is eventually sent to|{queue:queue}",
		build: func(d *decoder, a args) ast.Sentence {
			return &ast.RowEventuallySent{Table: a.table("table"), Queue: a.queue("queue")}
		}},
	{key: "sent", text: "every|{op:per}|is eventually sent to|{queue:queue}",
		build: func(d *decoder, a args) ast.Sentence {
			return &ast.OpEventuallySent{Operation: a.op("per"), Queue: a.queue("queue")}
		}},
	{key: "same_answer", text: "a repeated|request|gets the same answer",
		build: func(d *decoder, a args) ast.Sentence { return &ast.SameAnswer{} }},
	{key: "same_answer", text: "a repeated|{op:of}|gets the same answer",
		build: func(d *decoder, a args) ast.Sentence { return &ast.SameAnswer{Operation: a.op("of")} }},
	{key: "conflict", text: "a|request|with the same key and another payload is refused",
		build: func(d *decoder, a args) ast.Sentence { return a.conflict(nil, "key", "payload") }},
	{key: "conflict", text: "a|{op:of}|with the same key and another payload is refused",
		build: func(d *decoder, a args) ast.Sentence { return a.conflict(a.op("of"), "key", "payload") }},
	{key: "conflict", text: "a|request|with the same|{word:key}|and another|{word:payload}|is refused",
		build: func(d *decoder, a args) ast.Sentence { return a.conflict(nil, a.word("key"), a.word("payload")) }},
	{key: "conflict", text: "a|{op:of}|with the same|{word:key}|and another|{word:payload}|is refused",
		build: func(d *decoder, a args) ast.Sentence {
			return a.conflict(a.op("of"), a.word("key"), a.word("payload"))
		}},
	{key: "fencing", text: "only the holder of the newest token writes|{table:table}",
		build: func(d *decoder, a args) ast.Sentence { return a.fencing() }},
	{key: "outlive", text: "rows of|{table:table}|outlive every redelivery of their message",
		build: func(d *decoder, a args) ast.Sentence { return a.outlive() }},
	{key: "watermark", text: "reads of|{word:store}|are never older than|{word:watermark}",
		build: func(d *decoder, a args) ast.Sentence { return a.watermark() }},
	{key: "effects_in_order", text: "effects of|{table:table}|happen in order of|{word:by}",
		build: func(d *decoder, a args) ast.Sentence { return a.effectsInOrder(false) }},
	{key: "effects_in_order", text: "effects of|{table:table}|happen in order of|{word:by}|per|{word:per}",
		build: func(d *decoder, a args) ast.Sentence { return a.effectsInOrder(false) }},
	{key: "effects_in_order", flags: map[string]string{"without_gaps": "true"}, text: "effects of|{table:table}|happen in order of|{word:by}|without gaps",
		build: func(d *decoder, a args) ast.Sentence { return a.effectsInOrder(true) }},
	{key: "effects_in_order", flags: map[string]string{"without_gaps": "true"}, text: "effects of|{table:table}|happen in order of|{word:by}|per|{word:per}|without gaps",
		build: func(d *decoder, a args) ast.Sentence { return a.effectsInOrder(true) }},
	{key: "messages_in_order", text: "messages of|{queue:queue}|are in order of|{word:by}",
		build: func(d *decoder, a args) ast.Sentence { return a.messagesInOrder(false) }},
	{key: "messages_in_order", text: "messages of|{queue:queue}|are in order of|{word:by}|per|{word:per}",
		build: func(d *decoder, a args) ast.Sentence { return a.messagesInOrder(false) }},
	{key: "messages_in_order", flags: map[string]string{"without_gaps": "true"}, text: "messages of|{queue:queue}|are in order of|{word:by}|without gaps",
		build: func(d *decoder, a args) ast.Sentence { return a.messagesInOrder(true) }},
	{key: "messages_in_order", flags: map[string]string{"without_gaps": "true"}, text: "messages of|{queue:queue}|are in order of|{word:by}|per|{word:per}|without gaps",
		build: func(d *decoder, a args) ast.Sentence { return a.messagesInOrder(true) }},
	{key: "at_most_in_state", text: "at most|{n:max}|operations|are|{state:state}|at once",
		build: func(d *decoder, a args) ast.Sentence { return a.inState() }},
	{key: "at_most_in_state", text: "at most|{n:max}|{op:of}|{be:are}|{state:state}|at once",
		build: func(d *decoder, a args) ast.Sentence { return a.inState() }},
	{key: "can_complete", text: "from every state|{op:per}|can still be completed",
		build: func(d *decoder, a args) ast.Sentence { return a.canComplete() }},
	{key: "can_complete", text: "from every state|every|{op:per}|can still be completed",
		build: func(d *decoder, a args) ast.Sentence { return a.canComplete() }},
	{key: "not_answered_before", text: "no|{op:per}|is answered|{class:answer}|before effect|{effect:effect}",
		build: func(d *decoder, a args) ast.Sentence {
			return &ast.NotAnsweredBefore{Operation: a.op("per"), Reply: a.class("answer"), Effect: a.effect("effect")}
		}},
	{key: "not_answered_before", text: "no|{op:per}|is answered|{class:answer}|before it is sent to|{queue:queue}",
		build: func(d *decoder, a args) ast.Sentence {
			return &ast.NotAnsweredBefore{Operation: a.op("per"), Reply: a.class("answer"), Queue: a.queue("queue")}
		}},
	{key: "not_answered_before", text: "no|{op:per}|is answered|{class:answer}|before a row of|{table:table}|exists",
		build: func(d *decoder, a args) ast.Sentence {
			return &ast.NotAnsweredBefore{Operation: a.op("per"), Reply: a.class("answer"), Table: a.table("table")}
		}},
	{key: "answered", text: "every|{op:per}|is eventually answered|{class:answer}",
		build: func(d *decoder, a args) ast.Sentence {
			return &ast.EventuallyAnswered{Operation: a.op("per"), Reply: a.class("answer")}
		}},
	{key: "own_payload", text: "every answer|{class:answer}|to a|{op:per}|is for its own payload",
		build: func(d *decoder, a args) ast.Sentence { return a.ownPayload("payload") }},
	{key: "own_payload", text: "every answer|{class:answer}|to|{op:per}|is for its own payload",
		build: func(d *decoder, a args) ast.Sentence { return a.ownPayload("payload") }},
	{key: "own_payload", text: "every answer|{class:answer}|to a|{op:per}|is for its own|{word:payload}",
		build: func(d *decoder, a args) ast.Sentence { return a.ownPayload(a.word("payload")) }},
	{key: "no_effect_while", text: "no|{op:per}|has effect|{effect:effect}|while its row of|{table:table}|is in state|{state:state}",
		build: func(d *decoder, a args) ast.Sentence { return a.noEffectWhile() }},
	{key: "at_most_between", text: "at most|{n:max}|{proc:process}|{be:are}|between|{label:from}|and|{label:to}|per|{expr:per}|at once",
		build: func(d *decoder, a args) ast.Sentence { return a.between() }},
	{key: "at_most_between", text: "at most|{n:max}|{proc:process}|{be:are}|between|{label:from}|and|{label:to}|per|{expr:per}",
		build: func(d *decoder, a args) ast.Sentence { return a.between() }},
	{key: "at_most_between", text: "at most|{n:max}|{proc:process}|{be:are}|between|{label:from}|and|{label:to}|at once",
		build: func(d *decoder, a args) ast.Sentence { return a.between() }},
	{key: "at_most_on_message", text: "at most|{n:max}|{proc:process}|{work:works}|on a message of|{queue:queue}|at once",
		build: func(d *decoder, a args) ast.Sentence {
			return &ast.AtMostOnMessage{N: a.n("max"), Process: a.proc("process"), Queue: a.queue("queue")}
		}},
	{key: "at_most_waiting", text: "at most|{n:max}|{message:messages}|of|{queue:queue}|{be:are}|waiting|per|{word:per}",
		build: func(d *decoder, a args) ast.Sentence { return a.waiting() }},
	{key: "at_most_waiting", text: "at most|{n:max}|{message:messages}|of|{queue:queue}|{be:are}|waiting|per|{word:per}|at once",
		build: func(d *decoder, a args) ast.Sentence { return a.waiting() }},
	{key: "at_most_waiting", text: "at most|{n:max}|{message:messages}|of|{queue:queue}|{be:are}|waiting|at once",
		build: func(d *decoder, a args) ast.Sentence { return a.waiting() }},
	{key: "ends", text: "every|{op:per}|eventually ends",
		build: func(d *decoder, a args) ast.Sentence { return &ast.EventuallyEnds{Operation: a.op("per")} }},
	{key: "reads_own_writes", text: "{proc:process}|reads its own writes of|{table:table}",
		build: func(d *decoder, a args) ast.Sentence {
			return &ast.ReadsOwnWrites{Process: a.proc("process"), Table: a.table("table")}
		}},
	{key: "never_decreases", text: "{word:column}|never decreases",
		build: func(d *decoder, a args) ast.Sentence { return a.neverDecreases() }},
	{key: "never_decreases", text: "{word:column}|never decreases|per|{word:per}",
		build: func(d *decoder, a args) ast.Sentence { return a.neverDecreases() }},
	{key: "nothing_stays", text: "nothing of|{table:table}|stays in state|{state:state}|once|{op:per}|is over",
		build: func(d *decoder, a args) ast.Sentence { return a.nothingStays() }},
	{key: "at_rest", text: "at rest,|{expr:check}",
		build: func(d *decoder, a args) ast.Sentence { return a.check(ast.Finally) }},
}

// The sentences of must_be_possible.
var possibleForms = []*form{
	{key: "delivered", text: "a message of|{queue:queue}|is delivered|{often:times}",
		reach: func(d *decoder, a args) ast.Reachable {
			return &ast.DeliveredTimes{Queue: a.queue("queue"), N: a.n("times")}
		}},
	{key: "delivered", text: "a message of|{queue:queue}|is delivered|{n:times}|times",
		reach: func(d *decoder, a args) ast.Reachable {
			return &ast.DeliveredTimes{Queue: a.queue("queue"), N: a.n("times")}
		}},
	{key: "carries", text: "{queue:queue}|carries|{n:messages}|messages for one|{op:per}",
		reach: func(d *decoder, a args) ast.Reachable {
			return &ast.CarriesMessages{Queue: a.queue("queue"), N: a.n("messages"), Operation: a.op("per")}
		}},
	{key: "row_in_state", text: "a row of|{table:table}|is in state|{state:state}",
		reach: func(d *decoder, a args) ast.Reachable {
			c, v := a.stateOf("table", "state")
			return &ast.RowInState{Table: a.table("table"), Column: c, State: v}
		}},
	{key: "effect_for_every", text: "effect|{effect:effect}|happens for every|{op:per}",
		reach: func(d *decoder, a args) ast.Reachable {
			return &ast.EffectForEvery{Effect: a.effect("effect"), Operation: a.op("per")}
		}},
	{key: "step_taken", text: "step|{label:label}|of|{proc:process}|is taken",
		reach: func(d *decoder, a args) ast.Reachable {
			return &ast.StepTaken{Process: a.proc("process"), Step: a.step("process", "label")}
		}},
	{key: "branch_taken", text: "branch|{outcome:branch}|of|{label:label}|is taken",
		reach: func(d *decoder, a args) ast.Reachable { return a.branchTaken(false) }},
	{key: "branch_taken", text: "branch|{outcome:branch}|of|{label:label}|of|{proc:process}|is taken",
		reach: func(d *decoder, a args) ast.Reachable { return a.branchTaken(true) }},
}
