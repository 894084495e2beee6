package lower_test

import (
	"context"
	"fmt"
	"os"

	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/specs"
	"github.com/relplan/relplan/specs/lower"
)

func ExampleCheck() {
	file := "../testdata/b-setnx-before-write.yaml"
	src, _ := os.ReadFile(file)
	s, _ := specs.Load(file, src)
	o, err := lower.Check(context.Background(), s.Variants()[0], modelcheck.Options{Workers: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range o.Answers() {
		fmt.Println(a.Verdict, "-", a.Promise.Text)
		if a.History != nil {
			last := a.History.Steps[len(a.History.Steps)-1]
			fmt.Printf("  %d steps, the last: %s %s\n", last.N, last.Actor, last.Text)
		}
	}
	// Output:
	// holds - effect moves_money happens at most once per transfer
	// broken - no message of transfers is acked before effect moves_money
	//   6 steps, the last: consumer 1 acks the message
	// broken - every transfer eventually has effect moves_money
	//   6 steps, the last: consumer 1 acks the message
}

func ExampleWindows() {
	file := "../testdata/c-write-before-setnx.yaml"
	src, _ := os.ReadFile(file)
	s, _ := specs.Load(file, src)
	rows, _, err := lower.Windows(context.Background(), s.Variants()[0], modelcheck.Options{Workers: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, w := range rows {
		if w.Broken() {
			fmt.Printf("line %d, %s: %s\n", w.Line, w.Event, w.After)
		}
	}
	// Output:
	// line 22, answer_lost: inserts into ledger (op: transfer 1) (done, answer lost)
	// line 25, crash: inserts into ledger (op: transfer 1)
}
