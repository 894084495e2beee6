// Package diag holds messages about the user's input: each has a position, says
// what was found and what was expected, and all of them are reported at once.
package diag

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Severity of a diagnostic. The zero value is Error: what nobody classified
// must not pass.
type Severity uint8

// Severities, from worst to mildest.
const (
	Error Severity = iota
	Warning
	Info
)

// String gives "error", "warning" or "info", as JSON and SARIF spell them.
func (s Severity) String() string {
	switch s {
	case Warning:
		return "warning"
	case Info:
		return "info"
	default:
		return "error"
	}
}

// Pos is a place in an input file. Line and Column start at 1, columns count
// characters; EndColumn is exclusive. Zero means unknown.
type Pos struct {
	File      string
	Line      int
	Column    int
	EndColumn int
}

// String gives file:line:column, leaving out what is unknown.
func (p Pos) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	default:
		return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
}

// Diagnostic is one message. Message is lower case without a final period;
// Found, Expected and Hint may be empty.
type Diagnostic struct {
	Code     string // stable identifier such as RP031, explained by `relplan help CODE`
	Severity Severity
	Pos      Pos
	Message  string
	Found    string
	Expected string
	Hint     string
}

// String gives the one-line form `file:line:column: message  [code]`.
func (d Diagnostic) String() string {
	var b strings.Builder
	if p := d.Pos.String(); p != "" {
		b.WriteString(p + ": ")
	}
	if d.Severity != Error {
		b.WriteString(d.Severity.String() + ": ")
	}
	b.WriteString(d.Text())
	if d.Code != "" {
		b.WriteString("  [" + d.Code + "]")
	}
	return b.String()
}

// Text gives the message with what was expected and found, unless the message
// says so itself.
func (d Diagnostic) Text() string {
	t := d.Message
	if d.Expected != "" && !strings.Contains(t, d.Expected) {
		t = join(t, "expected "+d.Expected)
	}
	if d.Found != "" && !strings.Contains(t, d.Found) {
		t = join(t, "found "+d.Found)
	}
	return t
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + ", " + b
}

// List collects diagnostics. The zero value is ready to use.
type List struct {
	all []Diagnostic
}

// Add appends d.
func (l *List) Add(d Diagnostic) { l.all = append(l.all, d) }

// Errorf adds an error.
func (l *List) Errorf(p Pos, code, format string, args ...any) {
	l.Add(Diagnostic{Code: code, Pos: p, Message: fmt.Sprintf(format, args...)})
}

// Warnf adds a warning.
func (l *List) Warnf(p Pos, code, format string, args ...any) {
	l.Add(Diagnostic{Code: code, Severity: Warning, Pos: p, Message: fmt.Sprintf(format, args...)})
}

// Len is the number of diagnostics added.
func (l *List) Len() int { return len(l.all) }

// HasErrors tells whether any diagnostic has severity Error.
func (l *List) HasErrors() bool {
	return slices.ContainsFunc(l.all, func(d Diagnostic) bool { return d.Severity == Error })
}

// Sorted gives the diagnostics by file, line and column, each once.
func (l *List) Sorted() []Diagnostic {
	s := slices.Clone(l.all)
	slices.SortStableFunc(s, func(a, b Diagnostic) int {
		return cmp.Or(
			cmp.Compare(a.Pos.File, b.Pos.File),
			cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Column, b.Pos.Column),
			cmp.Compare(a.Severity, b.Severity),
		)
	})
	return slices.Compact(s)
}

// Err gives nil without errors, otherwise an *Err with the sorted diagnostics,
// warnings included.
func (l *List) Err() error {
	if !l.HasErrors() {
		return nil
	}
	return &Err{Diagnostics: l.Sorted()}
}

// Err is bad input, reported as a whole.
type Err struct {
	Diagnostics []Diagnostic
}

// Error gives one line per diagnostic.
func (e *Err) Error() string {
	lines := make([]string, len(e.Diagnostics))
	for i, d := range e.Diagnostics {
		lines[i] = d.String()
	}
	return strings.Join(lines, "\n")
}

// New makes an error of a single diagnostic without a code.
func New(p Pos, format string, args ...any) error {
	return &Err{Diagnostics: []Diagnostic{{Pos: p, Message: fmt.Sprintf(format, args...)}}}
}

// AddErr adds err: the diagnostics of an *Err, or a message at p.
func (l *List) AddErr(p Pos, code string, err error) {
	if err == nil {
		return
	}
	var e *Err
	if errors.As(err, &e) {
		l.all = append(l.all, e.Diagnostics...)
		return
	}
	l.Errorf(p, code, "%s", err)
}
