package incidents_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/relplan/relplan/specs"
)

// TestPage holds the table of docs/incidents.md to the specs. UPDATE_GOLDEN=1
// writes it.
func TestPage(t *testing.T) {
	const file, begin, end = "../../docs/incidents.md", "<!-- incidents: made by the test of specs/incidents, do not edit -->\n", "<!-- end of incidents -->"
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok1 := strings.Cut(string(raw), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatal("the marks of the table are missing")
	}
	golden(t, file, head+begin+table(load(t))+end+tail)
}

// table has one row an incident.
func table(all []checked) string {
	var b strings.Builder
	b.WriteString("\n| report | system | outcome | what happened | what breaks, with which faults, in how many steps | the fix | variants that hold |\n" +
		"| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, in := range all {
		fmt.Fprintf(&b, "| [%d](%s), [spec](../specs/incidents/%s.yaml) | %s | %s | %s | %s | %s | %s |\n", in.Number, in.Refs[0], in.Name, in.System,
			strings.Join(in.Outcomes, ", "), cell(in.What), breaks(in.verdict), cell(in.Fix), holding(in.verdict))
	}
	return b.String() + "\n"
}

// breaks tells of each broken variant which promises break.
func breaks(v *specs.Verdict) string {
	var out []string
	for _, x := range v.Variants {
		var of []string
		for _, p := range x.Promises {
			if p.Verdict == "broken" {
				of = append(of, fmt.Sprintf("%s (%s; %d steps)", cell(p.Text), spent(p), len(p.History)))
			}
		}
		if of != nil {
			out = append(out, "`"+x.Name()+"`: "+strings.Join(of, ", "))
		}
	}
	return strings.Join(out, "<br>")
}

func holding(v *specs.Verdict) string {
	var out []string
	for _, x := range v.Variants {
		if x.Verdict == "holds" {
			out = append(out, "`"+x.Name()+"`")
		}
	}
	if out == nil {
		return "none"
	}
	return strings.Join(out, ", ")
}

// cell keeps a text inside its cell.
func cell(s string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ", "<", "&lt;").Replace(s)
}
