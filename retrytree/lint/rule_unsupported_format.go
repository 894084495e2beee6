package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// unsupportedFormat is rule 59.
var unsupportedFormat = &Rule{
	Number: 59,
	Code:   "unsupported-format",
	Title:  "Program code or a format without a reader",
	Text:   `The file speaks of retries and is code, or has no reader. Its values are not guessed: state them in a statements file.`,
	Before: []Source{
		{Name: "celeryconfig.py", Text: `task_annotations = {"*": {"max_retries": 3}}
`},
	},
	After: []Source{
		{Name: "statements.yaml", Text: `relplan: v1
statements:
- {hop: web->task, kind: celery, max_retries: 3, per_try: 10s, overall: 1h, dead_letter: true}
`},
	},
	Severity: diag.Info,
	Run:      fromFacts,
}
