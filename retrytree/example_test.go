package retrytree_test

import (
	"fmt"
	"strings"

	"github.com/relplan/relplan/retrytree"
)

// Three polite settings, 2 x 3 x 2 attempts, hit the last service twelve times.
func ExampleGraph_Worst() {
	g, err := retrytree.Build([]retrytree.Node{
		{Name: "gateway", Calls: []retrytree.Call{retrytree.To("orders", 2)}},
		{Name: "orders", Calls: []retrytree.Call{retrytree.To("payments", 3)}},
		{Name: "payments", Calls: []retrytree.Call{retrytree.To("bank", 2)}},
	})
	if err != nil {
		panic(err)
	}
	w := g.Worst()
	fmt.Println(w.Nodes[w.Top].Attempts, "attempts:", strings.Join(w.Path(w.Top), " -> "))
	// Output: 12 attempts: gateway -> orders -> payments -> bank
}

// A circle has no worst case and is refused with its path.
func ExampleBuild_cycle() {
	_, err := retrytree.Build([]retrytree.Node{
		{Name: "orders", Calls: []retrytree.Call{retrytree.To("stock", 2)}},
		{Name: "stock", Calls: []retrytree.Call{retrytree.To("orders", 2)}},
	})
	fmt.Println(err)
	// Output: calls form a cycle: orders -> stock -> orders
}
