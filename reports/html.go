package reports

import (
	_ "embed"
	"html/template"
	"io"
	"strings"
)

//go:embed page.html
var pageHTML string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"inline": inlineHTML,
	"kind":   blockKind,
	"svg":    func(b []byte) template.HTML { return template.HTML(b) }, //nolint:gosec // drawn by this program
	"mark":   func(m Mark) string { return [...]string{"", "good", "bad", "unsure"}[m] },
	"level":  func(n int) int { return max(2, min(n, 4)) },
}).Parse(pageHTML))

// writeHTML writes one self-contained page: no script or style is loaded from
// elsewhere.
func writeHTML(w io.Writer, r *Report) error { return page.Execute(w, r) }

func blockKind(b Block) string {
	switch b.(type) {
	case Heading:
		return "heading"
	case Paragraph:
		return "paragraph"
	case List:
		return "list"
	case Table:
		return "table"
	case Code:
		return "code"
	default:
		return "figure"
	}
}

// inlineHTML escapes s and turns `x` into <code>x</code>.
func inlineHTML(s string) template.HTML {
	parts := strings.Split(s, "`")
	if len(parts)%2 == 0 {
		return template.HTML(template.HTMLEscapeString(s))
	}
	var b strings.Builder
	for i, p := range parts {
		if i%2 == 1 {
			b.WriteString("<code>" + template.HTMLEscapeString(p) + "</code>")
		} else {
			b.WriteString(template.HTMLEscapeString(p))
		}
	}
	return template.HTML(b.String())
}
