package cli

import (
	"strings"

	"github.com/relplan/relplan/retrytree/lint"
)

// retryHelp explains the rules of retry lint.
var retryHelp = helpSource{
	lookup: func(code string) (helpText, bool) {
		r, ok := lint.Find(strings.ToLower(code))
		if !ok {
			return helpText{}, false
		}
		return helpText{Code: r.Code, Title: r.Title, Text: r.Text, Before: sourceText(r.Before), After: sourceText(r.After)}, true
	},
	codes: func() []string {
		out := make([]string, len(lint.Rules))
		for i, r := range lint.Rules {
			out[i] = r.Code
		}
		return out
	},
}

// sourceText is an example with the name of each file above it, when there are several.
func sourceText(files []lint.Source) string {
	if len(files) == 1 {
		return files[0].Text
	}
	var b strings.Builder
	for _, s := range files {
		b.WriteString("# " + s.Name + "\n" + s.Text)
	}
	return b.String()
}
