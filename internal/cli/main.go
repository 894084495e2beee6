// Package cli is the command line: one file a verb, each with its options, its
// constructor and its run function.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/reports"
)

// Streams are the outside world of a run, injected so that tests can replace it.
type Streams struct {
	In          io.Reader
	Out, Err    io.Writer
	OutTerminal bool // colours on standard output
	ErrTerminal bool // progress on standard error
	Width       int  // columns of the terminal, 0 when unknown
	Now         func() time.Time
	Env         func(string) string
}

// Standard gives the streams of the process.
func Standard() Streams {
	s := Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Now: time.Now, Env: os.Getenv}
	s.OutTerminal = term.IsTerminal(int(os.Stdout.Fd()))
	s.ErrTerminal = term.IsTerminal(int(os.Stderr.Fd()))
	if w, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil && s.OutTerminal {
		s.Width = w
	}
	return s
}

// Main runs the command line and gives the exit code. It never panics.
func Main(args []string, s Streams) (code int) {
	f := &factory{Streams: s, sources: map[string][]byte{}}
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(s.Err, "relplan: internal error: %v\nplease report this with the command and its input\n", r)
			if s.Env("RELPLAN_TRACE") != "" {
				panic(r)
			}
			code = exitInternal
		}
	}()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := newRoot(f)
	root.SetArgs(args)
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	err := root.ExecuteContext(ctx)
	if err != nil && !root.PersistentFlags().Changed("output") {
		f.format = formatOf(args) // the flags may not have been parsed yet
	}
	return f.report(err)
}

// formatOf finds -o FORMAT among arguments that could not be parsed.
func formatOf(args []string) string {
	for i, a := range args {
		for _, flag := range []string{"-o", "--output"} {
			if a == flag && i+1 < len(args) {
				return args[i+1]
			}
			if v, ok := strings.CutPrefix(a, flag+"="); ok {
				return v
			}
		}
		if a == "-ojson" {
			return "json"
		}
	}
	return "text"
}

// usageError is a mistake on the command line itself.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// report says what went wrong and gives the exit code.
func (f *factory) report(err error) int {
	var done exitError
	var bad *diag.Err
	var usage usageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &done):
		return int(done)
	case errors.As(err, &bad):
		f.printInputErrors(bad)
		return exitUsage
	case errors.As(err, &usage), isCobraUsage(err):
		f.printInputErrors(&diag.Err{Diagnostics: []diag.Diagnostic{{Code: "USAGE", Message: firstLower(err.Error()), Hint: "see `relplan --help` and `relplan VERB --help`"}}})
		return exitUsage
	default:
		fmt.Fprintf(f.Err, "relplan: %v\n", err)
		return exitInternal
	}
}

// isCobraUsage recognises cobra's own complaints, which have no type.
func isCobraUsage(err error) bool {
	for _, prefix := range []string{"unknown command", "unknown flag", "unknown shorthand", "flag needs an argument", "invalid argument",
		"accepts ", "requires ", "required flag", "if any flags", "bad flag syntax", "no such flag"} {
		if strings.HasPrefix(err.Error(), prefix) {
			return true
		}
	}
	return false
}

func firstLower(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// errorDocument is the JSON form of bad input.
type errorDocument struct {
	Schema string      `json:"schema"`
	Errors []errorJSON `json:"errors"`
}

type errorJSON struct {
	Code      string `json:"code"`
	Severity  string `json:"severity"`
	File      string `json:"file"`
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	EndColumn int    `json:"end_column"`
	Message   string `json:"message"`
	Found     string `json:"found"`
	Expected  string `json:"expected"`
	Hint      string `json:"hint"`
}

// printInputErrors writes all errors: as a document on standard output with
// -o json, else with their source lines on standard error.
func (f *factory) printInputErrors(e *diag.Err) {
	if f.format != "json" {
		diag.Render(f.Err, e.Diagnostics, f.sources, f.colourErr())
		return
	}
	doc := errorDocument{Schema: "relplan.dev/error/v1", Errors: []errorJSON{}}
	for _, d := range e.Diagnostics {
		doc.Errors = append(doc.Errors, errorJSON{
			Code: d.Code, Severity: d.Severity.String(), File: d.Pos.File, Line: d.Pos.Line, Column: d.Pos.Column, EndColumn: d.Pos.EndColumn,
			Message: d.Text(), Found: d.Found, Expected: d.Expected, Hint: d.Hint,
		})
	}
	_ = reports.Write(f.Out, "json", &reports.Report{Data: doc}, reports.Options{})
}
