package replay

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/modelcheck/replay/faultproxy"
	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

// redisSession is the connection of one worker to a Redis server.
type redisSession struct {
	s     *redisResource
	c     *engines.RedisClient
	proxy *faultproxy.Proxy
}

func (x *redisSession) take(ctx context.Context, t *ast.Trigger, names *scope, e *lower.Event) (Value, error) {
	x.tryConnection(ctx)
	all, err := x.s.entries(ctx, x.c)
	if err != nil {
		return nil, err
	}
	return takeEntry(all, t, names, e)
}

// tryConnection lets the pool find out that a failover has cut its connection,
// as one does that tests connections before it lends them.
func (x *redisSession) tryConnection(ctx context.Context) {
	if x.s.moves && x.c.Ping(ctx).Err() != nil {
		_ = x.c.Ping(ctx).Err()
	}
}

func (x *redisSession) do(ctx context.Context, c *call) ending {
	if c.fault == refused {
		return refusal()
	}
	x.tryConnection(ctx)
	switch c.step.Verb {
	case ast.VerbScript:
		return x.script(ctx, c)
	case ast.VerbSelect:
		return x.selectStep(ctx, c)
	case ast.VerbPut, ast.VerbPutNew, ast.VerbGet, ast.VerbRemove, ast.VerbExpire:
		op, err := kvOpOf(c.names, c.step)
		if err != nil {
			return failed(err)
		}
		e := kvEnding(x.apply(ctx, op, c.fault))
		e.touched = []string{x.s.key(op.key)}
		return e
	}
	return failed(fmt.Errorf("%w: %s on redis", errUnsupported, c.step.Verb))
}

// selectStep reads every key. It writes nothing, so only the answer can be lost.
func (x *redisSession) selectStep(ctx context.Context, c *call) ending {
	if c.fault != noFault {
		_, err := x.command(ctx, c.fault, "exists", x.s.journal())
		return lostOrFailed(err)
	}
	all, err := x.s.entries(ctx, x.c)
	if err != nil {
		return lostOrFailed(err)
	}
	return selectEntry(all, c.step, c.names, c.event)
}

func (x *redisSession) end(context.Context) error { return nil }

func (x *redisSession) cut() {
	x.c.Cut()
	_ = x.c.Close()
	_ = x.proxy.Close()
}

// apply carries out a verb: by the server's own command where there is one, by
// a script where there is none, or where an effect is counted with it.
func (x *redisSession) apply(ctx context.Context, op kvOp, f fault) (kvResult, error) {
	key := x.s.key(op.key)
	if len(op.marks) > 0 || op.onlyIf != nil || op.verb == ast.VerbExpire && !op.expires {
		return x.byScript(ctx, op, f)
	}
	switch op.verb {
	case ast.VerbGet:
		v, err := x.command(ctx, f, "get", key)
		text, found := v.(string)
		return kvResult{done: true, found: found, value: text}, err
	case ast.VerbRemove:
		n, err := x.command(ctx, f, "del", key)
		return orNone(n != int64(0) || op.lenient), err
	case ast.VerbExpire:
		n, err := x.command(ctx, f, "pexpire", key, milliseconds())
		return orNone(n != int64(0)), err
	}
	v, err := x.command(ctx, f, putWords(key, op)...)
	if v == nil {
		return kvResult{branch: ast.IfExists}, err
	}
	return kvResult{done: true}, err
}

// orNone is done, or if_none.
func orNone(done bool) kvResult { return kvResult{done: done, branch: ast.IfNone} }

// milliseconds is the ttl that every ttl is set to.
func milliseconds() string { return strconv.FormatInt(longTTL.Milliseconds(), 10) }

// putWords is the SET of a put.
func putWords(key string, op kvOp) []any {
	words := []any{"set", key, op.value}
	if op.absent {
		words = append(words, "nx")
	}
	switch {
	case op.expires:
		words = append(words, "px", milliseconds())
	case op.keepTTL:
		words = append(words, "keepttl")
	}
	return words
}

// byScript carries out one verb as a script: compare and delete has no command,
// and an effect is counted in the same unit.
//
// KEYS: the key, the journal. ARGV: verb, value or the value wanted, "nx" or
// "eq" or "", ttl in ms, "keep" or "", then field and number of each effect.
const verbScript = `
local verb, value, cond, ttl, keep = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local answer = {'done', false}
if verb == 'get' then
  answer[2] = redis.call('get', KEYS[1])
elseif verb == 'put' then
  local words = {'set', KEYS[1], value}
  if cond == 'nx' then words[#words + 1] = 'nx' end
  if ttl ~= '0' then words[#words + 1] = 'px'; words[#words + 1] = ttl
  elseif keep == 'keep' then words[#words + 1] = 'keepttl' end
  if not redis.call(unpack(words)) then return {'if_exists', false} end
elseif verb == 'remove' then
  local there = redis.call('get', KEYS[1])
  if not there or cond == 'eq' and there ~= value then return {'if_none', false} end
  redis.call('del', KEYS[1])
else
  if redis.call('exists', KEYS[1]) == 0 then return {'if_none', false} end
  if ttl == '0' then redis.call('persist', KEYS[1]) else redis.call('pexpire', KEYS[1], ttl) end
end
for i = 6, #ARGV, 2 do redis.call('hincrby', KEYS[2], ARGV[i], ARGV[i + 1]) end
return answer`

func (x *redisSession) byScript(ctx context.Context, op kvOp, f fault) (kvResult, error) {
	value, cond, keep, ttl := op.value, "", "", "0"
	if op.absent {
		cond = "nx"
	}
	if op.onlyIf != nil {
		value, cond = *op.onlyIf, "eq"
	}
	if op.keepTTL {
		keep = "keep"
	}
	if op.expires {
		ttl = milliseconds()
	}
	words := []any{"eval", verbScript, "2", x.s.key(op.key), x.s.journal(), op.verb.String(), value, cond, ttl, keep}
	for _, m := range op.marks {
		words = append(words, journalField(m.effect, m.op), strconv.Itoa(m.n))
	}
	v, err := x.command(ctx, f, words...)
	if err != nil {
		return kvResult{}, err
	}
	parts, _ := v.([]any)
	if len(parts) == 0 {
		return kvResult{}, fmt.Errorf("internal: the script answers %v", v)
	}
	switch parts[0] {
	case "if_exists":
		return kvResult{branch: ast.IfExists}, nil
	case "if_none":
		return orNone(op.lenient), nil
	}
	r := kvResult{done: true}
	if len(parts) > 1 {
		r.value, r.found = parts[1].(string)
	}
	return r, nil
}

// command sends one command; a fault hits it and nothing else.
func (x *redisSession) command(ctx context.Context, f fault, words ...any) (any, error) {
	if f == noFault {
		return x.c.Command(ctx, words...)
	}
	how := faultproxy.LoseAnswer
	switch f {
	case requestLost:
		how = faultproxy.LoseRequest
	case arrivesLate:
		return nil, fmt.Errorf("%w: a request to redis that arrives late", errUnsupported)
	}
	text := make([]string, len(words))
	for i, w := range words {
		text[i] = fmt.Sprint(w)
	}
	shot := x.proxy.Arm(faultproxy.Exactly(strings.Join(text, " ")), how)
	_, err := x.c.Command(ctx, words...)
	if x.proxy.Disarm(shot) {
		if err == nil {
			err = fmt.Errorf("internal: the proxy did not see %q", text)
		}
		return nil, err
	}
	select {
	case <-shot.Done():
		if err := shot.Err(); err != nil {
			return nil, err
		}
		return nil, errNoAnswer
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
