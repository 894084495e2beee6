package reports

import (
	"fmt"
	"io"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

var ansi = map[Mark]string{Good: "32", Bad: "31", Unsure: "33"}

func paint(s string, codes string, on bool) string {
	if !on || codes == "" || s == "" {
		return s
	}
	return "\x1b[" + codes + "m" + s + "\x1b[0m"
}

func writeText(w io.Writer, r *Report, o Options) {
	if r.Title != "" {
		fmt.Fprintln(w, paint(r.Title, "1", o.Color))
	}
	for i, b := range r.Blocks {
		if i > 0 || r.Title != "" {
			fmt.Fprintln(w)
		}
		switch b := b.(type) {
		case Heading:
			writeTextHeading(w, b, o)
		case Paragraph:
			fmt.Fprintln(w, paint(wrap(plain(b.Text), "", o.Width), ansi[b.Mark], o.Color))
		case List:
			writeTextList(w, b, o)
		case Table:
			writeTextTable(w, b, o)
		case Code:
			for _, line := range strings.Split(strings.TrimRight(b.Text, "\n"), "\n") {
				fmt.Fprintln(w, strings.TrimRight("    "+line, " "))
			}
		case Figure:
			fmt.Fprintf(w, "[figure: %s]\n", plain(b.Caption))
		}
	}
}

func writeTextHeading(w io.Writer, h Heading, o Options) {
	text := plain(h.Text)
	code := "1"
	if c := ansi[h.Mark]; c != "" {
		code += ";" + c
	}
	fmt.Fprintln(w, paint(text, code, o.Color))
	if h.Level <= 2 {
		fmt.Fprintln(w, strings.Repeat("-", len([]rune(text))))
	}
}

func writeTextList(w io.Writer, l List, o Options) {
	for i, item := range l.Items {
		mark := "- "
		if l.Numbered {
			mark = fmt.Sprintf("%*d. ", len(fmt.Sprint(len(l.Items))), i+1)
		}
		fmt.Fprintln(w, wrap(mark+plain(item), strings.Repeat(" ", len(mark)), o.Width))
	}
}

func writeTextTable(w io.Writer, t Table, o Options) {
	if t.Caption != "" {
		fmt.Fprintln(w, paint(plain(t.Caption), "2", o.Color))
	}
	off := tw.Off
	var b strings.Builder
	tbl := tablewriter.NewTable(&b,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders:  tw.BorderNone,
			Settings: tw.Settings{Separators: tw.Separators{BetweenColumns: off, BetweenRows: off}, Lines: tw.Lines{ShowHeaderLine: off}},
		})),
		tablewriter.WithHeaderAutoFormat(off),
		tablewriter.WithTrimSpace(off),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithAlignment(alignments(t)),
		tablewriter.WithHeaderAlignmentConfig(tw.CellAlignment{PerColumn: alignments(t)}),
		tablewriter.WithPadding(tw.Padding{Left: "", Right: "  ", Overwrite: true}),
	)
	header := make([]any, len(t.Columns))
	for i, c := range t.Columns {
		header[i] = paint(plain(c.Name), "2", o.Color)
	}
	tbl.Header(header...)
	for _, row := range t.Rows {
		cells := make([]any, len(row))
		for i, c := range row {
			cells[i] = plain(c)
		}
		_ = tbl.Append(cells...)
	}
	if err := tbl.Render(); err != nil {
		fmt.Fprintln(w, err)
		return
	}
	for _, line := range strings.Split(strings.TrimRight(b.String(), "\n"), "\n") {
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}

func alignments(t Table) tw.Alignment {
	a := make(tw.Alignment, len(t.Columns))
	for i, c := range t.Columns {
		a[i] = tw.AlignLeft
		if c.Right {
			a[i] = tw.AlignRight
		}
	}
	return a
}

// plain drops the backticks that mark code.
func plain(s string) string { return strings.ReplaceAll(s, "`", "") }

// wrap breaks text at spaces to fit width columns; following lines get indent.
func wrap(text, indent string, width int) string {
	if width <= 0 {
		return text
	}
	width = max(width, 40)
	var b strings.Builder
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		col := 0
		for j, word := range strings.Split(line, " ") {
			n := len([]rune(word))
			switch {
			case j == 0:
			case col+1+n > width:
				b.WriteString("\n" + indent)
				col = len(indent)
			default:
				b.WriteByte(' ')
				col++
			}
			b.WriteString(word)
			col += n
		}
	}
	return b.String()
}
