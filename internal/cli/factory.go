package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/quantity"
	"github.com/relplan/relplan/reports"
)

// factory carries the streams and the common flags to every verb.
type factory struct {
	Streams
	format      string
	outFile     string
	colour      string
	quiet       bool
	noProgress  bool
	timing      bool
	limitTime   durationFlag
	limitMemory bytesFlag
	sources     map[string][]byte // what was read, to show lines of it in errors
}

const maxInput = 64 << 20 // bytes of one input file

// ReadInput reads a file, or standard input for "-" (named <stdin>), and keeps
// it for error messages.
func (f *factory) ReadInput(path string) (name string, src []byte, err error) {
	name = path
	if path == "-" {
		name = "<stdin>"
		src, err = io.ReadAll(io.LimitReader(f.In, maxInput+1))
	} else {
		src, err = readFile(path)
	}
	if err != nil {
		return name, nil, inputError(path, err)
	}
	if len(src) > maxInput {
		return name, nil, diag.New(diag.Pos{File: name}, "input has more than %d bytes", maxInput)
	}
	f.sources[name] = src
	return name, src, nil
}

func readFile(path string) ([]byte, error) {
	r, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, maxInput+1))
}

// inputError says why a file cannot be read.
func inputError(path string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return &diag.Err{Diagnostics: []diag.Diagnostic{{Code: "FILE", Pos: diag.Pos{File: path}, Message: fmt.Sprintf("cannot read: %v", err)}}}
}

// Emit writes the report in the chosen format to standard output or --out.
func (f *factory) Emit(r *reports.Report) error {
	var b bytes.Buffer
	o := reports.Options{Color: f.colourOut() && f.outFile == "", Version: version}
	if f.outFile == "" {
		o.Width = f.Width
	}
	if err := reports.Write(&b, f.format, r, o); err != nil {
		return usageError{err}
	}
	if f.outFile != "" && f.outFile != "-" {
		return writeAtomically(f.outFile, b.Bytes())
	}
	if f.quiet && f.format == "text" {
		return nil
	}
	_, err := f.Out.Write(b.Bytes())
	return err
}

// Warn shows warnings about the input on standard error.
func (f *factory) Warn(ds []diag.Diagnostic) {
	warnings := slices.DeleteFunc(slices.Clone(ds), func(d diag.Diagnostic) bool { return d.Severity == diag.Error })
	if !f.quiet {
		diag.Render(f.Err, warnings, f.sources, f.colourErr())
	}
}

func (f *factory) colourOut() bool { return f.wantColour(f.OutTerminal) }
func (f *factory) colourErr() bool { return f.wantColour(f.ErrTerminal) }

func (f *factory) wantColour(terminal bool) bool {
	switch f.colour {
	case "always":
		return true
	case "never":
		return false
	default:
		return terminal && f.Env("NO_COLOR") == "" && f.Env("TERM") != "dumb"
	}
}

// showProgress tells whether a verb may draw progress on standard error.
func (f *factory) showProgress() bool {
	return f.ErrTerminal && !f.noProgress && !f.quiet
}

// limited gives the context of the command with --limit-time applied.
func (f *factory) limited(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	if f.limitTime > 0 {
		return context.WithTimeout(cmd.Context(), time.Duration(f.limitTime))
	}
	return context.WithCancel(cmd.Context())
}

// writeAtomically replaces the file at path only when all bytes are on disk. A
// link is followed, so that it stays a link; what is no regular file (a device, a
// pipe) is written to as it is.
func writeAtomically(path string, data []byte) error {
	fail := func(err error) error { return outputError(path, err) }
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	mode := fs.FileMode(0o644)
	if old, err := os.Stat(path); err == nil {
		if old.IsDir() {
			return fail(errors.New("is a folder"))
		}
		if !old.Mode().IsRegular() {
			return writeInPlace(path, data, fail)
		}
		mode = old.Mode().Perm()
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fail(err)
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Chmod(mode), tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return fail(err)
	}
	return nil
}

func writeInPlace(path string, data []byte, fail func(error) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fail(err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return fail(err)
	}
	return nil
}

// outputError says why a result cannot be written.
func outputError(path string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return &diag.Err{Diagnostics: []diag.Diagnostic{{Code: "FILE", Pos: diag.Pos{File: path}, Message: fmt.Sprintf("cannot write: %v", err)}}}
}

// durationFlag is a flag such as --budget 300ms or --retain 90d.
type durationFlag time.Duration

func (d *durationFlag) String() string {
	if *d == 0 {
		return ""
	}
	return quantity.FormatDuration(time.Duration(*d))
}
func (d *durationFlag) Type() string { return "duration" }
func (d *durationFlag) Set(s string) error {
	v, err := quantity.ParseDuration(s)
	*d = durationFlag(v)
	return withHint(err)
}

// bytesFlag is a flag such as --limit-memory 2GiB.
type bytesFlag int64

func (b *bytesFlag) String() string {
	if *b == 0 {
		return ""
	}
	return fmt.Sprintf("%dB", int64(*b))
}
func (b *bytesFlag) Type() string { return "bytes" }
func (b *bytesFlag) Set(s string) error {
	v, err := quantity.ParseBytes(s)
	*b = bytesFlag(v)
	return withHint(err)
}

// withHint puts the hint of a quantity error into its text, where a flag error
// has room for nothing else.
func withHint(err error) error {
	var se *quantity.SyntaxError
	if errors.As(err, &se) && se.Hint != "" {
		return fmt.Errorf("%w; %s", err, se.Hint)
	}
	return err
}

// oneOf checks an enumerated flag.
func oneOf(flag, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	if near, ok := diag.Closest(value, allowed); ok {
		return usagef("--%s %q is not known, did you mean %s?", flag, value, near)
	}
	return usagef("--%s %q is not known, expected one of %s", flag, value, strings.Join(allowed, ", "))
}
