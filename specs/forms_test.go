package specs

import (
	"reflect"
	"strings"
	"testing"
)

// everything is a spec in which every slot of every sentence has a name.
const everything = `relplan: v1
system: everything
operations: {order: {count: 2, key: same, payload: distinct}}
resources:
  db: {kind: sql, tables: {jobs: {unique: [op], token: token}}}
  cache: {kind: kv}
  events: {kind: queue}
processes:
  web:
    on: {request: order, as: q}
    steps:
      - at: first
        insert: jobs
        row: {op: q, state: NEW, token: 0, n: 1}
        if_exists: continue
      - at: second
        send: events
        message: {op: q, n: 1}
        effect: {sells: q}
      - put: cache
        key: q
        value: {v: 1}
      - reply: ok
  clerk:
    on: {message: events, as: m}
    steps:
      - insert: jobs
        row: {op: m.op, state: NEW, token: 0, n: 1}
        if_exists: continue
      - get: cache
        key: m.op
        as: c
      - at: last
        update: jobs
        where: {op: m.op}
        set: {state: DONE, token: 1}
      - ack: m
faults: {crash: 1}
`

var slotNames = map[string]string{"effect": "sells", "op": "order", "queue": "events", "table": "jobs", "state": "NEW", "proc": "clerk", "label": "last",
	"n": "1", "atmost": "2", "often": "2", "class": "ok", "fault": "crash", "outcome": "if_exists", "expr": "m.op"}

// fill writes the sentence of a form with names of the spec.
func fill(f *form) string {
	slots := map[string]string{}
	for _, p := range f.phrases {
		if p.slot != "" {
			slots[p.arg] = p.slot
		}
	}
	return sentenceOf(f, func(arg string) string {
		switch {
		case arg == "from":
			return "first"
		case arg == "to":
			return "second"
		case arg == "check":
			return "count(sells) <= 9"
		case slots[arg] == "word":
			switch {
			case arg == "store":
				return "cache.v"
			case arg == "watermark", arg == "column":
				return "jobs.n"
			case arg == "key", arg == "payload":
				return arg
			}
			return "n"
		case slots[arg] == "proc" && strings.Contains(f.text, "between"):
			return "web"
		case slots[arg] == "label" && strings.Contains(f.text, "branch"):
			return "first"
		case slots[arg] == "proc" && strings.Contains(f.text, "branch"):
			return "web"
		case slots[arg] == "expr":
			return "q.op"
		}
		return slotNames[slots[arg]]
	})
}

// shortest drops the words that a sentence may do without.
func shortest(s string) string {
	s = strings.TrimSuffix(s, " at once")
	s = strings.Replace(s, "state every ", "state ", 1)
	return strings.Replace(s, " to a ", " to ", 1)
}

// TestEverySentence: each form, filled in, is read as a promise of its own
// type; its map form is read as the same, and comes back as the sentence.
func TestEverySentence(t *testing.T) {
	prepare()
	types := map[reflect.Type]bool{}
	for _, f := range promiseForms {
		text := fill(f)
		src := everything + "promises:\n  it: " + text + "\n"
		s, ds := Load("x.yaml", []byte(src))
		if s == nil {
			t.Errorf("%s: %v", text, ds)
			continue
		}
		p := s.Variants()[0].Promises[0]
		types[reflect.TypeOf(p.Body)] = true
		out, ds := Format("x.yaml", []byte(src), FormatOptions{Promises: AsMaps})
		m, ds2 := Load("x.yaml", out)
		if m == nil {
			t.Errorf("%s: %v %v\n%s", text, ds, ds2, out[len(everything):])
			continue
		}
		if q := m.Variants()[0].Promises[0]; reflect.TypeOf(q.Body) != reflect.TypeOf(p.Body) {
			t.Errorf("%s: %T became %T", text, p.Body, q.Body)
		}
		back, _ := Format("x.yaml", out, FormatOptions{Promises: AsSentences})
		again, ds := Load("x.yaml", back)
		if again == nil {
			t.Errorf("%s: %v", text, ds)
			continue
		}
		if q := again.Variants()[0].Promises[0]; reflect.TypeOf(q.Body) != reflect.TypeOf(p.Body) || shortest(q.Text) != shortest(text) {
			t.Errorf("%q came back as %q", text, q.Text)
		}
	}
	if len(types) < 31 {
		t.Errorf("%d kinds of promises only", len(types))
	}
}

// TestEveryPossibility does the same for must_be_possible.
func TestEveryPossibility(t *testing.T) {
	prepare()
	types := map[reflect.Type]bool{}
	texts := []string{"count(sells) > 1", "answered(order, ok) and not ended(order)", "at(clerk, last)"}
	for _, f := range possibleForms {
		texts = append(texts, fill(f))
	}
	for _, text := range texts {
		src := everything + "promises:\n  - every order eventually ends\nmust_be_possible:\n  - " + text + "\n"
		s, ds := Load("x.yaml", []byte(src))
		if s == nil {
			t.Errorf("%s: %v", text, ds)
			continue
		}
		types[reflect.TypeOf(s.Variants()[0].MustBePossible[0].Body)] = true
	}
	if len(types) < 7 {
		t.Errorf("%d kinds only", len(types))
	}
}
