package specs

import (
	"strconv"
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/yamlx"
	"github.com/relplan/relplan/specs/ast"
)

const branchForms = "go LABEL, stop, continue, retry N, ask_human, reply ok or commit LABEL"

// branches reads the branches of a step and fills in the implicit ones (R22).
func (d *decoder) branches(raw *rawProcess, r *rawStep) {
	s := r.step
	for o := ast.IfExists; o < ast.NumOutcomes; o++ {
		if k, n := r.arg(o.String()); k != nil {
			s.Branches[o] = d.branch(raw, s, n, k.Pos())
		}
	}
	stop := func() *ast.Branch { return &ast.Branch{Implicit: true, Kind: ast.BranchStop} }
	set := func(o ast.Outcome, b *ast.Branch) {
		if s.Branches[o] == nil {
			s.Branches[o] = b
		}
	}
	if r.info.remote {
		if s.Block != nil {
			if b := s.Block.Branches[ast.OnError]; b != nil && s.Branches[ast.OnError] == nil {
				c := *b
				c.Inherited = true
				s.Branches[ast.OnError] = &c
			}
		} else {
			set(ast.OnUnknown, stop())
		}
		set(ast.OnError, stop())
	}
	if s.Verb == ast.VerbFail && s.Block != nil {
		c := *s.Block.Branches[ast.OnError]
		c.Inherited = true
		s.Branches[ast.OnError] = &c
	} else if s.Verb == ast.VerbFail {
		s.Branches[ast.OnError] = stop()
	}
	switch s.Verb {
	case ast.VerbPut, ast.VerbPutNew:
		if s.IfAbsent {
			set(ast.IfExists, stop())
		}
	case ast.VerbUpdate, ast.VerbDelete, ast.VerbRemove, ast.VerbExpire, ast.VerbUnlock:
		set(ast.IfNone, &ast.Branch{Implicit: true, Kind: ast.BranchContinue})
	case ast.VerbLock:
		if s.Try {
			set(ast.IfHeld, stop())
		}
	case ast.VerbCall, ast.VerbSend:
		if s.Verb == ast.VerbCall || s.Epoch != nil {
			set(ast.OnRefused, stop())
		}
	}
}

// branch reads a branch value.
func (d *decoder) branch(raw *rawProcess, s *ast.Step, n *yamlx.Node, at diag.Pos) *ast.Branch {
	n = d.sub(n)
	if n.Kind() != yamlx.Scalar {
		d.wanted(n, at, "RP018", branchForms, "")
		return nil
	}
	words := strings.Fields(n.Value())
	b := &ast.Branch{Pos: n.Pos()}
	wordPos := func(i int) diag.Pos { return wordAt(n, i) }
	switch {
	case len(words) == 1 && words[0] == "stop":
		b.Kind = ast.BranchStop
	case len(words) == 1 && words[0] == "continue":
		b.Kind = ast.BranchContinue
	case len(words) == 1 && words[0] == "ask_human":
		b.Kind = ast.BranchAskHuman
	case len(words) == 2 && words[0] == "go":
		b.Kind = ast.BranchGo
		if b.Target = d.target(raw, s, words[1], wordPos(1)); b.Target == nil {
			return nil
		}
	case len(words) == 2 && words[0] == "commit":
		b.Kind = ast.BranchCommit
		if s.Block == nil || s.Block.Verb != ast.VerbTransaction {
			d.errorf(n.Pos(), "RP018", "'commit %s' stands inside a transaction only", words[1])
			return nil
		}
		if b.Target = d.target(raw, s, words[1], wordPos(1)); b.Target == nil {
			return nil
		}
	case len(words) == 2 && words[0] == "reply":
		b.Kind, b.Reply = ast.BranchReply, ast.Reply(words[1])
		s.Process.HasReply = true
		if !nameForm.MatchString(words[1]) {
			d.wanted(n, at, "RP018", branchForms, "")
			return nil
		}
	case len(words) >= 1 && words[0] == "retry":
		return d.retry(raw, s, n, words, b)
	default:
		d.branchError(raw, n, at, words)
		return nil
	}
	return b
}

func (d *decoder) retry(raw *rawProcess, s *ast.Step, n *yamlx.Node, words []string, b *ast.Branch) *ast.Branch {
	b.Kind, b.Times = ast.BranchRetry, -1
	if len(words) == 1 {
		return b
	}
	times, err := strconv.Atoi(words[1])
	if err != nil || times < 1 || times > 100 {
		d.wanted(n, n.Pos(), "RP018", "retry N, N from 1 to 100", "")
		return nil
	}
	b.Times = times
	if len(words) == 2 {
		return b
	}
	if words[2] != "then" || len(words) < 4 {
		d.wanted(n, n.Pos(), "RP018", "retry N then go LABEL (or stop, ask_human)", "")
		return nil
	}
	b.Then = &ast.Branch{Pos: wordAt(n, 3)}
	switch {
	case words[3] == "go" && len(words) == 5:
		b.Then.Kind = ast.BranchGo
		if b.Then.Target = d.target(raw, s, words[4], wordAt(n, 4)); b.Then.Target == nil {
			return nil
		}
	case words[3] == "stop" && len(words) == 4:
	case words[3] == "continue" && len(words) == 4:
		b.Then.Kind = ast.BranchContinue
	case words[3] == "ask_human" && len(words) == 4:
		b.Then.Kind = ast.BranchAskHuman
	case words[3] == "reply" && len(words) == 5:
		b.Then.Kind, b.Then.Reply = ast.BranchReply, ast.Reply(words[4])
		s.Process.HasReply = true
	default:
		d.wanted(n, n.Pos(), "RP018", "retry N then go LABEL (or stop, continue, ask_human, reply ok)", "")
		return nil
	}
	return b
}

func (d *decoder) branchError(raw *rawProcess, n *yamlx.Node, at diag.Pos, words []string) {
	hint := ""
	if len(words) == 1 {
		if _, ok := raw.labels[words[0]]; ok {
			hint = "did you mean: go " + words[0]
		} else if c, ok := diag.Closest(words[0], []string{"stop", "continue", "retry", "ask_human"}); ok {
			hint = "did you mean: " + c
		}
	} else if len(words) > 1 {
		if c, ok := diag.Closest(words[0], []string{"go", "retry", "reply", "commit"}); ok || words[0] == "goto" {
			if words[0] == "goto" || words[0] == "jump" {
				c = "go"
			}
			hint = "did you mean: " + c + " " + strings.Join(words[1:], " ")
		}
	}
	d.wanted(n, at, "RP018", branchForms, hint)
}

// wordAt gives the position of the i-th word of the scalar n.
func wordAt(n *yamlx.Node, i int) diag.Pos {
	r := []rune(n.Value())
	k, in := -1, false
	for j := 0; j <= len(r); j++ {
		letter := j < len(r) && r[j] != ' ' && r[j] != '\t' && r[j] != '\n'
		if letter && !in {
			k++
			if k == i {
				end := j
				for end < len(r) && r[end] != ' ' && r[end] != '\n' {
					end++
				}
				return span(n, j, end)
			}
		}
		in = letter
	}
	return n.Pos()
}
