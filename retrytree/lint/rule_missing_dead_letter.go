package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// missingDeadLetter is rule 44.
var missingDeadLetter = &Rule{
	Number: 44,
	Code:   "missing-dead-letter",
	Title:  "A message whose attempts are used up is gone",
	Text:   `When the count or the age is used up, nothing keeps the message. Give it a dead letter queue and look at it.`,
	Before: []Source{
		{Name: "template.yaml", Text: `AWSTemplateFormatVersion: "2010-09-09"
Resources:
  Rule:
    Type: AWS::Events::Rule
    Properties:
      Targets: [{Id: a, Arn: arn:aws:lambda:eu-west-1:1:function:a, RetryPolicy: {MaximumRetryAttempts: 3, MaximumEventAgeInSeconds: 600}}]
`},
	},
	After: []Source{
		{Name: "template.yaml", Text: `AWSTemplateFormatVersion: "2010-09-09"
Resources:
  Rule:
    Type: AWS::Events::Rule
    Properties:
      Targets: [{Id: a, Arn: arn:aws:lambda:eu-west-1:1:function:a, RetryPolicy: {MaximumRetryAttempts: 3, MaximumEventAgeInSeconds: 600}, DeadLetterConfig: {Arn: arn:aws:sqs:eu-west-1:1:dlq}}]
`},
	},
	Severity: diag.Warning,
	Run:      fromFacts,
}
