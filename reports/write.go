package reports

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Options of the writers.
type Options struct {
	Color   bool   // ANSI colours in text
	Width   int    // columns of the terminal; 0 does not wrap
	Version string // of the tool, for SARIF
}

// Formats lists the format names in the order of the manual.
var Formats = []string{"text", "json", "markdown", "csv", "html", "sarif", "junit"}

// Write writes r in the named format. It returns an error for an unknown
// format, for CSV without a table, and where w fails.
func Write(w io.Writer, format string, r *Report, o Options) error {
	var b bytes.Buffer
	var err error
	switch format {
	case "text":
		writeText(&b, r, o)
	case "json":
		err = writeJSON(&b, r.Data)
	case "markdown":
		writeMarkdown(&b, r)
	case "csv":
		err = writeCSV(&b, r)
	case "html":
		err = writeHTML(&b, r)
	case "sarif":
		err = writeSARIF(&b, r, o)
	case "junit":
		err = writeJUnit(&b, r)
	default:
		err = fmt.Errorf("unknown format %q, expected one of %s", format, strings.Join(Formats, ", "))
	}
	if err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

func writeJSON(w io.Writer, data any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(data)
}

// writeCSV writes the tables one below the other, each with a header; an empty
// line separates them.
func writeCSV(w io.Writer, r *Report) error {
	tables := slices.DeleteFunc(slices.Clone(r.Blocks), func(b Block) bool { _, ok := b.(Table); return !ok })
	if len(tables) == 0 {
		return fmt.Errorf("this result has no table: use -o text, json or markdown")
	}
	for i, b := range tables {
		if i > 0 {
			fmt.Fprintln(w)
		}
		t := b.(Table)
		cw := csv.NewWriter(w)
		header := make([]string, len(t.Columns))
		for j, c := range t.Columns {
			header[j] = c.Name
		}
		for _, row := range append([][]string{header}, t.Rows...) {
			cells := make([]string, len(row))
			for j, c := range row {
				cells[j] = strings.ReplaceAll(c, "`", "")
			}
			if err := cw.Write(cells); err != nil {
				return err
			}
		}
		cw.Flush()
		if err := cw.Error(); err != nil {
			return err
		}
	}
	return nil
}
