package replay

import (
	"context"
	"errors"
	"fmt"

	"github.com/relplan/relplan/specs/ast"
)

// kvStore carries out verbs on keys.
type kvStore interface {
	apply(ctx context.Context, r *ast.Resource, op kvOp) (kvResult, error)
}

// runScript carries out a `script:` block verb by verb; that nobody comes
// between is the store's affair.
func runScript(ctx context.Context, store kvStore, c *call) ending {
	run := &scriptRun{store: store, block: c.step, names: c.names.clone(), binds: map[*ast.Var]Value{}}
	at := 0
	for range maxLocal {
		if at >= len(run.block.Do) {
			return ending{done: true, binds: run.binds}
		}
		next, end := run.step(ctx, run.block.Do[at])
		if end != nil {
			end.binds = run.binds
			return *end
		}
		at = next
	}
	return failed(fmt.Errorf("%s: the script goes round in a loop", c.step.Pos))
}

// scriptRun is a script on its way.
type scriptRun struct {
	store kvStore
	block *ast.Step
	names *scope
	binds map[*ast.Var]Value
}

func (r *scriptRun) bind(v *ast.Var, x Value) { r.names.vars[v], r.binds[v] = x, x }

// step gives the number of the next step, or how the script ends.
func (r *scriptRun) step(ctx context.Context, s *ast.Step) (int, *ending) {
	if !s.Verb.Local() {
		return r.remote(ctx, s)
	}
	if s.When != nil {
		v, err := r.names.eval(s.When)
		if err != nil {
			return r.broken(err)
		}
		if v != true {
			return s.Index + 1, nil
		}
	}
	switch s.Verb {
	case ast.VerbLet:
		for _, l := range s.Lets {
			v := Value(int64(l.Var.Lo))
			if !l.Declare {
				var err error
				if v, err = r.names.eval(l.Value); err != nil {
					return r.broken(err)
				}
			}
			r.bind(l.Var, v)
		}
		return s.Index + 1, nil
	case ast.VerbGo:
		return r.jump(s, s.Target)
	case ast.VerbStop:
		return 0, &ending{left: s}
	case ast.VerbFail:
		return 0, &ending{branch: ast.OnError, err: fmt.Errorf("the script has failed at line %d", s.Pos.Line), left: s}
	}
	return r.broken(fmt.Errorf("%s: %w: %s in a script", s.Pos, errUnsupported, s.Verb))
}

func (r *scriptRun) broken(err error) (int, *ending) {
	e := lostOrFailed(err)
	return 0, &e
}

func (r *scriptRun) jump(s *ast.Step, t *ast.Target) (int, *ending) {
	switch {
	case t.Kind == ast.ToStep && t.Step.Block == r.block:
		return t.Step.Index, nil
	case t.Kind == ast.ToBlockEnd:
		return len(r.block.Do), nil
	}
	return 0, &ending{left: s}
}

func (r *scriptRun) remote(ctx context.Context, s *ast.Step) (int, *ending) {
	switch s.Verb {
	case ast.VerbGet, ast.VerbPut, ast.VerbPutNew, ast.VerbRemove, ast.VerbExpire:
	default:
		return r.broken(fmt.Errorf("%s: %w: %s in a script", s.Pos, errUnsupported, s.Verb))
	}
	op, err := kvOpOf(r.names, s)
	if err != nil {
		return r.broken(err)
	}
	e := kvEnding(r.store.apply(ctx, s.Resource, op))
	if s.As != nil {
		r.bind(s.As, e.value)
	}
	if e.done {
		return s.Index + 1, nil
	}
	if e.branch == ast.OnUnknown || errors.Is(e.err, errUnsupported) {
		return 0, &e
	}
	b := s.Branches[e.branch]
	switch {
	case b == nil:
	case b.Kind == ast.BranchContinue:
		return s.Index + 1, nil
	case b.Kind == ast.BranchGo && (b.Target.Kind == ast.ToBlockEnd || b.Target.Kind == ast.ToStep && b.Target.Step.Block == r.block):
		return r.jump(s, b.Target)
	}
	e.left = s
	return 0, &e
}

// cell is what stands under a key.
type cell struct {
	value   string // encoded
	expires bool   // a ttl runs
}

// change says what a verb does to what stands under its key: nil is nothing.
func change(old *cell, op kvOp) (next *cell, r kvResult) {
	r.done = true
	switch op.verb {
	case ast.VerbGet:
		if old != nil {
			r.found, r.value = true, old.value
		}
		return old, r
	case ast.VerbRemove:
		if old == nil || op.onlyIf != nil && old.value != *op.onlyIf {
			return old, orNone(old == nil && op.lenient)
		}
		return nil, r
	case ast.VerbExpire:
		if old == nil {
			return nil, orNone(false)
		}
		return &cell{old.value, op.expires}, r
	}
	if old != nil && op.absent {
		return old, kvResult{branch: ast.IfExists}
	}
	return &cell{op.value, op.expires || op.keepTTL && old != nil && old.expires}, r
}
