package specs

import (
	"strings"
	"testing"

	"github.com/relplan/relplan/specs/ast"
)

// TestAnyField: every spelling of a free choice, also the one that YAML itself
// cannot hold inside { }.
func TestAnyField(t *testing.T) {
	base := "relplan: v1\nsystem: x\noperations:\n  req: OP\nprocesses:\n  p:\n    on: {start: req, as: q}\n    steps:\n      - let: {a: q.amount}\npromises:\n  - every req eventually ends\n"
	for _, c := range []struct{ op, reason string }{
		{"{count: 2, amount: {any: [10, 20]}}", "in flow style"},
		{"{count: 2, key: same, n: [1, 2], amount: any [10, 20]}", "as the manual writes it"},
		{"\n    count: 2\n    amount: any [10, 20]", "in block style"},
	} {
		s, ds := Load("x.yaml", []byte(strings.Replace(base, "OP", c.op, 1)))
		if s == nil {
			t.Errorf("%s: %v", c.reason, ds)
			continue
		}
		f := s.Variants()[0].Operations[0].Field("amount")
		if f.Kind != ast.FieldAny || len(f.Values) != 2 || f.Values[1].Int != 20 || f.Type.String() != "10 .. 20" {
			t.Errorf("%s: %+v %s", c.reason, f, f.Type)
		}
	}
}
