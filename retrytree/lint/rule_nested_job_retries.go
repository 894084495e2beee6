package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// nestedJobRetries is rule 47.
var nestedJobRetries = &Rule{
	Number: 47,
	Code:   "nested-job-retries",
	Title:  "A step that is retried runs inside a step that is retried",
	Text:   `Step, template and workflow each have their retries, and they multiply. Retry the smallest step only.`,
	Before: []Source{
		{Name: "asl.json", Text: `{"StartAt": "Fan", "TimeoutSeconds": 600, "States": {"Fan": {"Type": "Parallel", "Retry": [{"ErrorEquals": ["Busy"], "MaxAttempts": 2, "JitterStrategy": "FULL", "MaxDelaySeconds": 10}],
 "Branches": [{"StartAt": "Ship", "States": {"Ship": {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "TimeoutSeconds": 20,
  "Retry": [{"ErrorEquals": ["States.Timeout"], "MaxAttempts": 2, "JitterStrategy": "FULL", "MaxDelaySeconds": 10}], "End": true}}}], "End": true}}}
`},
	},
	After: []Source{
		{Name: "asl.json", Text: `{"StartAt": "Fan", "TimeoutSeconds": 600, "States": {"Fan": {"Type": "Parallel", 
 "Branches": [{"StartAt": "Ship", "States": {"Ship": {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "TimeoutSeconds": 20,
  "Retry": [{"ErrorEquals": ["States.Timeout"], "MaxAttempts": 2, "JitterStrategy": "FULL", "MaxDelaySeconds": 10}], "End": true}}}], "End": true}}}
`},
	},
	Severity: diag.Warning,
	Run:      fromFacts,
}
