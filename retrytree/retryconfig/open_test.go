package retryconfig

import (
	"strings"
	"testing"
)

// TestTimesFilledInLater: where a time is filled in outside the file, no default takes its
// place and nothing is computed from it; what the file gives stays.
func TestTimesFilledInLater(t *testing.T) {
	envoy := "virtual_hosts:\n- name: a\n  domains: ['*']\n  routes:\n  - match: {prefix: /}\n    route: {cluster: c, timeout: TIME, retry_policy: {retry_on: 5xx, num_retries: 2, per_try_timeout: TRY}}\n"
	r4j := "resilience4j:\n  retry: {instances: {a: {maxAttempts: 3, waitDuration: WAIT}}}\n  timelimiter: {instances: {a: {timeoutDuration: TRY}}}\n"
	dotnet := `{"X": {"Retry": {"MaxRetryAttempts": 2, "UseJitter": true}, "AttemptTimeout": {"Timeout": "TRY"}, "TotalRequestTimeout": {"Timeout": "TIME"}}}`
	tests := []struct {
		name, file, text string
		fill             []string
		one, call        string
	}{
		{"Envoy, the call", "e.yaml", envoy, []string{"TIME", `"${T}"`, "TRY", "1s"}, "1s", "-"},
		{"Envoy, one attempt", "e.yaml", envoy, []string{"TIME", "5s", "TRY", `"${T}"`}, "-", "5s"},
		{"Resilience4j, the wait", "application.yml", r4j, []string{"WAIT", `"${W:2s}"`, "TRY", "1s"}, "1s", "-"},
		{"Resilience4j, one attempt", "application.yml", r4j, []string{"WAIT", "1s", "TRY", `"${T:5s}"`}, "-", "-"},
		{".NET, one attempt", "appsettings.json", dotnet, []string{"TRY", "#{T}", "TIME", "00:00:20"}, "-", "-"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := Parse(tt.file, []byte(strings.NewReplacer(tt.fill...).Replace(tt.text)))
			checkFile(t, f)
			h := f.Hops[0]
			if h.AttemptsText() != "3" || textOr(h.PerTry) != tt.one || textOr(h.Overall) != tt.call {
				t.Errorf("attempts %s, one %s, call %s", h.AttemptsText(), textOr(h.PerTry), textOr(h.Overall))
			}
			if h.Slow != nil || h.Worst != nil || h.WorstLow != nil || len(h.Hidden) > 0 || h.Undecided == "" {
				t.Errorf("computed from what is not known: slow %s, worst %s, hidden %v", textOr(h.Slow), textOr(h.Worst), h.Hidden)
			}
		})
	}
	lambda := Parse("cfn.yaml", []byte("Resources:\n  Q: {Type: AWS::SQS::Queue, Properties: {VisibilityTimeout: 60, RedrivePolicy: {deadLetterTargetArn: x, maxReceiveCount: 3}}}\n"+
		"  F: {Type: AWS::Lambda::Function, Properties: {Timeout: !Ref T}}\n  M: {Type: AWS::Lambda::EventSourceMapping, Properties: {EventSourceArn: !GetAtt Q.Arn, FunctionName: !Ref F}}\n"))
	if h := lambda.Hops[0]; h.AttemptsText() != "3" || h.PerTry != nil || h.Worst != nil {
		t.Errorf("Lambda: attempts %s, one %s, worst %s", h.AttemptsText(), textOr(h.PerTry), textOr(h.Worst))
	}
}
