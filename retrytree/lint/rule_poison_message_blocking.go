package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// poisonMessageBlocking is rule 45.
var poisonMessageBlocking = &Rule{
	Number: 45,
	Code:   "poison-message-blocking",
	Title:  "One bad record stops an ordered stream",
	Text:   `A stream is read in order. A record that never succeeds is tried again without a limit, and everything behind it waits. Limit attempts and age, split the batch, and give failures a destination.`,
	Before: []Source{
		{Name: "template.yaml", Text: `AWSTemplateFormatVersion: "2010-09-09"
Resources:
  Map:
    Type: AWS::Lambda::EventSourceMapping
    Properties:
      FunctionName: f
      StartingPosition: LATEST
      EventSourceArn: arn:aws:kinesis:eu-west-1:1:stream/s
`},
	},
	After: []Source{
		{Name: "template.yaml", Text: `AWSTemplateFormatVersion: "2010-09-09"
Resources:
  Map:
    Type: AWS::Lambda::EventSourceMapping
    Properties:
      FunctionName: f
      StartingPosition: LATEST
      EventSourceArn: arn:aws:kinesis:eu-west-1:1:stream/s
      MaximumRetryAttempts: 3
      MaximumRecordAgeInSeconds: 3600
      DestinationConfig: {OnFailure: {Destination: arn:aws:sqs:eu-west-1:1:dlq}}
`},
	},
	Severity: diag.Error,
	Run:      fromFacts,
}
