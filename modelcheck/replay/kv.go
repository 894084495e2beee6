package replay

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"time"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

// longTTL is what every ttl of a spec is set to: nothing expires by itself
// during a schedule, the event of the history does it.
const longTTL = time.Hour

// goneSoon bounds the wait for an engine to do what it does by itself.
const goneSoon = 3 * time.Second

// mark is a business effect that a step has, or takes back (n = -1).
type mark struct {
	effect string
	op     string
	n      int
}

// marksOf evaluates the effects of a step; those for no operation are none.
func marksOf(names *scope, s *ast.Step) ([]mark, error) {
	var out []mark
	for i, marks := range [][]ast.Mark{s.Effects, s.Undoes} {
		for _, m := range marks {
			op, err := names.eval(m.Operation)
			if err != nil {
				return nil, err
			}
			if name, ok := op.(string); ok {
				out = append(out, mark{m.Effect.Name, name, 1 - 2*i})
			}
		}
	}
	return out, nil
}

// keeps says whether a step on the resource is marked with the effect.
func keeps(spec *ast.Spec, r *ast.Resource, e *ast.Effect) bool {
	for _, p := range spec.Processes {
		for _, s := range p.All {
			if s.Resource != r {
				continue
			}
			for _, m := range append(append([]ast.Mark(nil), s.Effects...), s.Undoes...) {
				if m.Effect == e {
					return true
				}
			}
		}
	}
	return false
}

// kvOp is a verb on one key with its arguments, as an engine stores them.
type kvOp struct {
	verb    ast.Verb
	key     string // encoded
	value   string // encoded
	absent  bool   // put only if the key is not there
	expires bool   // a ttl starts
	keepTTL bool
	onlyIf  *string // remove: encoded
	lenient bool    // remove: nothing to remove is no outcome of its own
	marks   []mark
}

// kvOpOf evaluates the arguments of a step.
func kvOpOf(names *scope, s *ast.Step) (kvOp, error) {
	op := kvOp{verb: s.Verb, value: encode(true), keepTTL: s.KeepTTL, expires: s.TTL != nil && !s.TTL.None}
	op.absent = s.IfAbsent || (s.Verb == ast.VerbPut || s.Verb == ast.VerbPutNew) && s.Branches[ast.IfExists] != nil
	op.lenient = s.OnlyIfValue == nil && s.Branches[ast.IfNone] == nil
	if op.verb == ast.VerbPutNew {
		op.verb = ast.VerbPut
	}
	var err error
	eval := func(e ast.Expr) string {
		v, evalErr := names.eval(e)
		err = errors.Join(err, evalErr)
		return encode(v)
	}
	op.key = eval(s.Key)
	if s.Value != nil {
		op.value = eval(s.Value)
	}
	if s.OnlyIfValue != nil {
		want := eval(s.OnlyIfValue)
		op.onlyIf = &want
	}
	marks, marksErr := marksOf(names, s)
	op.marks = marks
	return op, errors.Join(err, marksErr)
}

// kvResult is what an engine answers to a kvOp.
type kvResult struct {
	done   bool
	branch ast.Outcome
	found  bool   // get
	value  string // get: encoded
}

// kvEnding is the ending of a step.
func kvEnding(r kvResult, err error) ending {
	switch {
	case err != nil:
		return lostOrFailed(err)
	case !r.done:
		return ending{branch: r.branch}
	case !r.found:
		return ending{done: true}
	}
	v, err := decode(r.value)
	if err != nil {
		return failed(err)
	}
	return ending{done: true, value: v}
}

// lostOrFailed: a connection that ended before the answer leaves the caller
// without one.
func lostOrFailed(err error) ending {
	e := failed(err)
	if e.failure == engines.Lost {
		e.branch = ast.OnUnknown
	}
	return e
}

// refusal is how the fault `error` of a spec ends a step: the environment
// refuses it before the engine sees it.
func refusal() ending {
	return ending{branch: ast.OnError, err: errors.New("the fault of the spec: refused before anything is done")}
}

// entry is a key with its value.
type entry struct {
	name       string // on the engine
	key, value Value
	expires    bool
}

// record is what a trigger on an entry binds.
func (e entry) record() Record { return Record{"key": e.key, "value": e.value} }

// initialEntries are the entries that the spec says exist at first.
func initialEntries(spec *ast.Spec, r *ast.Resource) ([]entry, error) {
	var out []entry
	for _, row := range spec.Initially {
		if row.Resource != r {
			continue
		}
		rec, err := newScope(&world{}).cells(row.Cells)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", row.Pos, err)
		}
		if _, given := rec["value"]; !given {
			rec["value"] = true
		}
		out = append(out, entry{key: rec["key"], value: rec["value"]})
	}
	return out, nil
}

// like tells whether the entry is the one that an event is about. A value that
// the model does not keep is none there.
func (e entry) like(of lower.Record) bool {
	for name, v := range of {
		if name == "owner" || name == "value" && v == nil {
			continue
		}
		if !agrees(v, e.record()[name]) {
			return false
		}
	}
	return true
}

// matching are the entries that a condition holds for, in the order asked for.
func matching(all []entry, where ast.Expr, orderBy *ast.ColumnRef, desc bool, names *scope) ([]entry, error) {
	var match []entry
	var order []Value
	for _, x := range all {
		at := *names
		at.key, at.row = x.key, Record{"value": x.value}
		if where != nil {
			ok, err := at.eval(where)
			if err != nil {
				return nil, err
			}
			if ok != true {
				continue
			}
		}
		match = append(match, x)
		if orderBy != nil {
			v, err := at.eval(orderBy)
			if err != nil {
				return nil, err
			}
			order = append(order, v)
		}
	}
	if orderBy != nil {
		sort.Stable(&byValue{match, order, desc})
	}
	return match, nil
}

// takeEntry chooses the entry that a trigger is about: one that matches, the
// first in the order the spec asks for, else the one that the model has chosen.
func takeEntry(all []entry, t *ast.Trigger, names *scope, e *lower.Event) (Value, error) {
	match, err := matching(all, t.Where, t.OrderBy, t.Desc, names)
	if err != nil {
		return nil, err
	}
	for _, x := range match {
		if e == nil || t.OrderBy != nil || x.like(e.Of.Fields) {
			return x.record(), nil
		}
	}
	return nil, nil
}

// selectEntry is a select on a kv: how many entries match, or one of them.
func selectEntry(all []entry, s *ast.Step, names *scope, e *lower.Event) ending {
	match, err := matching(all, s.Where, s.OrderBy, s.Desc, names)
	switch {
	case err != nil:
		return failed(err)
	case s.Count:
		return ending{done: true, value: int64(len(match))}
	case len(match) == 0:
		return ending{done: true}
	}
	for _, x := range match { // without an order the engine may give any
		if s.OrderBy == nil && e != nil && e.Read != nil && agrees(e.Read, x.record()) {
			return ending{done: true, value: x.record()}
		}
	}
	return ending{done: true, value: match[0].record()}
}

// byValue sorts entries by integers, smaller first; none comes first.
type byValue struct {
	entries []entry
	by      []Value
	desc    bool
}

func (b *byValue) Len() int { return len(b.entries) }

func (b *byValue) Less(i, j int) bool {
	if b.desc {
		i, j = j, i
	}
	x, okX := b.by[i].(int64)
	y, okY := b.by[j].(int64)
	if okX && okY {
		return x < y
	}
	return encode(b.by[i]) < encode(b.by[j])
}

func (b *byValue) Swap(i, j int) {
	b.entries[i], b.entries[j] = b.entries[j], b.entries[i]
	b.by[i], b.by[j] = b.by[j], b.by[i]
}

// expiring finds the entry whose ttl ends.
func expiring(all []entry, of lower.Record) (entry, error) {
	for _, x := range all {
		if x.expires && x.like(of) {
			return x, nil
		}
	}
	return entry{}, fmt.Errorf("no key with a ttl is %v", of)
}

// awaitGone polls until there holds no more.
func awaitGone(ctx context.Context, there func() (bool, error)) error {
	return eventually(ctx, goneSoon, func() (bool, error) {
		yes, err := there()
		return !yes, err
	})
}
