package specs_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/relplan/relplan/specs"
	"github.com/relplan/relplan/specs/ast"
)

func inbox() *specs.Model {
	m := specs.New("inbox-same-transaction")
	shop := m.SQL("shop", specs.ReadCommitted).Table("inbox", specs.Unique("msg_id")).Table("ledger")
	q := m.Queue("transfers", specs.AtLeastOnce).OnePer("transfer")
	m.Process("consumer", 2, q, func(p *specs.Proc, msg specs.Msg) {
		p.Tx(shop, func(tx *specs.Tx) {
			tx.Insert("inbox", specs.Row{"msg_id": msg.ID}).IfExists(p.Goto("acknowledge"))
			tx.Insert("ledger", specs.Row{"op": msg.Op}).Effect("moves_money", msg.Op)
		})
		p.At("acknowledge").Ack(msg)
	})
	m.Faults(map[string]int{"crash": 1, "redelivery": 1, "response_lost": 1})
	m.Promise("once", "effect moves_money happens at most once per transfer")
	m.Promise("after", "no message of transfers is acked before effect moves_money")
	m.Promise("done", "every transfer eventually has effect moves_money")
	m.MustBePossible("a message of transfers is delivered twice")
	return m
}

func ExampleNew() {
	m := specs.New("inbox")
	shop := m.SQL("shop", specs.ReadCommitted).Table("inbox", specs.Unique("msg_id")).Table("ledger")
	q := m.Queue("transfers", specs.AtLeastOnce).OnePer("transfer")
	m.Process("consumer", 2, q, func(p *specs.Proc, msg specs.Msg) {
		p.Tx(shop, func(tx *specs.Tx) {
			tx.Insert("inbox", specs.Row{"msg_id": msg.ID}).IfExists(p.Goto("acknowledge"))
			tx.Insert("ledger", specs.Row{"op": msg.Op}).Effect("moves_money", msg.Op)
		})
		p.At("acknowledge").Ack(msg)
	})
	m.Faults(map[string]int{"crash": 1, "redelivery": 1})
	m.Promise("once", "effect moves_money happens at most once per transfer")

	spec, problems := m.Load()
	if spec == nil {
		fmt.Println(problems)
		return
	}
	v, err := spec.Check(context.Background(), specs.CheckOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(v.Summary())
	// Output: holds
}

// TestBuilderGivesTheSameTree: built and read, the first spec has the same
// state space and the same verdicts.
func TestBuilderGivesTheSameTree(t *testing.T) {
	built, ds := inbox().Load()
	if built == nil {
		t.Fatalf("%v\n%s", ds, inbox().YAML())
	}
	src, err := os.ReadFile("testdata/a-inbox-same-transaction.yaml")
	if err != nil {
		t.Fatal(err)
	}
	read, _ := specs.Load("a.yaml", src)
	a, err := built.Check(context.Background(), specs.CheckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := read.Check(context.Background(), specs.CheckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	x, y := a.Variants[0], b.Variants[0]
	if x.States != y.States || x.Transitions != y.Transitions || x.Verdict != y.Verdict || x.Verdict != ast.Holds {
		t.Errorf("built: %s, %d states; read: %s, %d states", x.Verdict, x.States, y.Verdict, y.States)
	}
}

// TestBuilderText: what is written is in the standard layout.
func TestBuilderText(t *testing.T) {
	text := inbox().YAML()
	out, ds := specs.Format("x.yaml", []byte(text), specs.FormatOptions{})
	if ds != nil || string(out) != text {
		t.Errorf("not in the standard layout: %v\n%s\n---\n%s", ds, text, out)
	}
}

// TestBuilderErrorsPointAtGo: a slip is reported at the line that made it.
func TestBuilderErrorsPointAtGo(t *testing.T) {
	m := specs.New("slip")
	db := m.SQL("db", specs.ReadCommitted).Table("ledger", specs.Unique("op"))
	q := m.Queue("jobs", specs.AtLeastOnce).OnePer("job")
	m.Process("worker", 1, q, func(p *specs.Proc, msg specs.Msg) {
		p.Tx(db, func(tx *specs.Tx) {
			tx.Insert("legder", specs.Row{"op": msg.Op}) // the slip
		})
		p.Ack(msg)
	})
	m.Promise("ends", "every job eventually ends")
	spec, ds := m.Load()
	if spec != nil || len(ds) != 1 {
		t.Fatalf("spec %v, %v", spec, ds)
	}
	src, err := os.ReadFile("builder_test.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(src), "\n")
	if !strings.HasSuffix(ds[0].Pos.File, "builder_test.go") || !strings.Contains(lines[ds[0].Pos.Line-1], "// the slip") {
		t.Errorf("reported at %s", ds[0].Pos)
	}
}

// TestBuilderVerbs records one step of every kind and loads it.
func TestBuilderVerbs(t *testing.T) {
	m := specs.New("all").About("every method: once")
	m.Operation("job", 2, "key: same", "n: 1, 2", "who: distinct")
	db := m.SQL("db", specs.RepeatableRead).Table("rows", specs.Unique("op"), specs.Unique("n", "key"),
		specs.Lease(specs.Row{"state": "HELD"}, "holder", "30s", specs.Row{"state": "FREE"}))
	kv := m.KV("cache")
	out := m.Queue("out", specs.AtLeastOnce)
	bank := m.Provider("bank").Method("charge", specs.Row{"effect": "pays", "dedup_by": "key"}).Set("can_arrive_late", true)
	m.Process("worker", 2, specs.OnStart("job", true), func(p *specs.Proc, msg specs.Msg) {
		p.LetRange("n", 0, 3)
		p.Let(specs.Row{"k": "hash(m.op, m.key)"})
		p.Put(kv, "k", specs.Row{"state": "DONE"}).IfAbsent().TTL("30s").IfExists(specs.Continue)
		p.Get(kv, "k", "v")
		p.Go("skip").When("v == none")
		p.Script(kv, func(tx *specs.Tx) { tx.Remove(kv, "k") })
		p.At("skip").Tx(db, func(tx *specs.Tx) {
			tx.Insert("rows", specs.Row{"op": "m", "state": "HELD", "holder": "me", "n": "m.n", "key": nil}).IfExists(specs.Continue)
			tx.Update("rows", specs.Row{"state": "'held'"}).Where("op == m").IfNone(p.Commit("after"))
			tx.Select("rows", "r").Where("op == m").Set("lock", true)
		}).OnError(specs.Retry(2))
		p.At("after").Call(bank, "charge", specs.Row{"key": "m", "op": "m"}).As("receipt").OnUnknown(specs.AskHuman).OnRefused(specs.Stop)
		p.Send(out, specs.Row{"op": "m"}).Effect("tells", "m.op")
		p.Delete("rows").Where("op == m").IfNone(specs.Stop)
		p.Step("lock", "db").Set("key", "k").Set("try", true).IfHeld(specs.Stop)
		p.AskHuman("m")
		p.Stop()
	})
	m.Process("reader", 1, out, func(p *specs.Proc, msg specs.Msg) {
		p.Go("end").When("m.op == none")
		p.Ack(msg).Undo("tells", msg.Op)
	})
	m.Process("web", 1, specs.OnRequest("ask"), func(p *specs.Proc, msg specs.Msg) { p.Reply("ok") })
	m.Process("sweep", 1, specs.OnRow("rows", "state == FREE"), func(p *specs.Proc, msg specs.Msg) { p.Stop() })
	m.Process("poll", 1, specs.OnPoll(), func(p *specs.Proc, msg specs.Msg) { p.Stop() })
	m.Process("storm", 1, specs.OnFault("storm"), func(p *specs.Proc, msg specs.Msg) { p.Stop() })
	m.Faults(map[string]int{"storm": 1, "late_request": 1}).Fault("restart", specs.Row{"of": "cache", "loses": "memory", "max": 1})
	m.Assume("ttl of cache outlives its holder")
	m.Initially("cache", specs.Row{"key": "'k'", "value": 1})
	m.Promise("once", "effect pays happens at most once per job").Expect()
	spec, ds := m.Load()
	if spec == nil {
		t.Fatalf("%v\n%s", ds, m.YAML())
	}
	if n := len(spec.Variants()[0].Processes[0].All); n != 17 {
		t.Errorf("%d steps", n)
	}
}
