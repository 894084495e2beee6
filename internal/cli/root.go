package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/relplan/relplan/reports"
)

func newRoot(f *factory) *cobra.Command {
	root := &cobra.Command{
		Use:   "relplan",
		Short: "Decide retention windows, retries, deadlines and protocols of at-least-once systems",
		Long: `relplan decides by calculation, by model checking and by running the answer on
real engines what systems that deliver at least once live on: how long the
inbox keeps its rows and what that costs, how retries multiply along a call
tree and whether another attempt still fits the deadline, and whether the
protocol can lose or repeat a business effect.`,
		Example: `  relplan plan relplan.yaml
  relplan deadline admit --budget 300ms --spent 150ms --backoff 80ms --attempt 150ms`,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOf("output", f.format, reports.Formats...); err != nil {
				return err
			}
			if err := f.formatFits(cmd); err != nil {
				return err
			}
			return oneOf("color", f.colour, "auto", "always", "never")
		},
	}
	p := root.PersistentFlags()
	f.format, f.colour = "text", "auto"
	p.StringVarP(&f.format, "output", "o", "text", "format: text, json, markdown, csv, html, sarif, junit")
	p.StringVar(&f.outFile, "out", "", "write the result to this file instead of standard output")
	p.StringVar(&f.colour, "color", "auto", "colour: auto, always, never (NO_COLOR is respected)")
	p.BoolVar(&f.quiet, "quiet", false, "no text on success, only the exit code; no warnings")
	p.BoolVar(&f.noProgress, "no-progress", false, "no progress line on a terminal")
	p.BoolVar(&f.timing, "timing", false, "add wall times and versions, which differ from run to run")
	p.Var(&f.limitTime, "limit-time", "stop after this long with a partial result (exit 4)")
	p.Var(&f.limitMemory, "limit-memory", "stop before using more memory than this (exit 4)")
	_ = root.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(reports.Formats, cobra.ShellCompDirectiveNoFileComp))
	_ = root.RegisterFlagCompletionFunc("color", cobra.FixedCompletions([]string{"auto", "always", "never"}, cobra.ShellCompDirectiveNoFileComp))
	root.AddCommand(verbs(f)...)
	root.SetHelpCommand(newHelp(f))
	describeCompletion(root)
	return root
}

// verbs lists the commands that work; a verb that does not work yet is absent.
func verbs(f *factory) []*cobra.Command {
	return []*cobra.Command{
		newPlan(f),
		newInit(f),
		newPatterns(f),
		newNew(f),
		newCapacity(f),
		newCheck(f),
		newDeadline(f),
		newFmt(f),
		newLab(f),
		newReplay(f),
		newReplayWorker(f),
		newRetry(f),
		newSchema(f),
		newShow(f),
		newVersion(f),
		newWindows(f),
	}
}

// withoutFormats is the annotation of a verb whose result some formats cannot show.
const withoutFormats = "without-formats"

// lacks marks a verb whose result has nothing that the formats hold: an empty SARIF file
// would read as "no finding".
func lacks(c *cobra.Command, formats ...string) *cobra.Command {
	c.Annotations = map[string]string{withoutFormats: strings.Join(formats, ",")}
	return c
}

// formatFits refuses a format that the verb does not have.
func (f *factory) formatFits(cmd *cobra.Command) error {
	without := strings.Split(cmd.Annotations[withoutFormats], ",")
	if !slices.Contains(without, f.format) {
		return nil
	}
	has := slices.DeleteFunc(slices.Clone(reports.Formats), func(x string) bool { return slices.Contains(without, x) })
	what := "has no findings or checks for"
	if f.format != "sarif" && f.format != "junit" {
		what = "has nothing to show with"
	}
	return usagef("%s %s -o %s, expected one of %s", strings.TrimPrefix(cmd.CommandPath(), "relplan "), what, f.format, strings.Join(has, ", "))
}

// noReport is every format but text and JSON, for verbs that write a file or print one.
var noReport = []string{"markdown", "csv", "html", "sarif", "junit"}

// group makes a command that only holds others.
func group(use, short string, subs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return usagef("%s needs one of its verbs, see `%s --help`", cmd.CommandPath(), cmd.CommandPath())
		},
	}
	for i, sub := range subs {
		first, _, _ := strings.Cut(sub.Example, "\n")
		if i > 0 {
			c.Example += "\n"
		}
		c.Example += first
	}
	c.AddCommand(subs...)
	return c
}
