package specs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/relplan/relplan/reports"
	"github.com/relplan/relplan/specs/ast"
)

// TestProse: every step of every variant is told with its line, a row trigger
// says that it claims nothing, and no type's raw form shows through.
func TestProse(t *testing.T) {
	for _, src := range corpus(t) {
		s, _ := Load("x.yaml", []byte(src))
		if s == nil {
			continue
		}
		for _, v := range s.Variants() {
			var b strings.Builder
			for _, x := range Prose(v) {
				switch x := x.(type) {
				case reports.Heading:
					b.WriteString(x.Text + "\n")
				case reports.Paragraph:
					b.WriteString(x.Text + "\n")
				case reports.List:
					b.WriteString(strings.Join(x.Items, "\n") + "\n")
				case reports.Code:
					b.WriteString(x.Text)
				}
			}
			text := b.String()
			for _, p := range v.Processes {
				for _, st := range p.All {
					if !strings.Contains(text, fmt.Sprintf("%4d  ", st.Pos.Line)) {
						t.Errorf("%s: line %d is not told", v.System, st.Pos.Line)
					}
				}
				if p.Trigger.Kind == ast.OnRow && !strings.Contains(text, "without claiming it") {
					t.Errorf("%s: a row trigger hides the race", v.System)
				}
			}
			for _, bad := range []string{"%!", "&{", "0x", "<nil>"} {
				if strings.Contains(text, bad) {
					t.Errorf("%s: %q in\n%s", v.System, bad, text)
				}
			}
		}
	}
}
