package reports

import (
	"fmt"
	"io"
	"strings"
)

func writeMarkdown(w io.Writer, r *Report) {
	if r.Title != "" {
		fmt.Fprintf(w, "# %s\n", mdText(r.Title))
	}
	for i, b := range r.Blocks {
		if i > 0 || r.Title != "" {
			fmt.Fprintln(w)
		}
		switch b := b.(type) {
		case Heading:
			fmt.Fprintf(w, "%s %s\n", strings.Repeat("#", max(2, b.Level)), mdText(b.Text))
		case Paragraph:
			fmt.Fprintln(w, mdText(b.Text))
		case List:
			for j, item := range b.Items {
				mark := "-"
				if b.Numbered {
					mark = fmt.Sprintf("%d.", j+1)
				}
				fmt.Fprintf(w, "%s %s\n", mark, mdText(item))
			}
		case Table:
			writeMarkdownTable(w, b)
		case Code:
			fence := "```"
			for strings.Contains(b.Text, fence) {
				fence += "`"
			}
			fmt.Fprintf(w, "%s%s\n%s\n%s\n", fence, b.Lang, strings.TrimRight(b.Text, "\n"), fence)
		case Figure:
			fmt.Fprintf(w, "*%s*\n", mdText(b.Caption))
		}
	}
}

func writeMarkdownTable(w io.Writer, t Table) {
	if t.Caption != "" {
		fmt.Fprintf(w, "%s\n\n", mdText(t.Caption))
	}
	row := func(cells []string) { fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | ")) }
	names, rules := make([]string, len(t.Columns)), make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i], rules[i] = mdCell(c.Name), "---"
		if c.Right {
			rules[i] = "---:"
		}
	}
	row(names)
	row(rules)
	for _, cells := range t.Rows {
		out := make([]string, len(cells))
		for i, c := range cells {
			out[i] = mdCell(c)
		}
		row(out)
	}
}

// mdText escapes what Markdown would read as markup, outside `code`.
func mdText(s string) string {
	parts := strings.Split(s, "`")
	for i := range parts {
		if i%2 == 0 || len(parts)%2 == 0 {
			parts[i] = mdEscaper.Replace(parts[i])
		}
	}
	if len(parts)%2 == 0 { // a lone backtick is text
		return strings.Join(parts, "\\`")
	}
	return strings.Join(parts, "`")
}

var mdEscaper = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "<", "&lt;", "[", `\[`, "]", `\]`)

func mdCell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", "<br>").Replace(mdText(s))
}
