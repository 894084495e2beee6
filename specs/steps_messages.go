package specs

import (
	"fmt"
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/yamlx"
	"github.com/relplan/relplan/specs/ast"
)

func (d *decoder) kvStep(r *rawStep, sc scope) {
	s := r.step
	s.Resource = d.resource(r.verb, s.Pos, "kv", ast.KVKind, ast.MemoryKind)
	if k, n := r.arg("key"); k != nil {
		d.expr(&s.Key, n, k.Pos(), sc)
	}
	if k, n := r.arg("value"); k != nil {
		d.expr(&s.Value, n, k.Pos(), sc)
	}
	if k, n := r.arg("only_if_value"); k != nil {
		d.expr(&s.OnlyIfValue, n, k.Pos(), sc)
	}
	for key, into := range map[string]*bool{"if_absent": &s.IfAbsent, "keep_ttl": &s.KeepTTL} {
		if k, n := r.arg(key); k != nil {
			*into = d.flag(n, k.Pos())
		}
	}
	if s.Verb == ast.VerbPutNew {
		s.IfAbsent = true
	}
	if k, _ := r.arg("if_exists"); k != nil && !s.IfAbsent {
		d.l.Add(diag.Diagnostic{Code: "RP019", Pos: k.Pos(), Message: "if_exists: on a put that overwrites: it is never taken", Hint: "add if_absent: true, or write put_new:"})
	}
	if s.Resource == nil {
		return
	}
	kv := s.Resource.KV
	if k, n := r.arg("ttl"); k != nil {
		s.TTL = d.duration(n, k.Pos(), "ttl of "+s.Resource.Name)
		if s.TTL != nil && s.TTL.None {
			s.TTL = nil
		}
		if s.Resource.Kind == ast.MemoryKind {
			d.errorf(k.Pos(), "RP019", "memory has no ttl")
		}
		kv.HasTTL = kv.HasTTL || s.TTL != nil
	}
	d.inf.assign(kv.Key, &s.Key, "key of "+s.Resource.Name)
	if s.Verb == ast.VerbPut || s.Verb == ast.VerbPutNew {
		if k, _ := r.arg("value"); k == nil {
			d.inf.present(kv.Value)
		} else {
			d.inf.assign(kv.Value, &s.Value, "value of "+s.Resource.Name)
		}
	}
	if s.Resource.Kind == ast.MemoryKind && kv.Process == nil {
		kv.Process = s.Process
	}
}

func (d *decoder) sendStep(r *rawStep, sc scope) {
	s := r.step
	s.Resource = d.resource(r.verb, s.Pos, "queue or log", ast.QueueKind, ast.LogKind)
	if s.Resource == nil {
		return
	}
	k, n := r.arg("message")
	if k != nil {
		s.Row = d.cells(n, k.Pos(), cellMessage{s.Resource}, sc)
	}
	idType := s.Resource.Queue.Field("id").Type
	if k, n := r.arg("id"); k != nil {
		d.expr(&s.MessageID, n, k.Pos(), sc)
		d.inf.assign(idType, &s.MessageID, "id of "+s.Resource.Name)
	}
	hasOp := false
	for i := range s.Row {
		switch s.Row[i].Name {
		case "id":
			if s.MessageID != nil {
				d.errorf(s.Row[i].Pos, "RP019", "the id is given twice")
			}
			s.MessageID = s.Row[i].Value
		case "op":
			hasOp = true
		}
	}
	if !hasOp && k != nil && s.Row != nil {
		d.l.Add(diag.Diagnostic{Code: "RP003", Pos: k.Pos(), Message: "the message does not say which operation it is for", Hint: "add op: message: {op: m.op}"})
	}
	if k, n := r.arg("epoch"); k != nil {
		d.expr(&s.Epoch, n, k.Pos(), sc)
		if s.Resource.Kind != ast.LogKind || !s.Resource.Queue.Fenced {
			d.l.Add(diag.Diagnostic{Code: "RP019", Pos: k.Pos(), Message: "epoch: needs a log with fenced: true"})
		}
	}
}

func (d *decoder) ackStep(r *rawStep, sc scope) {
	s := r.step
	if s.Verb == ast.VerbCommitOffset {
		d.commitOffset(r, sc)
		return
	}
	w, ok := d.word(r.verb, s.Pos, "the name of a message")
	if !ok {
		return
	}
	v := s.Process.Var(w)
	if v == nil {
		sc.unknownWord(w, r.verb.Pos())
		return
	}
	s.Message = v
	d.later = append(d.later, func() {
		t := s.Process.Trigger
		if t == nil || t.Kind != ast.OnMessage {
			return
		}
		s.Resource = t.Queue
	})
}

func (d *decoder) commitOffset(r *rawStep, sc scope) {
	s := r.step
	s.Resource = d.resource(r.verb, s.Pos, "log", ast.LogKind)
	if k, n := r.arg("up_to"); k != nil {
		if n = d.sub(n); n.Value() == "contiguous" && n.Kind() == yamlx.Scalar && s.Process.Var("contiguous") == nil {
			s.UpTo = ast.UpToContiguous
		} else {
			d.expr(&s.UpToExpr, n, k.Pos(), sc)
		}
	}
	if k, n := r.arg("lower"); k != nil {
		w, _ := d.oneOf(n, k.Pos(), "accepted", "refused")
		s.Lower = w == "refused"
	}
}

func (d *decoder) callStep(r *rawStep, sc scope) {
	s := r.step
	w, ok := d.word(r.verb, s.Pos, "PROVIDER.METHOD")
	if !ok {
		return
	}
	name, method, found := strings.Cut(w, ".")
	pos := r.verb.Pos()
	if !found {
		hint := ""
		if p := d.resources[name]; p != nil && p.Provider != nil && len(p.Provider.Methods) > 0 {
			hint = "write: call: " + name + "." + p.Provider.Methods[0].Name
		}
		d.wanted(r.verb, s.Pos, "RP004", "PROVIDER.METHOD", hint)
		return
	}
	s.Resource = d.resourceNamed(name, span(r.verb, 0, len([]rune(name))), "provider", ast.ProviderKind)
	if s.Resource == nil {
		return
	}
	if pos.EndColumn > 0 {
		pos = span(r.verb, len([]rune(name))+1, len([]rune(w)))
	}
	s.Method = d.method(s.Resource, method, pos)
	if s.Method == nil {
		return
	}
	k, n := r.arg("with")
	if k != nil {
		s.Row = d.cells(n, k.Pos(), cellArgs{s.Method}, sc)
	}
	if k == nil || s.Row != nil {
		d.callArgs(r)
	}
}

// callArgs checks that a call sends what its method needs.
func (d *decoder) callArgs(r *rawStep) {
	s := r.step
	has := func(name string) bool {
		for _, c := range s.Row {
			if c.Name == name {
				return true
			}
		}
		return false
	}
	need := func(f *ast.Field, why string) {
		if f != nil && !has(f.Name) {
			d.l.Add(diag.Diagnostic{Code: "RP003", Pos: s.Pos, Message: fmt.Sprintf("the call does not send '%s': %s", f.Name, why), Hint: "add it to with:"})
		}
	}
	need(s.Method.DedupBy, s.Subject+" deduplicates by it")
	if s.Method.Kind == ast.Find && !s.Method.ByReceipt {
		need(s.Method.By, s.Subject+" looks up by it")
	}
	if (s.Method.Effect != nil || s.Method.Undo != nil) && !has("op") {
		d.l.Add(diag.Diagnostic{Code: "RP003", Pos: s.Pos, Message: "the call does not say for which operation its effect counts", Hint: "add op: to with:"})
	}
	if s.Method.Effect != nil || s.Method.Undo != nil {
		for i := range s.Row {
			if s.Row[i].Name == "op" {
				eff := s.Method.Effect
				if eff == nil {
					eff = s.Method.Undo
				}
				d.inf.callMark(eff, &s.Row[i].Value, s.Row[i].Pos)
			}
		}
	}
}

func (d *decoder) replyStep(r *rawStep, sc scope) {
	s := r.step
	w, ok := d.word(r.verb, s.Pos, "ok, refused, try_later or a word")
	if ok {
		s.Reply = ast.Reply(w)
		if !nameForm.MatchString(w) {
			d.wanted(r.verb, s.Pos, "RP004", "ok, refused, try_later or a word", "what is answered goes into body:")
		}
	}
	s.Process.HasReply = true
	if k, n := r.arg("body"); k != nil {
		d.expr(&s.Body, n, k.Pos(), sc)
	}
}

func (d *decoder) lockStep(r *rawStep, sc scope) {
	s := r.step
	s.Resource = d.resource(r.verb, s.Pos, "sql resource", ast.SQLKind)
	if k, n := r.arg("key"); k != nil {
		d.expr(&s.Key, n, k.Pos(), sc)
	}
	if k, n := r.arg("scope"); k != nil {
		w, _ := d.oneOf(n, k.Pos(), "transaction", "session")
		s.SessionLock = w == "session"
	}
	if k, n := r.arg("try"); k != nil {
		s.Try = d.flag(n, k.Pos())
	}
	if k, _ := r.arg("if_held"); k != nil && !s.Try {
		d.l.Add(diag.Diagnostic{Code: "RP019", Pos: k.Pos(), Message: "if_held: on a lock that waits: it is never taken", Hint: "add try: true"})
	}
}
