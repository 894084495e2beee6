package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/relplan/relplan/capacity/storage"
	"github.com/relplan/relplan/capacity/storage/ddl"
	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/plan"
	"github.com/relplan/relplan/retrytree/retryconfig"
)

// draft is a plan made from what a folder holds. Everything that the files do
// not say is marked "# check".
type draft struct {
	name   string
	base   string // folder that the plan will stand in
	calls  []draftCall
	tables []draftTable
	left   []string // what was not used, with the reason
}

type draftCall struct{ from, to, file, hop string }

type draftTable struct {
	name, engine, file string
	means              []columnMean // of columns whose length the DDL does not fix
}

type columnMean struct {
	name  string
	bytes int
}

// runInitFrom writes DIR/relplan.yaml from the configurations and CREATE TABLE
// files of a folder.
func runInitFrom(ctx context.Context, f *factory, dir, source string) error {
	path := filepath.Join(dir, starterFiles[0])
	if err := refuseExisting(path); err != nil {
		return err
	}
	d := &draft{name: filepath.Base(absolute(source)), base: absolute(dir)}
	if err := d.readCalls(ctx, source); err != nil {
		return inputError(source, err)
	}
	if err := d.readTables(source); err != nil {
		return inputError(source, err)
	}
	if len(d.calls)+len(d.tables) == 0 {
		return &diag.Err{Diagnostics: []diag.Diagnostic{{Code: "FILE", Pos: diag.Pos{File: source}, Message: "no retry configuration and no CREATE TABLE was found",
			Hint: "see `relplan retry read --kinds`, or start with relplan init"}}}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return usageError{err}
	}
	text := []byte(d.yaml())
	if _, err := plan.Load(path, text); err != nil {
		return fmt.Errorf("the plan made from %s does not load: %w", source, err)
	}
	if err := writeAtomically(path, text); err != nil {
		return err
	}
	next := "relplan plan " + path
	words := fmt.Sprintf("wrote %s: %d calls, %d stores; look at every line with `# check`\n", path, len(d.calls), len(d.tables))
	for _, l := range d.left {
		words += "left out: " + l + "\n"
	}
	return f.written(initDocument{Schema: initSchema, Files: []string{path}, LeftOut: append([]string{}, d.left...), Next: next}, words+"next: "+next+"\n")
}

// refuseExisting is an error if a file stands there.
func refuseExisting(path string) error {
	if _, err := os.Lstat(path); err != nil {
		return nil
	}
	return &diag.Err{Diagnostics: []diag.Diagnostic{{Code: "FILE", Pos: diag.Pos{File: path}, Message: "exists already and is not overwritten", Hint: "give another folder: relplan init DIR"}}}
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// relative names a file from the folder of the plan.
func (d *draft) relative(path string) string {
	if rel, err := filepath.Rel(d.base, absolute(path)); err == nil {
		return filepath.ToSlash(rel)
	}
	return path
}

// readCalls makes a call of every request hop whose count is known.
func (d *draft) readCalls(ctx context.Context, source string) error {
	files, err := retryconfig.ReadPaths(ctx, []string{source}, retryconfig.WalkOptions{})
	if err != nil {
		return err
	}
	for _, file := range files {
		if file.Status == retryconfig.Unread {
			d.left = append(d.left, fmt.Sprintf("%s: %s", file.Path, file.Reason))
		}
		for _, h := range file.Hops {
			_, counted := h.AttemptCount()
			switch {
			case h.Class != retryconfig.Request:
				d.left = append(d.left, fmt.Sprintf("%s: hop %s is no call that somebody waits for", file.Path, h.Name))
				continue
			case !counted && !h.Unbounded:
				d.left = append(d.left, fmt.Sprintf("%s: hop %s leaves its attempts open", file.Path, h.Name))
				continue
			}
			c := draftCall{from: "caller", to: h.Name, file: d.relative(file.Path), hop: h.Name}
			if len(h.From) > 0 {
				c.from = h.From[0]
			}
			if len(h.To) == 1 {
				c.to = h.To[0]
			}
			if d.reaches(c.to, c.from) {
				d.left = append(d.left, fmt.Sprintf("%s: hop %s would close a circle of calls", file.Path, h.Name))
				continue
			}
			d.calls = append(d.calls, c)
		}
	}
	return nil
}

// reaches tells whether calls lead from one service to the other.
func (d *draft) reaches(from, to string) bool {
	if from == to {
		return true
	}
	for _, c := range d.calls {
		if c.from == from && d.reaches(c.to, to) {
			return true
		}
	}
	return false
}

// readTables finds CREATE TABLE files; the dialect is the first that reads the
// whole file.
func (d *draft) readTables(source string) error {
	return filepath.WalkDir(source, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".sql" {
			return err
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var first []diag.Diagnostic
		for _, engine := range []storage.Engine{storage.Postgres, storage.InnoDB, storage.SQLite} {
			dialect, _ := ddl.Of(engine)
			var l diag.List
			tables := ddl.Parse(path, src, dialect, &l)
			if l.HasErrors() {
				if first == nil {
					first = l.Sorted()
				}
				continue
			}
			for _, t := range tables {
				d.tables = append(d.tables, draftTable{t.Name, string(engine), d.relative(path), guessMeans(engine, t)})
			}
			return nil
		}
		d.left = append(d.left, first[0].String())
		return nil
	})
}

// guessMeans gives every column without a fixed length half of its declared
// length, 36 bytes where there is none.
func guessMeans(engine storage.Engine, t *storage.Table) []columnMean {
	var out []columnMean
	for range t.Columns {
		var missing *storage.MissingMeanError
		if _, err := storage.Estimate(storage.Input{Engine: engine, Table: t, Rows: 1000}); !errors.As(err, &missing) {
			break
		}
		for i := range t.Columns {
			c := &t.Columns[i]
			if c.Name != missing.Column {
				continue
			}
			mean := 36
			if len(c.Args) == 1 {
				mean = max(1, c.Args[0]/2)
			}
			c.Mean = float64(mean)
			out = append(out, columnMean{c.Name, mean})
		}
	}
	return out
}

// yaml is the text of the plan.
func (d *draft) yaml() string {
	var b strings.Builder
	q := strconv.Quote
	fmt.Fprintf(&b, "# Made from the retry configurations and CREATE TABLE files of a folder. Every line\n# with \"# check\" says what the files do not: look at it and correct it.\nrelplan: v1\nplan: %s\n", q(d.name))
	if len(d.tables) > 0 {
		b.WriteString("\nworkloads:\n  records: {rate: 100/s, record: 100B}      # check: how many arrive, and how large one is\n\nstores:\n")
		several := map[string]int{}
		for _, t := range d.tables {
			several[t.file]++
		}
		for _, t := range d.tables {
			fmt.Fprintf(&b, "  %s:\n    engine: %s                          # check: the dialect that reads the file\n    holds: records\n    ddl: %s\n", q(t.name), t.engine, q(t.file))
			if several[t.file] > 1 {
				fmt.Fprintf(&b, "    options: {table: %s}\n", q(t.name))
			}
			if len(t.means) > 0 {
				b.WriteString("    columns:                              # check: mean lengths, here half of what is declared\n")
				for _, m := range t.means {
					fmt.Fprintf(&b, "      - {name: %s, mean: %dB}\n", q(m.name), m.bytes)
				}
			}
			b.WriteString("    retain: 30d                           # check: how long rows stay; add `dedupes: records` if it recognises repeats\n    key_order: uuid4                      # check: increasing | uuid4 | uuid7:J | streams:K\n")
		}
	}
	if len(d.calls) > 0 {
		b.WriteString("\ncalls:\n")
		var callers []string
		for _, c := range d.calls {
			if !slices.Contains(callers, c.from) {
				callers = append(callers, c.from)
			}
		}
		for _, caller := range callers {
			fmt.Fprintf(&b, "  %s:                                  # check: who calls\n    calls:\n", q(caller))
			for _, c := range d.calls {
				if c.from == caller {
					fmt.Fprintf(&b, "      - {to: %s, from: {file: %s, hop: %s}}   # check: who is called\n", q(c.to), q(c.file), q(c.hop))
				}
			}
		}
		b.WriteString("\npolicies: {max_attempts: 10}              # check\n")
	}
	return b.String()
}
