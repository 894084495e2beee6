package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// offByOneMigration is rule 33.
var offByOneMigration = &Rule{
	Number: 33,
	Code:   "off-by-one-migration",
	Title:  "The same number means another count after an upgrade",
	Text:   `A newer version of the product reads a key of the same kind with another count. Moving the number over unchanged makes one attempt more or less.`,
	Before: []Source{
		{Name: "application.yml", Text: `spring:
  rabbitmq:
    listener:
      simple:
        retry: {enabled: true, max-attempts: 3}
`},
	},
	After: []Source{
		{Name: "application.yml", Text: `spring:
  rabbitmq:
    listener:
      simple:
        retry: {enabled: true, max-retries: 2}
`},
	},
	Severity: diag.Warning,
	Run:      fromFacts,
}
