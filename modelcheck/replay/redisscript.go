package replay

import (
	"context"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/relplan/relplan/specs/ast"
)

// script carries out a `script:` block as one Lua script on the server.
func (x *redisSession) script(ctx context.Context, c *call) ending {
	l := &luaScript{names: c.names, block: c.step, base: x.s.base, slots: map[*ast.Var]int{}}
	text, err := l.compile()
	if err != nil {
		return failed(err)
	}
	words := append([]any{"eval", text, "0"}, l.args...)
	v, err := x.command(ctx, c.fault, words...)
	if err != nil {
		return l.failure(err)
	}
	return l.ending(v)
}

// luaPrelude works on encoded values: '-' is none, 'btrue', 'i12', 's5:PAID!'
// and records '{4:name=i1;}' (see encode).
const luaPrelude = `
local function int(x) if string.sub(x, 1, 1) == 'i' then return tonumber(string.sub(x, 2)) end end
local function bool(x) if x then return 'btrue' end return 'bfalse' end
local function add(x, y) x, y = int(x), int(y); if x and y then return string.format('i%d', x + y) end return '-' end
local function sub(x, y) x, y = int(x), int(y); if x and y then return string.format('i%d', x - y) end return '-' end
local function neg(x) return string.format('i%d', -(int(x) or 0)) end
local function less(x, y) x, y = int(x), int(y); return x ~= nil and y ~= nil and x < y end
local function atmost(x, y) x, y = int(x), int(y); return x ~= nil and y ~= nil and x <= y end
local function text(x) return string.sub(x, string.find(x, ':', 1, true) + 1) end
local function skip(s, at)
  local c = string.sub(s, at, at)
  if c == '-' then return at + 1 end
  if c == 's' then
    local colon = string.find(s, ':', at, true)
    return colon + 1 + tonumber(string.sub(s, at + 1, colon - 1))
  end
  if c ~= '{' then return string.find(s, ';', at, true) or #s + 1 end
  at = at + 1
  while string.sub(s, at, at) ~= '}' do
    local colon = string.find(s, ':', at, true)
    at = skip(s, colon + 2 + tonumber(string.sub(s, at, colon - 1))) + 1
  end
  return at + 1
end
local function field(s, name)
  if string.sub(s, 1, 1) ~= '{' then return '-' end
  local at = 2
  while string.sub(s, at, at) ~= '}' do
    local colon = string.find(s, ':', at, true)
    local value = colon + 2 + tonumber(string.sub(s, at, colon - 1))
    local behind = skip(s, value)
    if string.sub(s, colon + 1, value - 2) == name then return string.sub(s, value, behind - 1) end
    at = behind + 1
  end
  return '-'
end
local function record(...)
  local out, cells = '{', {...}
  for i = 1, #cells, 2 do
    if cells[i + 1] ~= '-' then out = out .. #cells[i] .. ':' .. cells[i] .. '=' .. cells[i + 1] .. ';' end
  end
  return out .. '}'
end
`

// luaScript compiles a block. Expressions that read nothing the script itself
// has read are evaluated before it is sent, as a client would; the others are
// Lua over encoded values. Control flow is a machine over the number of the
// step, since Lua 5.1 has no goto.
type luaScript struct {
	names *scope
	block *ast.Step
	base  func(r *ast.Resource) string
	vars  []*ast.Var // bound in the block
	slots map[*ast.Var]int
	args  []any // ARGV
}

func (l *luaScript) compile() (string, error) {
	for _, s := range l.block.Do {
		if s.As != nil {
			l.slot(s.As)
		}
		for _, b := range s.Lets {
			l.slot(b.Var)
		}
	}
	var b strings.Builder
	b.WriteString(luaPrelude)
	b.WriteString("local V = {")
	for _, v := range l.vars {
		b.WriteString(l.arg(l.names.vars[v]) + ", ")
	}
	b.WriteString("}\nlocal pc, steps = 1, 0\n")
	fmt.Fprintf(&b, "while pc <= %d do\n  steps = steps + 1\n  if steps > %d then error('the script goes round in a loop') end\n", len(l.block.Do), maxLocal)
	for i, s := range l.block.Do {
		code, err := l.step(s)
		if err != nil {
			return "", err
		}
		word := "elseif"
		if i == 0 {
			word = "if"
		}
		fmt.Fprintf(&b, "  %s pc == %d then\n    pc = %d\n    %s\n", word, i+1, i+2, strings.Join(code, "\n    "))
	}
	if len(l.block.Do) > 0 {
		b.WriteString("  end\n")
	}
	b.WriteString("end\nreturn {'done', 0, unpack(V)}")
	return b.String(), nil
}

func (l *luaScript) slot(v *ast.Var) {
	if _, known := l.slots[v]; !known {
		l.vars = append(l.vars, v)
		l.slots[v] = len(l.vars)
	}
}

// arg passes a value to the script.
func (l *luaScript) arg(v Value) string {
	l.args = append(l.args, encode(v))
	return "ARGV[" + strconv.Itoa(len(l.args)) + "]"
}

// step is the Lua of one verb; pc has been set to the next one.
func (l *luaScript) step(s *ast.Step) ([]string, error) {
	switch s.Verb {
	case ast.VerbGet, ast.VerbPut, ast.VerbPutNew, ast.VerbRemove, ast.VerbExpire:
		return l.kvStep(s)
	case ast.VerbLet:
		return l.let(s)
	case ast.VerbGo, ast.VerbStop, ast.VerbFail:
		code := l.jump(s, s.Target)
		switch s.Verb {
		case ast.VerbStop:
			code = l.leave(s, "left")
		case ast.VerbFail:
			code = l.fail(s)
		}
		if s.When == nil {
			return []string{"if true then " + code + " end"}, nil
		}
		cond, err := l.truth(s.When)
		return []string{"if " + cond + " then " + code + " end"}, err
	}
	return nil, fmt.Errorf("%s: %w: %s in a script of redis", s.Pos, errUnsupported, s.Verb)
}

func (l *luaScript) let(s *ast.Step) ([]string, error) {
	var out []string
	for _, b := range s.Lets {
		value, err := "", error(nil)
		if b.Declare {
			value = l.arg(int64(b.Var.Lo))
		} else if value, err = l.expr(b.Value); err != nil {
			return nil, err
		}
		out = append(out, fmt.Sprintf("V[%d] = %s", l.slots[b.Var], value))
	}
	return out, nil
}

// leave ends the script at a step, with its outcome or "left".
func (l *luaScript) leave(s *ast.Step, how string) string {
	return fmt.Sprintf("do return {'%s', %d, unpack(V)} end", how, s.Index+1)
}

// failedStep finds what fail writes into the server's error.
var failedStep = regexp.MustCompile(`relplan_failed (\d+)((?: [0-9a-f]*,)*)`)

// fail is a real error of the server: what was written stays. The names go
// along in its text.
func (l *luaScript) fail(s *ast.Step) string {
	return fmt.Sprintf(`local names = ''
      for i = 1, #V do names = names .. ' ' .. string.gsub(V[i], '.', function(c) return string.format('%%02x', string.byte(c)) end) .. ',' end
      error('relplan_failed %d' .. names)`, s.Index+1)
}

func (l *luaScript) jump(s *ast.Step, t *ast.Target) string {
	switch {
	case t == nil:
		return ""
	case t.Kind == ast.ToStep && t.Step.Block == l.block:
		return fmt.Sprintf("pc = %d", t.Step.Index+1)
	case t.Kind == ast.ToBlockEnd:
		return fmt.Sprintf("pc = %d", len(l.block.Do)+1)
	}
	return l.leave(s, "left")
}

// branch is what happens at an outcome of a verb.
func (l *luaScript) branch(s *ast.Step, o ast.Outcome) string {
	b := s.Branches[o]
	switch {
	case b == nil:
	case b.Kind == ast.BranchContinue:
		return ""
	case b.Kind == ast.BranchGo && (b.Target.Kind == ast.ToBlockEnd || b.Target.Kind == ast.ToStep && b.Target.Step.Block == l.block):
		return l.jump(s, b.Target)
	}
	return l.leave(s, o.String())
}

func (l *luaScript) kvStep(s *ast.Step) ([]string, error) {
	key, err := l.expr(s.Key)
	if err != nil {
		return nil, err
	}
	marks, err := l.marks(s)
	if err != nil {
		return nil, err
	}
	out := []string{"local key = " + luaQuote(l.base(s.Resource)) + " .. " + key}
	switch s.Verb {
	case ast.VerbGet:
		if s.As != nil {
			out = append(out, fmt.Sprintf("V[%d] = redis.call('get', key) or '-'", l.slots[s.As]))
		}
		return append(out, marks...), nil
	case ast.VerbRemove:
		return l.remove(s, out, marks)
	case ast.VerbExpire:
		ttl := "redis.call('persist', key)"
		if s.TTL != nil && !s.TTL.None {
			ttl = "redis.call('pexpire', key, " + milliseconds() + ")"
		}
		out = append(out, "if redis.call('exists', key) == 0 then "+l.branch(s, ast.IfNone)+" else "+ttl)
		return append(append(out, marks...), "end"), nil
	}
	value := luaQuote(encode(true))
	if s.Value != nil {
		if value, err = l.expr(s.Value); err != nil {
			return nil, err
		}
	}
	words := "'set', key, " + value
	if s.IfAbsent || s.Verb == ast.VerbPutNew || s.Branches[ast.IfExists] != nil {
		words += ", 'nx'"
	}
	switch {
	case s.TTL != nil && !s.TTL.None:
		words += ", 'px', " + milliseconds()
	case s.KeepTTL:
		words += ", 'keepttl'"
	}
	out = append(out, "if not redis.call("+words+") then "+l.branch(s, ast.IfExists)+" else")
	return append(append(out, marks...), "end"), nil
}

func (l *luaScript) remove(s *ast.Step, out, marks []string) ([]string, error) {
	differs := "not there"
	if s.OnlyIfValue != nil {
		want, err := l.expr(s.OnlyIfValue)
		if err != nil {
			return nil, err
		}
		differs += " or there ~= " + want
	}
	out = append(out, "local there = redis.call('get', key)")
	if s.OnlyIfValue == nil && s.Branches[ast.IfNone] == nil {
		return append(append(out, "redis.call('del', key)"), marks...), nil
	}
	out = append(out, "if "+differs+" then "+l.branch(s, ast.IfNone)+" else redis.call('del', key)")
	return append(append(out, marks...), "end"), nil
}

// marks counts the effects of a step in the journal of its store.
func (l *luaScript) marks(s *ast.Step) ([]string, error) {
	var out []string
	for i, marks := range [][]ast.Mark{s.Effects, s.Undoes} {
		for _, m := range marks {
			op, err := l.expr(m.Operation)
			if err != nil {
				return nil, err
			}
			out = append(out, fmt.Sprintf("if %s ~= '-' then redis.call('hincrby', %s, %s .. text(%s), %d) end",
				op, luaQuote(l.base(s.Resource)+"effects"), luaQuote(journalField(m.Effect.Name, "")), op, 1-2*i))
		}
	}
	return out, nil
}

// failure reads where a script has failed by itself.
func (l *luaScript) failure(err error) ending {
	m := failedStep.FindStringSubmatch(err.Error())
	if m == nil {
		return lostOrFailed(err)
	}
	at, _ := strconv.Atoi(m[1])
	var names []any
	for _, h := range strings.Split(strings.TrimSuffix(m[2], ","), ",") {
		text, hexErr := hex.DecodeString(strings.TrimSpace(h))
		if hexErr != nil {
			return failed(hexErr)
		}
		names = append(names, string(text))
	}
	e := ending{branch: ast.OnError, err: fmt.Errorf("the script has failed at line %d", l.block.Do[at-1].Pos.Line), left: l.block.Do[at-1]}
	return l.bind(e, names)
}

// ending reads the answer: how, at which step, and the names.
func (l *luaScript) ending(answer any) ending {
	parts, _ := answer.([]any)
	if len(parts) < 2 {
		return failed(fmt.Errorf("internal: the script answers %v", answer))
	}
	how, _ := parts[0].(string)
	at, _ := parts[1].(int64)
	e := ending{done: how == "done"}
	if at > 0 {
		e.left = l.block.Do[at-1]
	}
	for o := range ast.NumOutcomes {
		if how == o.String() {
			e.branch = o
		}
	}
	return l.bind(e, parts[2:])
}

func (l *luaScript) bind(e ending, values []any) ending {
	e.binds = map[*ast.Var]Value{}
	for i, v := range l.vars {
		if i >= len(values) {
			break
		}
		text, _ := values[i].(string)
		x, err := decode(text)
		if err != nil {
			return failed(err)
		}
		e.binds[v] = x
	}
	return e
}
