package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// widerThanWritten is rule 15.
var widerThanWritten = &Rule{
	Number: 15,
	Code:   "wider-than-written",
	Title:  "More is retried than the file lists",
	Text:   `Setting one list leaves a wider default in place. In Spring Cloud Gateway ` + "`" + `statuses` + "`" + ` adds to the series SERVER_ERROR: write ` + "`" + `series:` + "`" + ` (empty) beside it.`,
	Before: []Source{
		{Name: "application.yml", Text: `spring:
  cloud:
    gateway:
      httpclient: {response-timeout: 2s}
      routes:
      - id: cart
        uri: lb://cart
        filters:
        - name: Retry
          args: {retries: 2, statuses: BAD_GATEWAY, methods: GET}
`},
	},
	After: []Source{
		{Name: "application.yml", Text: `spring:
  cloud:
    gateway:
      httpclient: {response-timeout: 2s}
      routes:
      - id: cart
        uri: lb://cart
        filters:
        - name: Retry
          args: {retries: 2, statuses: BAD_GATEWAY, series: SERVER_ERROR, methods: GET}
`},
	},
	Severity: diag.Warning,
	Run:      fromFacts,
}
