package diag

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Render writes each diagnostic with its source line, a marker below the place
// and the hint. src maps file names to their bytes; files that are missing are
// shown without their line.
func Render(w io.Writer, ds []Diagnostic, src map[string][]byte, color bool) {
	paint := func(code, s string) string {
		if !color {
			return s
		}
		return "\x1b[" + code + "m" + s + "\x1b[0m"
	}
	for _, d := range ds {
		head := d.String()
		switch d.Severity {
		case Error:
			head = paint("31;1", head)
		case Warning:
			head = paint("33;1", head)
		}
		fmt.Fprintln(w, head)
		if line, ok := sourceLine(src[d.Pos.File], d.Pos.Line); ok && d.Pos.Column > 0 {
			writeMarked(w, line, d.Pos, paint)
		}
		if d.Hint != "" {
			fmt.Fprintf(w, "  %s %s\n", paint("36", "hint:"), d.Hint)
		}
	}
}

func writeMarked(w io.Writer, line string, p Pos, paint func(code, s string) string) {
	num := strconv.Itoa(p.Line)
	line, col, end := window(line, p.Column, p.EndColumn)
	fmt.Fprintf(w, "   %s | %s\n", num, strings.ReplaceAll(line, "\t", " "))
	marks := strings.Repeat("^", max(1, end-col))
	fmt.Fprintf(w, "   %s | %s%s\n", strings.Repeat(" ", len(num)), strings.Repeat(" ", col-1), paint("31", marks))
}

// window cuts a very long line around the marked place.
func window(line string, col, end int) (string, int, int) {
	const width = 160
	r := []rune(line)
	end = min(max(end, col+1), len(r)+2)
	if len(r) <= width {
		return line, col, end
	}
	from := min(max(0, col-1-width/4), len(r))
	to := min(len(r), from+width)
	return string(r[from:to]), col - from, max(col-from+1, min(end-from, width+1))
}

func sourceLine(src []byte, n int) (string, bool) {
	if n <= 0 {
		return "", false
	}
	for ; n > 1; n-- {
		i := bytes.IndexByte(src, '\n')
		if i < 0 {
			return "", false
		}
		src = src[i+1:]
	}
	if i := bytes.IndexByte(src, '\n'); i >= 0 {
		src = src[:i]
	}
	src = bytes.TrimPrefix(bytes.TrimSuffix(src, []byte("\r")), []byte("\ufeff"))
	return string(src), len(src) > 0 && utf8.Valid(src)
}
