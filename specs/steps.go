package specs

import (
	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/yamlx"
	"github.com/relplan/relplan/specs/ast"
)

// resolveSteps resolves every step of every process.
func (d *decoder) resolveSteps() {
	for _, p := range d.spec.Processes {
		raw := d.raw[p]
		d.eachRaw(raw.steps, func(r *rawStep) { d.resolveStep(p, raw, r) })
	}
}

// stepScope is the scope of expressions in steps of p.
func (d *decoder) stepScope(p *ast.Process) scope { return scope{d: d, proc: p} }

func (d *decoder) resolveStep(p *ast.Process, raw *rawProcess, r *rawStep) {
	s := r.step
	sc := d.stepScope(p)
	switch s.Verb {
	case ast.VerbTransaction:
		s.Resource = d.resource(r.verb, s.Pos, "sql resource", ast.SQLKind)
	case ast.VerbScript:
		s.Resource = d.resource(r.verb, s.Pos, "kv", ast.KVKind, ast.MemoryKind)
	case ast.VerbInsert, ast.VerbUpsert, ast.VerbUpdate, ast.VerbDelete, ast.VerbSelect:
		d.rowStep(r, sc)
	case ast.VerbPut, ast.VerbPutNew, ast.VerbGet, ast.VerbRemove, ast.VerbExpire:
		d.kvStep(r, sc)
	case ast.VerbSend:
		d.sendStep(r, sc)
	case ast.VerbAck, ast.VerbNack, ast.VerbCommitOffset:
		d.ackStep(r, sc)
	case ast.VerbCall:
		d.callStep(r, sc)
	case ast.VerbReply:
		d.replyStep(r, sc)
	case ast.VerbAskHuman:
		if r.verb.Kind() == yamlx.Scalar && r.verb.Value() == "none" || r.verb.Kind() == yamlx.Null {
			break // every operation
		}
		d.expr(&s.Human, r.verb, s.Pos, sc)
	case ast.VerbLock, ast.VerbUnlock:
		d.lockStep(r, sc)
	case ast.VerbLet:
		d.letStep(r, sc)
	default:
		d.localStep(raw, r, sc)
	}
	if k, n := r.arg("as"); k != nil {
		s.As = p.Var(d.sub(n).Value())
	}
	if k, n := r.arg("slow"); k != nil {
		s.Slow = d.flag(n, k.Pos())
	}
	if k, n := r.arg("effect"); k != nil {
		s.Effects = d.marks(n, k.Pos(), sc)
	}
	if k, n := r.arg("undo"); k != nil {
		s.Undoes = d.marks(n, k.Pos(), sc)
	}
	d.branches(raw, r)
	d.inBlock(r)
}

func (d *decoder) marks(n *yamlx.Node, at diag.Pos, sc scope) []ast.Mark {
	entries := d.mapping(n, at, "{NAME: operation}, such as {moves_money: m.op}")
	out := make([]ast.Mark, 0, len(entries))
	for _, e := range entries {
		if eff := d.effects[e.Key.Value()]; eff != nil {
			out = append(out, ast.Mark{Pos: e.Key.Pos(), Effect: eff})
		}
	}
	i := 0
	for _, e := range entries {
		if d.effects[e.Key.Value()] == nil {
			continue
		}
		d.expr(&out[i].Operation, e.Value, e.Key.Pos(), sc)
		d.inf.mark(&out[i], e.Value.Pos())
		i++
	}
	return out
}
