package replay

import (
	"testing"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/specs"
	"github.com/relplan/relplan/specs/ast"
	"pgregory.net/rapid"
)

func drawValue(depth int) *rapid.Generator[Value] {
	return rapid.Custom(func(t *rapid.T) Value {
		kinds := 4
		if depth > 0 {
			kinds = 5
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return nil
		case 1:
			return rapid.Bool().Draw(t, "bool")
		case 2:
			return rapid.Int64().Draw(t, "int")
		case 3:
			return rapid.String().Draw(t, "text")
		}
		rec := Record{}
		for range rapid.IntRange(0, 3).Draw(t, "fields") {
			if v := drawValue(depth-1).Draw(t, "value"); v != nil {
				rec[rapid.String().Draw(t, "name")] = v
			}
		}
		return rec
	})
}

// TestStoredValuesComeBack: encode and decode are inverse, and two values are
// equal iff their stored forms are.
func TestStoredValuesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawValue(2).Draw(t, "v")
		back, err := decode(encode(v))
		if err != nil || !equal(v, back) || encode(back) != encode(v) {
			t.Fatalf("%v stored as %q came back as %v, %v", v, encode(v), back, err)
		}
	})
	for _, bad := range []string{"", "s9:x", "{", "i", "b", "s1:ab", "{1:a=-"} {
		if _, err := decode(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// TestCompareAndSetInEveryDialect writes the claim of an outbox row.
func TestCompareAndSetInEveryDialect(t *testing.T) {
	s, ds := specs.Load("claim.yaml", []byte(`
relplan: v1
system: claim
operations: {order: 1}
resources:
  shop: {kind: sql, tables: {outbox: {unique: [op], columns: {token: 0 .. 4}}}}
initially:
  outbox: [{op: each order, state: NEW, token: 0}]
processes:
  relay:
    on: {row: outbox, where: {state: NEW}, as: r}
    steps:
      - update: outbox
        where: {op: r.op, state: NEW, token: r.token}
        set: {state: CLAIMED, token: token + 1}
        effect: {claims: r.op}
promises:
  once: effect claims happens at most once per order
`))
	if s == nil {
		t.Fatal(ds)
	}
	tree := s.Variants()[0]
	p := tree.Processes[0]
	step := p.Steps[0]
	sc := &scope{vars: map[*ast.Var]Value{p.Trigger.As: Record{"op": "order-1", "token": int64(0)}}, world: &world{}}
	for kind, want := range map[engines.Kind]string{
		engines.Postgres: `update "outbox" set "state" = $1::varchar, "token" = ("token" + $2::bigint) where `,
		engines.MySQL:    "update `outbox` set `state` = ?, `token` = (`token` + ?) where ",
		engines.SQLite:   `update "outbox" set "state" = ?, "token" = ("token" + ?) where `,
	} {
		st, err := dialect{kind}.update(sc, step.Table, step.Row, step.Where)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if len(st.text) < len(want) || st.text[:len(want)] != want || len(st.args) != 5 {
			t.Errorf("%s: %s with %v", kind, st.text, st.args)
		}
	}
}
