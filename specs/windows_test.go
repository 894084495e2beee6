package specs

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/relplan/relplan/specs/ast"
)

func crashTable(t *testing.T, name string) *CrashTable {
	t.Helper()
	src, err := os.ReadFile("testdata/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, ds := Load(name, src)
	if s == nil {
		t.Fatal(ds)
	}
	c, err := s.Windows(context.Background(), nil, CheckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCrashTable: the tables that one draws by hand.
func TestCrashTable(t *testing.T) {
	for _, c := range []struct {
		file   string
		want   []string // event after: promises broken, of the rows that break one
		rows   int
		reason string
	}{
		{"a-inbox-same-transaction", nil, 6, "no single crash or lost answer hurts an inbox"},
		{"b-setnx-before-write", []string{"answer_lost puts transfer 1 into seen: p2 p3", "crash puts transfer 1 into seen: p2 p3"}, 6, "the mark says done before it is"},
		{"c-write-before-setnx", []string{"answer_lost inserts into ledger (op: transfer 1): p1", "crash inserts into ledger (op: transfer 1): p1"}, 8, "the effect is done before the mark says so"},
	} {
		table := crashTable(t, c.file)
		if len(table.Rows) != c.rows {
			t.Errorf("%s: %d rows, want %d", c.file, len(table.Rows), c.rows)
		}
		var got []string
		for _, r := range table.Rows {
			if b := r.Broken(); len(b) > 0 {
				got = append(got, fmt.Sprintf("%s %s: %s", r.Event, r.AfterStep, strings.Join(b, " ")))
			}
			if r.Line == 0 || r.Process == "" {
				t.Errorf("%s: row %+v", c.file, r)
			}
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s (%s):\n got %q\nwant %q", c.file, c.reason, got, c.want)
		}
	}
}

// TestWindowsAgreeWithCheck: a promise that one crash breaks somewhere is a
// promise that the check with a budget of one crash breaks, and the other way
// round, for every spec and report without variants' own budgets.
func TestWindowsAgreeWithCheck(t *testing.T) {
	budgets := map[string]int{}
	for _, f := range FaultNames() {
		budgets[f] = 0
	}
	budgets["crash"] = 1
	compared := 0
	for _, src := range corpus(t)[:12] {
		s, _ := LoadWith("x.yaml", []byte(src), Options{Faults: budgets})
		if s == nil {
			continue
		}
		table, err := s.Windows(context.Background(), nil, CheckOptions{})
		if err != nil {
			t.Fatal(err)
		}
		v, err := s.Check(context.Background(), CheckOptions{NoHistories: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range v.Variants[0].Promises {
			somewhere := false
			for _, r := range table.Rows {
				// a crash may leave a request in flight, which then arrives late
				somewhere = somewhere || (r.Event == "crash" || r.Event == "late") && contains(r.Broken(), p.Name)
			}
			if somewhere != (p.Verdict == ast.Broken) {
				t.Errorf("%s %s: windows %v, check %s", s.System, p.Name, somewhere, p.Verdict)
			}
			compared++
		}
	}
	if compared < 30 {
		t.Errorf("%d promises compared", compared)
	}
}

// TestWindowsUnderLimits: a limit gives the rows so far, says so and is never
// taken for an answer.
func TestWindowsUnderLimits(t *testing.T) {
	src, err := os.ReadFile("testdata/b-setnx-before-write.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, _ := Load("b", src)
	stopped, stop := context.WithCancel(context.Background())
	stop()
	late, cancel := context.WithTimeout(context.Background(), 0)
	defer cancel()
	for _, c := range []struct {
		ctx   context.Context
		o     CheckOptions
		limit string
	}{
		{stopped, CheckOptions{}, "interrupted"},
		{late, CheckOptions{}, "time limit"},
		{context.Background(), CheckOptions{MemoryLimit: 1}, "memory limit of 1 bytes"},
	} {
		table, err := s.Windows(c.ctx, nil, c.o)
		if err != nil {
			t.Fatalf("%s: %v", c.limit, err)
		}
		if table.Complete || !reflect.DeepEqual(table.Limits, []string{c.limit}) || table.Exit() != 4 {
			t.Errorf("%s: complete %v, limits %q, exit %d", c.limit, table.Complete, table.Limits, table.Exit())
		}
		claim := fmt.Sprint(table.Blocks()[1])
		if !strings.Contains(claim, "unknown") || !strings.Contains(claim, "not complete") || !strings.Contains(claim, c.limit) {
			t.Errorf("%s: text %s", c.limit, claim)
		}
	}
	table := crashTable(t, "b-setnx-before-write")
	if !table.Complete || len(table.Limits) > 0 || table.Exit() != 1 {
		t.Errorf("without a limit: complete %v, limits %q, exit %d", table.Complete, table.Limits, table.Exit())
	}
	table.Complete, table.Limits = false, []string{"interrupted"}
	if table.Exit() != 1 {
		t.Errorf("a row breaks a promise, limit or not: exit %d", table.Exit())
	}
}
