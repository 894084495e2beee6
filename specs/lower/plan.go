package lower

import (
	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// plan is what a verb means at one place: when it waits and how it can end.
type plan struct {
	// blocked is true while the step waits for a lock (or a replica); nil: never.
	blocked  ir.Expr
	outcomes []*outcome
	// lossy says that the answer of the step can be lost: it is a request of its
	// own, not a statement inside an open transaction.
	lossy bool
}

// outcome is one way in which a step ends.
type outcome struct {
	done   bool
	branch ast.Outcome // if not done
	guard  ir.Expr
	params []ir.Param
	// do performs the step and binds its names in em.env; nil does nothing.
	do func(em *emitter) []ir.Stmt
	// pure says that do changes nothing but names.
	pure bool
	// choice groups outcomes that are the branches of a decision, 0: none.
	unfair bool
	// text says what happened, after the words of the step ("finds nothing").
	text string
	// shows is read in the state before the step and follows text: the row found.
	shows []any
	// reads is what the step has read, in the state before it; nil if only its
	// name knows.
	reads *value
	// partition of a log that a send goes to.
	partition ir.Expr
	why       Reason
	// fault is spent by this outcome: "" for none.
	fault *budget
	// stay: the run goes on standing before the step.
	stay bool
	// quiet outcomes are not repeated with a lost answer.
	quiet bool
}

// planOf asks the kind of the step's resource.
func (em *emitter) planOf(n *node) plan {
	s := n.step
	switch n.kind {
	case commitNode:
		return em.commitPlan(n)
	case pauseNode:
		return plan{outcomes: []*outcome{{done: true, guard: yes, pure: true}}}
	}
	switch s.Verb {
	case ast.VerbInsert, ast.VerbUpsert:
		return em.insertPlan(n)
	case ast.VerbUpdate:
		return em.updatePlan(n)
	case ast.VerbDelete:
		return em.deletePlan(n)
	case ast.VerbSelect:
		return em.selectPlan(n)
	case ast.VerbLock, ast.VerbUnlock:
		return em.lockPlan(n)
	case ast.VerbPut, ast.VerbPutNew, ast.VerbGet, ast.VerbRemove, ast.VerbExpire:
		return em.kvPlan(n)
	case ast.VerbScript:
		return em.scriptPlan(n)
	case ast.VerbSend:
		return em.sendPlan(n)
	case ast.VerbAck, ast.VerbNack:
		return em.ackPlan(n)
	case ast.VerbCommitOffset:
		return em.commitOffsetPlan(n)
	case ast.VerbCall:
		return em.callPlan(n)
	case ast.VerbReply:
		return em.replyPlan(n)
	case ast.VerbAskHuman:
		return em.humanPlan(n)
	}
	em.lw.problem(s.Pos, "%s is not supported here", s.Verb)
	return plan{outcomes: []*outcome{{done: true, guard: yes}}}
}
