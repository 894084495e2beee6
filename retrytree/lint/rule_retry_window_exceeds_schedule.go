package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// retryWindowExceedsSchedule is rule 46.
var retryWindowExceedsSchedule = &Rule{
	Number: 46,
	Code:   "retry-window-exceeds-schedule",
	Title:  "The next run starts before the retries of this one end",
	Text:   `The attempts of one run may reach into the next: two runs work on the same data. Shorten the retries, or forbid concurrency.`,
	Before: []Source{
		{Name: "cronjob.yaml", Text: `apiVersion: batch/v1
kind: CronJob
metadata: {name: a}
spec:
  schedule: "*/5 * * * *"
  jobTemplate:
    spec:
      backoffLimit: 6
      activeDeadlineSeconds: 900
      template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}
`},
	},
	After: []Source{
		{Name: "cronjob.yaml", Text: `apiVersion: batch/v1
kind: CronJob
metadata: {name: a}
spec:
  schedule: "0 3 * * *"
  jobTemplate:
    spec:
      backoffLimit: 6
      activeDeadlineSeconds: 900
      template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}
`},
	},
	Severity: diag.Warning,
	Run:      fromFacts,
}
