package pages

import (
	"fmt"
	"strings"

	"github.com/relplan/relplan/specs"
	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/library"
)

// index is the list of the patterns by question.
func index(all map[string]*specs.Spec) string {
	var b strings.Builder
	b.WriteString("# Patterns\n\n")
	b.WriteString(wrap("Protocols for systems that deliver at least once, each with the broken relatives that people really build. Every verdict on these pages comes from "+
		"the model checker, every history is the shortest one, and every broken variant names the one that repairs it. `relplan new NAME` starts a spec of your own from a pattern.") + "\n\n")
	b.WriteString("Made from the specs in [specs/library](../../specs/library), do not edit.\n")
	for _, g := range library.Groups {
		fmt.Fprintf(&b, "\n## %s\n\n| pattern | what it says | variants |\n| --- | --- | --- |\n", g.Question)
		for _, name := range g.Patterns {
			variants := all[name].Variants()
			breaks := 0
			for _, v := range variants {
				if v.Expect.Text != ast.Holds {
					breaks++
				}
			}
			fmt.Fprintf(&b, "| [%s](%s.md) | %s | %d, of them %d break |\n", Title(name), name, cell(all[name].About), len(variants), breaks)
		}
	}
	return b.String()
}
