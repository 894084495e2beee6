package replay

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/specs/ast"
)

// kindWords are the names of engines that start here or are part of the
// program.
var kindWords = map[string]engines.Kind{
	"sqlite": engines.SQLite, "postgres": engines.Postgres, "mysql": engines.MySQL, "mariadb": engines.MySQL,
	"redis": engines.Redis, "nats": engines.NATS, "stub": kindStub, "memory": kindMemory,
}

// plays lists the kinds of resources that an engine can play.
var plays = map[engines.Kind][]ast.ResourceKind{
	engines.SQLite: {ast.SQLKind}, engines.Postgres: {ast.SQLKind}, engines.MySQL: {ast.SQLKind},
	engines.Redis: {ast.KVKind}, engines.NATS: {ast.KVKind, ast.QueueKind, ast.LogKind}, kindStub: {ast.ProviderKind}, kindMemory: {ast.MemoryKind},
}

// Plays lists the kinds of resources for which the choice is the only sensible
// meaning of an engine without a store's name. NATS alone means queues and
// logs.
func (c Choice) Plays() []ast.ResourceKind {
	if c.Kind == engines.NATS {
		return []ast.ResourceKind{ast.QueueKind, ast.LogKind}
	}
	return plays[c.Kind]
}

// CanPlay says whether the engine can play such a resource.
func (c Choice) CanPlay(kind ast.ResourceKind) bool { return slices.Contains(plays[c.Kind], kind) }

// ParseChoice reads an address (postgres://..) or the name of an engine.
func ParseChoice(text string) (Choice, error) {
	if k, ok := kindWords[text]; ok {
		return Choice{Kind: k}, nil
	}
	if !strings.Contains(text, "://") {
		return Choice{}, fmt.Errorf("expected an address such as postgres://user@host:5432/ or one of %s", strings.Join(sortedWords(), ", "))
	}
	kind, err := engines.KindOf(text)
	return Choice{Kind: kind, DSN: text}, err
}

func sortedWords() []string {
	var out []string
	for w := range kindWords {
		out = append(out, w)
	}
	slices.Sort(out)
	return out
}

// ParseReplica reads the replica of a kv on Redis: an address, or redis for one
// that is started here.
func ParseReplica(text string) (string, error) {
	if text == string(engines.Redis) {
		return text, nil
	}
	if !strings.HasPrefix(text, "redis://") {
		return "", errors.New("expected the address of an empty server, redis://host:6379, or redis for one that is started here")
	}
	_, err := engines.KindOf(text)
	return text, err
}

// ChoiceOf is what an entry of run: says. `$NAME` in an address is read from
// the environment; without a value the engine is started here.
func ChoiceOf(e *ast.Engine) (Choice, error) {
	k, ok := kindWords[e.Engine]
	if !ok {
		return Choice{}, fmt.Errorf("engine %q is not known, expected one of %s", e.Engine, strings.Join(sortedWords(), ", "))
	}
	if !(Choice{Kind: k}).CanPlay(e.Resource.Kind) {
		return Choice{}, fmt.Errorf("%s cannot play a %s", e.Engine, e.Resource.Kind)
	}
	c := Choice{Kind: k}
	if dsn := os.ExpandEnv(e.DSN); dsn != "" {
		var err error
		if c, err = ParseChoice(dsn); err != nil {
			return c, err
		}
	}
	l := &diag.List{}
	for _, o := range e.Extra {
		if o.Name != "replica" || k != engines.Redis {
			l.Errorf(o.Pos, "RP060", "%s has no option %q", e.Engine, o.Name)
			continue
		}
		var err error
		if c.Replica, err = ParseReplica(os.ExpandEnv(o.Text)); err != nil {
			l.Errorf(o.Pos, "RP060", "replica: %v", err)
		}
	}
	return c, l.Err()
}
