package specs

import (
	"github.com/relplan/relplan/specs/ast"
)

// verbInfo says what may stand beside a verb.
type verbInfo struct {
	verb     ast.Verb
	args     []string // keys of the verb itself
	must     []string // of them, those that must be there
	branches []ast.Outcome
	remote   bool // on_error and on_unknown are allowed
	effects  bool // effect and undo are allowed
	example  string
}

// stepKeys may stand on every step.
var stepKeys = []string{"at", "only"}

// verbs is the closed list of the language.
var verbs = map[string]*verbInfo{
	"transaction":   {verb: ast.VerbTransaction, args: []string{"do"}, must: []string{"do"}, remote: true, example: "transaction: DB, do: [..]"},
	"script":        {verb: ast.VerbScript, args: []string{"do"}, must: []string{"do"}, remote: true, example: "script: KV, do: [..]"},
	"insert":        {verb: ast.VerbInsert, args: []string{"row", "position"}, must: []string{"row"}, branches: []ast.Outcome{ast.IfExists}, remote: true, effects: true, example: "insert: T, row: {op: m.op}"},
	"upsert":        {verb: ast.VerbUpsert, args: []string{"row", "position"}, must: []string{"row"}, remote: true, effects: true, example: "upsert: T, row: {op: m.op}"},
	"update":        {verb: ast.VerbUpdate, args: []string{"where", "set", "position"}, must: []string{"set"}, branches: []ast.Outcome{ast.IfNone, ast.IfExists}, remote: true, effects: true, example: "update: T, where: {op: m.op}, set: {state: DONE}"},
	"select":        {verb: ast.VerbSelect, args: []string{"where", "as", "order_by", "lock", "skip_locked", "nowait", "count", "from", "at_least"}, must: []string{"as"}, remote: true, effects: true, example: "select: T, where: {op: m.op}, as: r"},
	"delete":        {verb: ast.VerbDelete, args: []string{"where", "position"}, branches: []ast.Outcome{ast.IfNone}, remote: true, effects: true, example: "delete: T, where: {op: m.op}"},
	"put":           {verb: ast.VerbPut, args: []string{"key", "value", "ttl", "if_absent", "keep_ttl"}, must: []string{"key"}, branches: []ast.Outcome{ast.IfExists}, remote: true, effects: true, example: "put: KV, key: m.id, value: 1"},
	"put_new":       {verb: ast.VerbPutNew, args: []string{"key", "value", "ttl"}, must: []string{"key"}, branches: []ast.Outcome{ast.IfExists}, remote: true, effects: true, example: "put_new: KV, key: m.id, if_exists: stop"},
	"get":           {verb: ast.VerbGet, args: []string{"key", "as"}, must: []string{"key", "as"}, remote: true, effects: true, example: "get: KV, key: m.id, as: v"},
	"remove":        {verb: ast.VerbRemove, args: []string{"key", "only_if_value"}, must: []string{"key"}, branches: []ast.Outcome{ast.IfNone}, remote: true, effects: true, example: "remove: KV, key: m.id"},
	"expire":        {verb: ast.VerbExpire, args: []string{"key", "ttl"}, must: []string{"key", "ttl"}, branches: []ast.Outcome{ast.IfNone}, remote: true, effects: true, example: "expire: KV, key: m.id, ttl: 30s"},
	"send":          {verb: ast.VerbSend, args: []string{"message", "id", "epoch"}, must: []string{"message"}, branches: []ast.Outcome{ast.OnRefused}, remote: true, effects: true, example: "send: Q, message: {op: m.op}"},
	"ack":           {verb: ast.VerbAck, remote: true, effects: true, example: "ack: m"},
	"nack":          {verb: ast.VerbNack, remote: true, effects: true, example: "nack: m"},
	"commit_offset": {verb: ast.VerbCommitOffset, args: []string{"up_to", "lower"}, remote: true, effects: true, example: "commit_offset: LOG, up_to: m"},
	"call":          {verb: ast.VerbCall, args: []string{"with", "as"}, branches: []ast.Outcome{ast.OnRefused}, remote: true, effects: true, example: "call: bank.charge, with: {op: m.op}, as: r"},
	"reply":         {verb: ast.VerbReply, args: []string{"body"}, remote: true, effects: true, example: "reply: ok"},
	"ask_human":     {verb: ast.VerbAskHuman, effects: true, example: "ask_human: m.op"},
	"lock":          {verb: ast.VerbLock, args: []string{"key", "scope", "try"}, must: []string{"key"}, branches: []ast.Outcome{ast.IfHeld}, remote: true, example: "lock: DB, key: m.op, scope: transaction"},
	"unlock":        {verb: ast.VerbUnlock, args: []string{"key"}, must: []string{"key"}, branches: []ast.Outcome{ast.IfNone}, remote: true, example: "unlock: DB, key: m.op"},
	"go":            {verb: ast.VerbGo, args: []string{"when"}, example: "go: LABEL, when: r != none"},
	"stop":          {verb: ast.VerbStop, args: []string{"when"}, example: "stop: true"},
	"let":           {verb: ast.VerbLet, example: "let: {n: 0 .. 3}"},
	"choose":        {verb: ast.VerbChoose, args: []string{"fair"}, example: "choose: [LABEL, OTHER]"},
	"fail":          {verb: ast.VerbFail, args: []string{"when"}, example: "fail: true"},
}

// verbOrder is the order in which verbs are listed to people.
var verbOrder = []string{"transaction", "script", "insert", "upsert", "update", "select", "delete", "put", "put_new", "get", "remove", "expire",
	"send", "ack", "nack", "commit_offset", "call", "reply", "ask_human", "lock", "unlock", "go", "stop", "let", "choose", "fail"}

// allowed gives every key that may stand beside the verb.
func (v *verbInfo) allowed() []string {
	out := append([]string{}, stepKeys...)
	out = append(out, v.verb.String())
	out = append(out, v.args...)
	for _, b := range v.branches {
		out = append(out, b.String())
	}
	if v.remote {
		out = append(out, "on_error", "on_unknown", "slow")
	}
	if v.effects {
		out = append(out, "effect", "undo")
	}
	return out
}

// allArgs are the keys that belong to some verb, for the hint "it belongs to".
func verbsWith(key string) []string {
	var out []string
	for _, name := range verbOrder {
		for _, k := range verbs[name].allowed() {
			if k == key {
				out = append(out, name)
			}
		}
	}
	return out
}
