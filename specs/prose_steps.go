package specs

import (
	"fmt"
	"strings"

	"github.com/relplan/relplan/specs/ast"
)

// proser tells one process.
type proser struct{ p *ast.Process }

func (w proser) opening() string {
	n := "One instance"
	if w.p.Instances > 1 {
		n = fmt.Sprintf("Each of %d instances", w.p.Instances)
	}
	t := w.p.Trigger
	as := ""
	if t.As != nil {
		as = ", called " + t.As.Name
	}
	switch t.Kind {
	case ast.OnMessage:
		if t.Queue.Kind == ast.LogKind {
			return w.fetches(n) + as + "."
		}
		if t.Batch > 1 {
			return fmt.Sprintf("%s receives up to %d messages of %s%s, and works through them one after the other; each is held until it is acked.", n, t.Batch, t.Queue.Name, as)
		}
		return n + " receives a message of " + t.Queue.Name + as + ", and holds it until it acks."
	case ast.OnRow:
		what := ""
		if t.Table != nil {
			what = "a row of " + t.Table.Name
		} else {
			what = "an entry of " + t.Store.Name
		}
		if t.Where != nil {
			what += " where " + t.Where.String()
		}
		if t.OrderBy != nil {
			what += ", the first by " + t.OrderBy.Name
		}
		return n + " reads " + what + as + ", without claiming it: another instance may read the same one, and it may change before the next step."
	case ast.OnRequest:
		s := n + " is asked for a " + t.Operation.Name + as + "; the client repeats until it gets an answer"
		if t.Tries > 0 {
			s = n + " is asked for a " + t.Operation.Name + as + fmt.Sprintf("; the client gives up after %d tries", t.Tries)
		}
		if t.Copies > 1 {
			s += fmt.Sprintf(", with up to %d requests in flight", t.Copies)
		}
		return s + "."
	case ast.OnStart:
		s := n + " runs once for each " + t.Operation.Name + as
		if t.InOrder != nil {
			s += ", in the order of " + t.InOrder.Name
		}
		if t.Durable {
			return s + "; after a crash it is started again."
		}
		return s + "; after a crash nobody starts it again."
	case ast.OnFault:
		return "A fault of the environment: " + t.Name + "."
	case ast.OnEvery:
		return n + " runs from time to time (" + t.Name + ")."
	}
	return n + " may run whenever it is idle."
}

// fetches tells how a member of a group reads a log.
func (w proser) fetches(who string) string {
	t := w.p.Trigger
	if t.Workers > 1 {
		who = fmt.Sprintf("%s, with %d runs at a time,", who, t.Workers)
	}
	if t.Batch > 1 {
		return fmt.Sprintf("%s fetches up to %d messages of %s and takes the steps for each in turn", who, t.Batch, t.Queue.Name)
	}
	return who + " fetches the next message of " + t.Queue.Name
}

// closing says what the end of a run means, "" where it means nothing.
func (w proser) closing() string {
	switch t := w.p.Trigger; t.Kind {
	case ast.OnMessage:
		if t.Queue.Kind == ast.LogKind {
			return "The next fetch goes on behind this message, committed or not; a crash or a rebalance goes back to the committed offset."
		}
		return "A run that ends without ack gives its message back."
	case ast.OnRequest:
		if !w.p.HasReply {
			return "The end of a run is the answer ok."
		}
		return "A run that ends without a reply gives no answer: the client asks again."
	}
	return ""
}

// list tells steps, numbered by line.
func (w proser) list(steps []*ast.Step, indent string) []string {
	var out []string
	for _, s := range steps {
		label := ""
		if s.Label != "" {
			label = s.Label + ": "
		}
		for i, l := range wrapWords(label+w.step(s), 96-len(indent)) {
			head := fmt.Sprintf("%4d  ", s.Pos.Line)
			if i > 0 {
				head = "        "
			}
			out = append(out, head+indent+l)
		}
		if s.Do != nil {
			out = append(out, w.list(s.Do, indent+"  ")...)
		}
	}
	return out
}

// step tells one step with its branches; those of a block stand in parentheses
// before the colon that opens it.
func (w proser) step(s *ast.Step) string {
	text := w.verb(s)
	if s.When != nil {
		text = "if " + s.When.String() + ", " + text
	}
	for _, m := range s.Effects {
		text += "; this is " + m.Effect.Name + " of " + m.Operation.String()
	}
	for _, m := range s.Undoes {
		text += "; this takes back " + m.Effect.Name + " of " + m.Operation.String()
	}
	var branches []string
	for o := ast.IfExists; o < ast.NumOutcomes; o++ {
		if b := s.Branches[o]; b != nil && !b.Implicit && !b.Inherited {
			branches = append(branches, outcomeWords[o]+": "+branchText(b))
		}
	}
	if s.Slow {
		branches = append(branches, "this may outlive timers")
	}
	all := strings.Join(branches, "; ")
	switch {
	case s.Do != nil && all != "":
		return text + " (" + all + "):"
	case s.Do != nil:
		return text + ":"
	case all != "":
		return text + "; " + all
	}
	return text
}

var outcomeWords = [...]string{ast.IfExists: "if it is there already", ast.IfNone: "if there is none", ast.IfHeld: "if another holds it",
	ast.OnRefused: "if refused", ast.OnError: "on an error", ast.OnUnknown: "without an answer"}

func branchText(b *ast.Branch) string {
	switch b.Kind {
	case ast.BranchGo:
		s := "go to " + b.Target.Label
		if b.Target.Leaves {
			s += " (rolling back)"
		}
		return s
	case ast.BranchContinue:
		return "go on"
	case ast.BranchRetry:
		s := "try again"
		if b.Times > 0 {
			s += fmt.Sprintf(" up to %s", times(b.Times, "time"))
		}
		if b.Then != nil {
			s += ", then " + branchText(b.Then)
		}
		return s
	case ast.BranchAskHuman:
		return "hand it to a human and stop"
	case ast.BranchReply:
		return "answer " + string(b.Reply) + " and end"
	case ast.BranchCommit:
		return "commit here and go to " + b.Target.Label
	}
	return "stop"
}

func whereText(s *ast.Step) string {
	if s.Where == nil {
		return ""
	}
	return " where " + s.Where.String()
}

func (w proser) verb(s *ast.Step) string {
	switch s.Verb {
	case ast.VerbTransaction:
		return "in one transaction on " + s.Resource.Name
	case ast.VerbScript:
		return "in one script on " + s.Resource.Name + ", isolated and not rolled back"
	case ast.VerbInsert:
		return "insert into " + s.Table.Name + " " + ast.CellsString(s.Row)
	case ast.VerbUpsert:
		return "insert or replace in " + s.Table.Name + " " + ast.CellsString(s.Row)
	case ast.VerbUpdate:
		return "update " + s.Table.Name + whereText(s) + ": set " + ast.CellsString(s.Row)
	case ast.VerbDelete:
		return "delete from " + s.Table.Name + whereText(s)
	case ast.VerbSelect:
		return w.selectText(s)
	case ast.VerbPut, ast.VerbPutNew:
		return w.putText(s)
	case ast.VerbGet:
		return "get " + s.Key.String() + " of " + s.Resource.Name + " as " + s.As.Name
	case ast.VerbRemove:
		t := "remove " + s.Key.String() + " from " + s.Resource.Name
		if s.OnlyIfValue != nil {
			t += " if its value is " + s.OnlyIfValue.String()
		}
		return t
	case ast.VerbExpire:
		return "let " + s.Key.String() + " of " + s.Resource.Name + " expire after " + durationName(s.TTL)
	case ast.VerbSend:
		return "send to " + s.Resource.Name + " " + ast.CellsString(s.Row)
	case ast.VerbAck, ast.VerbNack:
		return s.Verb.String() + " " + s.Subject
	case ast.VerbCommitOffset:
		if s.UpTo == ast.UpToContiguous {
			return "commit the offset of " + s.Resource.Name + " up to the last message below which all are done"
		}
		if s.UpToExpr != nil {
			return "commit the offset of " + s.Resource.Name + " up to " + s.UpToExpr.String()
		}
		return "commit the offset of " + s.Resource.Name + " up to this message"
	case ast.VerbCall:
		t := "call " + s.Subject + " with " + ast.CellsString(s.Row)
		if s.As != nil {
			t += ", the answer is " + s.As.Name
		}
		return t
	}
	return w.otherVerb(s)
}

func (w proser) otherVerb(s *ast.Step) string {
	switch s.Verb {
	case ast.VerbReply:
		t := "answer " + string(s.Reply)
		if s.Body != nil {
			t += " with " + s.Body.String()
		}
		return t
	case ast.VerbAskHuman:
		if s.Human == nil {
			return "hand every operation to a human"
		}
		return "hand " + s.Human.String() + " to a human"
	case ast.VerbLock:
		t := "take the lock " + s.Key.String() + " of " + s.Resource.Name
		if s.SessionLock {
			return t + " for the session"
		}
		if s.Block == nil {
			return t + ", which ends with this very step"
		}
		return t + " until the end of the transaction"
	case ast.VerbUnlock:
		return "release the lock " + s.Key.String() + " of " + s.Resource.Name
	case ast.VerbGo:
		return "go to " + s.Target.Label
	case ast.VerbStop:
		return "stop"
	case ast.VerbFail:
		return "fail"
	case ast.VerbLet:
		var parts []string
		for _, l := range s.Lets {
			if l.Declare {
				parts = append(parts, fmt.Sprintf("%s is %d, at most %d", l.Var.Name, l.Var.Lo, l.Var.Hi))
			} else {
				parts = append(parts, l.Var.Name+" is "+l.Value.String())
			}
		}
		return "let " + strings.Join(parts, ", ")
	case ast.VerbChoose:
		var parts []string
		for _, t := range s.Choose {
			parts = append(parts, t.Label)
		}
		return "go to one of " + strings.Join(parts, ", ")
	}
	return s.Verb.String()
}

func durationName(d *ast.Duration) string {
	if d == nil {
		return "no time"
	}
	return d.Name
}

func (w proser) selectText(s *ast.Step) string {
	what := s.Subject
	t := "read a row of " + what
	if s.Count {
		t = "count the rows of " + what
	}
	t += whereText(s)
	if s.OrderBy != nil {
		t += ", the first by " + s.OrderBy.Name
		if s.Desc {
			t += " from the end"
		}
	}
	switch {
	case s.Lock && s.Skip:
		t += ", locked, passing over rows that others lock"
	case s.Lock && s.NoWait:
		t += ", locked, or an error if another locks it"
	case s.Lock:
		t += ", locked, waiting for others"
	}
	if s.Replica {
		t += ", from the replica"
		if s.AtLeast != nil {
			t += " once it has seen " + s.AtLeast.String()
		}
	}
	if s.As != nil {
		t += ", as " + s.As.Name
	}
	return t
}

func (w proser) putText(s *ast.Step) string {
	t := "put " + s.Key.String() + " into " + s.Resource.Name
	if s.Value != nil {
		t += " with value " + s.Value.String()
	}
	if s.IfAbsent {
		t += ", only if it is not there"
	}
	if s.TTL != nil {
		t += ", until its ttl ends"
	}
	return t
}
