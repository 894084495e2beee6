package lower

import (
	"github.com/relplan/relplan/modelcheck/ir"
	"github.com/relplan/relplan/specs/ast"
)

// Note is what an action says about itself; history.go turns it into words.
type Note struct {
	Process  *ast.Process
	Step     *ast.Step
	Commit   bool
	Outcome  *outcome
	World    string  // what went wrong: "done, answer lost"
	Blocked  ir.Expr // the step waits while this holds
	Start    bool    // a run starts
	Silent   bool    // not a step of the history: a pause that a promise looks at
	Event    string
	Text     []any // words and values, read in the state before the action
	Instance ir.Expr

	node *node
	proc *process
}

// Pieces of a text that are read in a state.
type (
	rowText struct {
		t  *table
		at ir.Expr
	}
	messageText struct {
		q *queue
		m message
	}
	opText struct {
		o *ast.Operation
		e ir.Expr
	}
	workerText struct {
		p *process
		e ir.Expr
	}
	keyText struct {
		t  *table
		at ir.Expr
	}
	valueText struct{ v value }
)
