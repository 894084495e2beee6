package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// visibilityShorterThanProcessing is rule 43.
var visibilityShorterThanProcessing = &Rule{
	Number: 43,
	Code:   "visibility-shorter-than-processing",
	Title:  "A second delivery starts while the first still runs",
	Text:   `The message becomes visible again before its processing may end: two workers do the same work at the same time, and the count of deliveries runs ahead. Make the visibility longer than the processing; AWS asks for six times the function timeout.`,
	Before: []Source{
		{Name: "template.yaml", Text: `AWSTemplateFormatVersion: "2010-09-09"
Resources:
  Queue:
    Type: AWS::SQS::Queue
    Properties:
      VisibilityTimeout: 30
      RedrivePolicy: {deadLetterTargetArn: !GetAtt Dlq.Arn, maxReceiveCount: 5}
  Dlq: {Type: AWS::SQS::Queue}
  Worker:
    Type: AWS::Serverless::Function
    Properties:
      Handler: app.handler
      Timeout: 60
      Events: {Sqs: {Type: SQS, Properties: {Queue: !GetAtt Queue.Arn}}}
`},
	},
	After: []Source{
		{Name: "template.yaml", Text: `AWSTemplateFormatVersion: "2010-09-09"
Resources:
  Queue:
    Type: AWS::SQS::Queue
    Properties:
      VisibilityTimeout: 360
      RedrivePolicy: {deadLetterTargetArn: !GetAtt Dlq.Arn, maxReceiveCount: 5}
  Dlq: {Type: AWS::SQS::Queue}
  Worker:
    Type: AWS::Serverless::Function
    Properties:
      Handler: app.handler
      Timeout: 60
      Events: {Sqs: {Type: SQS, Properties: {Queue: !GetAtt Queue.Arn}}}
`},
	},
	Severity: diag.Error,
	Run:      fromFacts,
}
