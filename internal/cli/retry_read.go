package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/relplan/relplan/reports"
	"github.com/relplan/relplan/retrytree/retryconfig"
)

type retryReadOptions struct{ kinds, all bool }

type retryReadDoc struct {
	Schema  string      `json:"schema"`
	Hops    []hopDoc    `json:"hops"`
	Unread  []unreadDoc `json:"unread"`
	Skipped int         `json:"skipped_files"`
}

type retryKindsDoc struct {
	Schema string         `json:"schema"`
	Kinds  []retryKindDoc `json:"kinds"`
}

type retryKindDoc struct {
	Kind     string            `json:"kind"`
	Title    string            `json:"title"`
	Objects  []string          `json:"objects"`
	Settings []retrySettingDoc `json:"settings"`
}

type retrySettingDoc struct {
	Key    string `json:"key"`
	Counts string `json:"counts"`
	Three  string `json:"three"`
	Absent string `json:"absent"`
	Zero   string `json:"zero"`
	Minus  string `json:"minus_one"`
}

func newRetryRead(f *factory) *cobra.Command {
	o := &retryReadOptions{}
	c := &cobra.Command{
		Use:   "read PATH...",
		Short: "What real configurations make of a call: attempts, limits, worst time",
		Long: `Read retry settings of real products (meshes, proxies, libraries, queues, jobs;
--kinds lists them) and write each as one hop: attempts with the first one
counted, the attempts that start when each hangs, the limit of one attempt and of
the call, and the worst time. Kinds are recognised by content, folders are walked.

What cannot be read is listed with its reason, as is a file given by name in which
no reader finds anything of its own. Exit 2 when every file was unread.`,
		Example: `  relplan retry read virtual-service.yaml
  relplan retry read deploy/ application.yml -o json
  relplan retry read --kinds`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.kinds {
				return runRetryKinds(f)
			}
			if len(args) == 0 {
				return usagef("retry read needs a file or a folder, or --kinds")
			}
			return runRetryRead(f, cmd, o, args)
		},
	}
	c.Flags().BoolVar(&o.kinds, "kinds", false, "list the kinds of configuration and what 3, nothing, 0 and -1 mean in each")
	c.Flags().BoolVar(&o.all, "all", false, "show every route, also where many of one object are alike")
	return lacks(c, "sarif", "junit")
}

// pathOf gives the path of a file error.
func pathOf(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Path
	}
	return ""
}

func runRetryRead(f *factory, cmd *cobra.Command, o *retryReadOptions, paths []string) error {
	files, err := f.readPaths(cmd, paths)
	if err != nil {
		return err
	}
	doc := retryReadDoc{Schema: "relplan.dev/retry-read/v1", Hops: hopDocs(files, o.all), Unread: unreadDocs(files)}
	r := &reports.Report{Command: "retry read", Title: "Retry settings as they run", Data: &doc}
	for _, file := range files {
		if file.Status == retryconfig.Skipped {
			doc.Skipped++
		}
		r.Add(readBlocks(file, o.all)...)
	}
	if len(doc.Hops) == 0 && len(doc.Unread) == 0 {
		r.Add(reports.Paragraph{Text: "no retry setting found: " + skippedReason(files)})
	}
	r.Add(unreadBlocks(files)...)
	if err := f.Emit(r); err != nil {
		return err
	}
	if len(doc.Unread) == len(files) {
		return exit(exitUsage)
	}
	return nil
}

// skippedReason says why nothing was read: of one file its reason, of many their number.
func skippedReason(files []*retryconfig.File) string {
	if len(files) == 1 {
		return files[0].Reason
	}
	return fmt.Sprintf("%d files looked at", len(files))
}

func readBlocks(file *retryconfig.File, all bool) []reports.Block {
	if len(file.Hops) == 0 {
		return nil
	}
	groups := file.Grouped()
	if all {
		groups = groups[:0]
		for _, h := range file.Hops {
			groups = append(groups, retryconfig.Group{Hop: h, Name: h.Name, Count: 1})
		}
	}
	t := reports.Table{Columns: []reports.Column{{Name: "hop"}, {Name: "line", Right: true}, {Name: "attempts", Right: true}, {Name: "when slow", Right: true},
		{Name: "one attempt", Right: true}, {Name: "the call", Right: true}, {Name: "at worst", Right: true}, {Name: "as written"}}}
	var notes []string
	for _, g := range groups {
		name := g.Name
		if g.Count > 1 {
			name += fmt.Sprintf(" (%d routes)", g.Count)
		}
		t.Rows = append(t.Rows, append(append([]string{name, fmt.Sprint(g.Line)}, hopCells(g.Hop)...), g.Written))
		if g.Refused != "" {
			notes = append(notes, g.Name+": refused: "+g.Refused)
		}
		if g.PerTryIgnored != "" {
			notes = append(notes, fmt.Sprintf("%s: the limit of one attempt %v is %s", g.Name, *g.PerTryWritten, g.PerTryIgnored))
		}
		if len(g.Hidden) > 0 {
			notes = append(notes, g.Name+": not written: "+strings.Join(g.Hidden, "; "))
		}
		for _, n := range g.Notes {
			notes = append(notes, g.Name+": "+n)
		}
	}
	blocks := []reports.Block{reports.Heading{Level: 2, Text: file.Path + " (" + kindsOf(file) + ")"}, t}
	if len(notes) > 0 {
		blocks = append(blocks, reports.List{Items: notes})
	}
	return blocks
}

// kindsOf names the kinds of the hops of a file, in their order.
func kindsOf(file *retryconfig.File) string {
	var out []string
	for _, h := range file.Hops {
		kind := h.Kind
		if k, ok := strings.CutPrefix(kind, "statement."); ok {
			kind = "statement: " + k
		}
		if !slices.Contains(out, kind) {
			out = append(out, kind)
		}
	}
	if len(out) > 3 {
		out = append(out[:3], "...")
	}
	return strings.Join(out, ", ")
}

func unreadBlocks(files []*retryconfig.File) []reports.Block {
	var items []string
	for _, file := range files {
		if file.Status == retryconfig.Unread {
			items = append(items, file.Path+": "+file.Reason)
		}
	}
	if len(items) == 0 {
		return nil
	}
	return []reports.Block{reports.Heading{Level: 2, Text: "Not read", Mark: reports.Unsure}, reports.List{Items: items}}
}

func runRetryKinds(f *factory) error {
	doc := retryKindsDoc{Schema: "relplan.dev/retry-read-kinds/v1", Kinds: []retryKindDoc{}}
	rows := map[string][]retryconfig.ReadingRow{}
	for _, row := range retryconfig.Readings() {
		rows[row.Reader] = append(rows[row.Reader], row)
	}
	r := &reports.Report{Command: "retry read", Title: "Kinds of retry configuration", Data: &doc}
	t := reports.Table{Columns: []reports.Column{{Name: "kind"}, {Name: "setting"}, {Name: "counts"}, {Name: "3 means", Right: true}, {Name: "absent", Right: true}, {Name: "0", Right: true}, {Name: "-1", Right: true}}}
	for _, reader := range retryconfig.Readers() {
		k := retryKindDoc{Kind: reader.Name, Title: reader.Title, Objects: reader.Objects, Settings: []retrySettingDoc{}}
		for _, row := range rows[reader.Name] {
			k.Settings = append(k.Settings, retrySettingDoc{row.Setting, row.Counts, row.Three, row.Absent, row.Zero, row.Minus})
			t.Rows = append(t.Rows, []string{reader.Name, row.Setting, row.Counts, row.Three, row.Absent, row.Zero, row.Minus})
		}
		doc.Kinds = append(doc.Kinds, k)
	}
	r.Add(reports.Paragraph{Text: "attempts that one call makes, the first one counted"}, t,
		reports.Paragraph{Text: "kinds of statements: " + strings.Join(retryconfig.StatementKinds(), ", ")})
	return f.Emit(r)
}
