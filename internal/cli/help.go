package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/reports"
	"github.com/relplan/relplan/specs"
)

// helpText explains one code.
type helpText struct {
	Code   string `json:"code"`
	Title  string `json:"title"`
	Text   string `json:"text"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// helpSource is an area of the product with codes of its own.
type helpSource struct {
	lookup func(code string) (helpText, bool)
	codes  func() []string
}

// helpSources are asked in order.
var helpSources = []helpSource{
	{lookup: specHelp, codes: func() []string {
		var out []string
		for _, c := range specs.Codes() {
			out = append(out, c.Code)
		}
		return out
	}},
	retryHelp,
	inputHelp,
}

func specHelp(code string) (helpText, bool) {
	c, ok := specs.LookupCode(code)
	return helpText(c), ok
}

type helpDocument struct {
	Schema string `json:"schema"`
	helpText
}

// newHelp replaces cobra's help: it explains the codes of errors and warnings too.
func newHelp(f *factory) *cobra.Command {
	return &cobra.Command{
		Use:   "help [VERB | CODE]",
		Short: "Help on a verb, or on the code of an error or warning",
		Example: `  relplan help check
  relplan help RP031`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				if t, ok := lookupHelp(args[0]); ok {
					return f.Emit(helpReport(t))
				}
			}
			target, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return noHelp(args)
			}
			target.InitDefaultHelpFlag()
			return target.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
			var out []cobra.Completion
			for _, s := range helpSources {
				for _, c := range s.codes() {
					if strings.HasPrefix(c, strings.ToUpper(toComplete)) {
						out = append(out, c)
					}
				}
			}
			for _, c := range cmd.Root().Commands() {
				if c.IsAvailableCommand() {
					out = append(out, c.Name())
				}
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

func lookupHelp(code string) (helpText, bool) {
	for _, s := range helpSources {
		for _, c := range []string{code, strings.ToUpper(code)} {
			if t, ok := s.lookup(c); ok {
				return t, true
			}
		}
	}
	return helpText{}, false
}

func noHelp(args []string) error {
	word := strings.Join(args, " ")
	var known []string
	for _, s := range helpSources {
		known = append(known, s.codes()...)
	}
	if c, ok := diag.Closest(strings.ToUpper(word), known); ok {
		return usagef("no help on %q, did you mean %s?", word, c)
	}
	return usagef("no help on %q: neither a verb nor a code", word)
}

func helpReport(t helpText) *reports.Report {
	r := &reports.Report{Command: "help", Title: t.Code + ": " + t.Title, Data: helpDocument{"relplan.dev/help/v1", t}}
	r.Add(reports.Paragraph{Text: t.Text})
	if t.Before != "" {
		r.Add(reports.Paragraph{Text: "instead of"}, reports.Code{Lang: "yaml", Text: t.Before})
	}
	if t.After != "" {
		r.Add(reports.Paragraph{Text: "write"}, reports.Code{Lang: "yaml", Text: t.After})
	}
	return r
}
