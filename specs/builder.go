package specs

import (
	"fmt"
	"reflect"
	"runtime"
	"sort"
	"strconv"
	"strings"

	"github.com/relplan/relplan/internal/diag"
)

// Model is a spec under construction in Go. Its functions run once, to record
// steps; nothing of them runs per state. The recorded model is the same
// language: YAML gives its text, Load its resolved tree, with the same checks,
// warnings and reports as a file. Errors point at the Go lines.
type Model struct {
	system, about string
	sections      map[string]*node
	ops           *node
	err           []diag.Diagnostic
}

// Expr is the text of an expression: "m.op", "r.token + 1", "NEW".
type Expr string

// Row names values: columns of a row, fields of a message or record, arguments
// of a call. A value is an Expr, a string (read as an expression), an int, a
// bool, nil (none), or a Row (a record).
type Row map[string]any

// Isolation levels for SQL, delivery for Queue.
const (
	ReadCommitted  = "read_committed"
	RepeatableRead = "repeatable_read"
	Serializable   = "serializable"
	AtLeastOnce    = "at_least_once"
	AtMostOnce     = "at_most_once"
)

// node is a YAML value: a scalar, a mapping in order, or a list.
type node struct {
	text string
	keys []string
	vals map[string]*node
	list []*node
	kind byte // 's', 'm', 'l'
	pos  diag.Pos
}

func scalar(s string) *node { return &node{kind: 's', text: s, pos: caller()} }
func newMap() *node         { return &node{kind: 'm', vals: map[string]*node{}, pos: caller()} }
func newList() *node        { return &node{kind: 'l', pos: caller()} }

func (n *node) set(key string, v *node) *node {
	if _, ok := n.vals[key]; !ok {
		n.keys = append(n.keys, key)
	}
	n.vals[key] = v
	return n
}

// caller is the first line outside this package.
func caller() diag.Pos {
	pcs := make([]uintptr, 16)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	own := reflect.TypeOf(Model{}).PkgPath() + "."
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, own) || !more {
			return diag.Pos{File: f.File, Line: f.Line}
		}
	}
}

// New starts a model.
func New(system string) *Model {
	m := &Model{system: system, sections: map[string]*node{}, ops: newMap()}
	return m
}

// About adds a sentence on what the model describes.
func (m *Model) About(text string) *Model {
	m.about = text
	return m
}

func (m *Model) section(name string) *node {
	if m.sections[name] == nil {
		m.sections[name] = newMap()
	}
	return m.sections[name]
}

// Operation declares what is counted; OnePer does it with a count of 1. Fields
// are "same", "distinct", or values separated by commas.
func (m *Model) Operation(name string, count int, fields ...string) *Model {
	v := newMap().set("count", scalar(strconv.Itoa(count)))
	for _, f := range fields {
		key, val, _ := strings.Cut(f, ":")
		val = strings.TrimSpace(val)
		if val == "same" || val == "distinct" {
			v.set(strings.TrimSpace(key), scalar(val))
			continue
		}
		l := newList()
		for _, x := range strings.Split(val, ",") {
			l.list = append(l.list, scalar(strings.TrimSpace(x)))
		}
		v.set(strings.TrimSpace(key), l)
	}
	m.ops.set(name, v)
	return m
}

func (m *Model) needOp(name string) {
	if m.ops.vals[name] == nil {
		m.ops.set(name, scalar("1"))
	}
}

// Store is a resource of a model.
type Store struct {
	m    *Model
	name string
	kind string
	n    *node
}

func (m *Model) store(name, kind string) *Store {
	n := newMap().set("kind", scalar(kind))
	m.section("resources").set(name, n)
	return &Store{m: m, name: name, kind: kind, n: n}
}

// SQL declares a database with an isolation level.
func (m *Model) SQL(name, isolation string) *Store {
	s := m.store(name, "sql")
	s.n.set("isolation", scalar(isolation))
	return s
}

// KV declares a key-value store.
func (m *Model) KV(name string) *Store { return m.store(name, "kv") }

// Memory declares memory of each instance, lost at its crash.
func (m *Model) Memory(name string) *Store { return m.store(name, "memory") }

// Queue declares a queue.
func (m *Model) Queue(name, delivery string) *Store {
	s := m.store(name, "queue")
	s.n.set("delivery", scalar(delivery))
	return s
}

// Log declares a log with partitions.
func (m *Model) Log(name string, partitions int) *Store {
	s := m.store(name, "log")
	s.n.set("partitions", scalar(strconv.Itoa(partitions)))
	return s
}

// Provider declares an outside service.
func (m *Model) Provider(name string) *Store { return m.store(name, "provider") }

// Set adds any further key of the resource: a scalar, a Row or a []string.
func (s *Store) Set(key string, value any) *Store {
	s.n.set(key, value_(value))
	return s
}

// OnePer puts one message per operation into a queue or log before the first
// step, and declares the operation if it is not.
func (s *Store) OnePer(op string) *Store { return s.startsWith("one", op) }

// TwoPer puts two messages with distinct ids per operation.
func (s *Store) TwoPer(op string) *Store { return s.startsWith("two", op) }

func (s *Store) startsWith(n, op string) *Store {
	s.m.needOp(op)
	s.n.set("starts_with", scalar(n+" per "+op))
	return s
}

// TableOption is a key of a table.
type TableOption func(*node)

// Unique adds one constraint over the columns.
func Unique(columns ...string) TableOption {
	return func(t *node) {
		l := t.vals["unique"]
		if l == nil {
			l = newList()
			t.set("unique", l)
		}
		if len(columns) == 1 {
			l.list = append(l.list, scalar(columns[0]))
			return
		}
		cols := newList()
		for _, c := range columns {
			cols.list = append(cols.list, scalar(c))
		}
		l.list = append(l.list, newMap().set("columns", cols))
	}
}

// Lease ends rows matching while after lasts: they are updated by then.
func Lease(while Row, holder, lasts string, then Row) TableOption {
	return func(t *node) {
		l := newMap().set("while", value_(while))
		if holder != "" {
			l.set("holder", scalar(holder))
		}
		t.set("lease", l.set("lasts", scalar(lasts)).set("then", value_(then)))
	}
}

// TableKey adds any further key of a table.
func TableKey(key string, value any) TableOption {
	return func(t *node) { t.set(key, value_(value)) }
}

// Table adds a table to a database.
func (s *Store) Table(name string, options ...TableOption) *Store {
	tables := s.n.vals["tables"]
	if tables == nil {
		tables = newMap()
		s.n.set("tables", tables)
	}
	t := newMap()
	for _, o := range options {
		o(t)
	}
	tables.set(name, t)
	return s
}

// Method adds a method to a provider: Row{"effect": "takes_money", "dedup_by": "key"}.
func (s *Store) Method(name string, keys Row) *Store {
	s.n.set(name, value_(keys))
	return s
}

// Trigger starts runs of a process: a queue or log, or one of the functions.
type Trigger interface{ trigger(m *Model) *node }

func (s *Store) trigger(*Model) *node { return newMap().set("message", scalar(s.name)) }

type triggerNode struct {
	n  *node
	op string
}

func (t triggerNode) trigger(m *Model) *node {
	if t.op != "" {
		m.needOp(t.op)
	}
	return t.n
}

// OnRow starts a run for a row of the table; where is a condition, "" for all.
func OnRow(table, where string) Trigger {
	n := newMap().set("row", scalar(table))
	if where != "" {
		n.set("where", scalar(where))
	}
	return triggerNode{n: n}
}

// OnRequest starts a run when a client asks for the operation.
func OnRequest(op string) Trigger {
	return triggerNode{n: newMap().set("request", scalar(op)), op: op}
}

// OnStart starts one run per operation, again after a crash if durable.
func OnStart(op string, durable bool) Trigger {
	n := newMap().set("start", scalar(op))
	if durable {
		n.set("durable", scalar("true"))
	}
	return triggerNode{n: n, op: op}
}

// OnPoll lets a run start whenever the instance is idle.
func OnPoll() Trigger { return triggerNode{n: newMap().set("poll", scalar("true"))} }

// OnFault lets the environment start a run, one unit of the fault each.
func OnFault(name string) Trigger { return triggerNode{n: newMap().set("fault", scalar(name))} }

// Msg is what a run was started with: a message, a row or an operation.
type Msg struct {
	Name   string
	ID, Op Expr
}

// Field is a field of it.
func (m Msg) Field(name string) Expr { return Expr(m.Name + "." + name) }

// Process adds a process with that many instances; body records its steps.
func (m *Model) Process(name string, instances int, on Trigger, body func(p *Proc, msg Msg)) *Model {
	t := on.trigger(m)
	msg := Msg{Name: "m", ID: "m.id", Op: "m.op"}
	if t.vals["poll"] == nil && t.vals["fault"] == nil {
		t.set("as", scalar("m"))
	}
	n := newMap().set("instances", scalar(strconv.Itoa(instances))).set("on", t)
	p := &Proc{steps: newList()}
	body(p, msg)
	m.section("processes").set(name, n.set("steps", p.steps))
	return m
}

// Faults gives budgets by fault.
func (m *Model) Faults(budgets map[string]int) *Model {
	for _, k := range sortedKeys(budgets) {
		m.section("faults").set(k, scalar(strconv.Itoa(budgets[k])))
	}
	return m
}

// Fault gives one fault with its arguments: Row{"of": "seen", "max": 1}.
func (m *Model) Fault(name string, args Row) *Model {
	m.section("faults").set(name, value_(args))
	return m
}

// Assume adds assumptions.
func (m *Model) Assume(sentences ...string) *Model {
	return m.listSection("assume", sentences)
}

// Promise adds a promise by name.
func (m *Model) Promise(name, sentence string) *Model {
	m.section("promises").set(name, scalar(sentence))
	return m
}

// MustBePossible adds what must be reachable.
func (m *Model) MustBePossible(sentences ...string) *Model {
	return m.listSection("must_be_possible", sentences)
}

func (m *Model) listSection(name string, sentences []string) *Model {
	if m.sections[name] == nil {
		m.sections[name] = newList()
	}
	for _, s := range sentences {
		m.sections[name].list = append(m.sections[name].list, scalar(s))
	}
	return m
}

// Initially adds rows of a table (or entries of a kv) that exist before the
// first step.
func (m *Model) Initially(store string, rows ...Row) *Model {
	l := m.section("initially").vals[store]
	if l == nil {
		l = newList()
		m.section("initially").set(store, l)
	}
	for _, r := range rows {
		l.list = append(l.list, value_(r))
	}
	return m
}

// Expect says which promises are expected to be broken; none: all hold.
func (m *Model) Expect(broken ...string) *Model {
	if len(broken) == 0 {
		m.sections["expect"] = scalar("holds")
		return m
	}
	l := newList()
	for _, b := range broken {
		l.list = append(l.list, scalar(b))
	}
	m.sections["expect"] = newMap().set("broken", l)
	return m
}

var builderOrder = []string{"operations", "resources", "initially", "processes", "faults", "assume", "promises", "must_be_possible", "expect"}

// yaml writes the model; lines gives the Go position of each line.
func (m *Model) yaml() (text string, lines []diag.Pos) {
	w := &yamlWriter{}
	w.line(0, "relplan: v1", diag.Pos{})
	w.line(0, "system: "+yamlScalar(m.system), diag.Pos{})
	if m.about != "" {
		w.line(0, "about: "+yamlScalar(m.about), diag.Pos{})
	}
	m.sections["operations"] = m.ops
	for _, s := range builderOrder {
		if n := m.sections[s]; n != nil && (len(n.keys) > 0 || len(n.list) > 0 || n.kind == 's') {
			w.entry(0, s, n)
		}
	}
	return w.b.String(), w.pos
}

// YAML gives the model as a spec file.
func (m *Model) YAML() string {
	text, _ := m.yaml()
	return text
}

// Load resolves the model, as Load does for a file. Positions of diagnostics
// are lines of the Go source.
func (m *Model) Load() (*Spec, []diag.Diagnostic) {
	text, lines := m.yaml()
	name := m.system + ".go"
	s, ds := Load(name, []byte(text))
	out := make([]diag.Diagnostic, len(ds))
	for i, d := range ds {
		if n := d.Pos.Line; n >= 1 && n <= len(lines) && lines[n-1].Line > 0 {
			d.Pos = lines[n-1]
		}
		out[i] = d
	}
	if s != nil {
		s.Warnings = out
	}
	return s, out
}

// yamlWriter writes block style and remembers who asked for each line.
type yamlWriter struct {
	b   strings.Builder
	pos []diag.Pos
}

func (w *yamlWriter) line(indent int, s string, p diag.Pos) {
	w.b.WriteString(strings.Repeat(" ", indent) + s + "\n")
	w.pos = append(w.pos, p)
}

func (w *yamlWriter) entry(indent int, key string, n *node) {
	switch {
	case n.kind == 's':
		w.line(indent, key+": "+yamlScalar(n.text), n.pos)
	case n.kind == 'm' && len(n.keys) == 0:
		w.line(indent, key+": {}", n.pos)
	case n.kind == 'l' && len(n.list) == 0:
		w.line(indent, key+": []", n.pos)
	case n.kind == 'm':
		w.line(indent, key+":", n.pos)
		for _, k := range n.keys {
			w.entry(indent+2, k, n.vals[k])
		}
	default:
		w.line(indent, key+":", n.pos)
		for _, x := range n.list {
			w.item(indent+2, x)
		}
	}
}

func (w *yamlWriter) item(indent int, n *node) {
	if n.kind == 's' {
		w.line(indent, "- "+yamlScalar(n.text), n.pos)
		return
	}
	before := w.b.Len()
	for _, k := range n.keys {
		w.entry(indent+2, k, n.vals[k])
	}
	text := w.b.String()
	w.b.Reset()
	w.b.WriteString(text[:before] + text[before:before+indent] + "- " + text[before+indent+2:])
}

func yamlScalar(s string) string {
	plain := s != "" && !strings.Contains(s, ": ") && !strings.Contains(s, " #") && !strings.HasSuffix(s, ":") && !strings.ContainsAny(s, "\n\t\"") && s == strings.TrimSpace(s)
	if plain && strings.ContainsAny(s[:1], "[]{}&*!|>%@`'#,?-:") {
		_, err := strconv.Atoi(s)
		plain = err == nil || len(s) > 2 && s[0] == '\'' && strings.Count(s, "'") == 2 && s[len(s)-1] == '\''
	}
	if plain {
		return s
	}
	return strconv.Quote(s)
}

// value_ turns a Go value into a node.
func value_(v any) *node {
	switch x := v.(type) {
	case nil:
		return scalar("none")
	case Expr:
		return scalar(string(x))
	case string:
		return scalar(x)
	case bool:
		return scalar(strconv.FormatBool(x))
	case []string:
		l := newList()
		for _, s := range x {
			l.list = append(l.list, scalar(s))
		}
		return l
	case Row:
		n := newMap()
		keys := make([]string, 0, len(x))
		for k := range x {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		for _, k := range keys {
			n.set(k, value_(x[k]))
		}
		return n
	case fmt.Stringer:
		return scalar(x.String())
	}
	return scalar(fmt.Sprint(v))
}
