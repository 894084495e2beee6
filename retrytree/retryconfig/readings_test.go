package retryconfig

import (
	"strings"
	"testing"
)

// TestReadings checks every sample against what its setting counts, and the table of
// zero, absent and -1.
func TestReadings(t *testing.T) {
	want := map[string][3]string{ // absent, 0, -1
		"spec.http[].retries.attempts":                               {"3", "1", "refused"},
		"retry_policy.num_retries":                                   {"2", "1", "refused"},
		"retryPolicy.maxAttempts":                                    {"refused", "refused", "refused"},
		"spec.rules[].retry.attempts":                                {"2 to 3", "1", "refused"},
		"spec.retry.numRetries":                                      {"3", "1", "refused"},
		"retry.linkerd.io/limit":                                     {"2", "2", "refused"},
		"proxy_next_upstream_tries":                                  {"5", "5", "refused"},
		"nginx.ingress.kubernetes.io/proxy-next-upstream-tries":      {"3", "no limit", "refused"},
		"services[].retries":                                         {"6", "1", "refused"},
		"http.middlewares.NAME.retry.attempts":                       {"refused", "refused", "refused"},
		"retries#haproxy":                                            {"4", "1", "refused"},
		"lb_retries":                                                 {"1", "1", "refused"},
		"upstream.retries":                                           {"3", "1", "3"},
		"resilience4j.retry.instances.NAME.maxAttempts":              {"3", "refused", "refused"},
		"filters[].args.retries of Retry":                            {"4", "refused", "refused"},
		"retries#kafka":                                              {"no limit", "1", "refused"},
		"class/method/Retry/maxRetries":                              {"4", "1", "no limit"},
		"Retry.MaxRetryAttempts":                                     {"4", "refused", "refused"},
		"max_attempts in ~/.aws/config":                              {"3", "refused", "refused"},
		"AWS::Lambda::EventInvokeConfig MaximumRetryAttempts":        {"3", "1", "refused"},
		"AWS::Events::Rule RetryPolicy.MaximumRetryAttempts":         {"186", "1", "refused"},
		"Retry[].MaxAttempts":                                        {"4", "1", "refused"},
		"spec.routes[].retryPolicy.count":                            {"2", "2", "1"},
		"to[].default.http.numRetries":                               {"2", "1", "refused"},
		"policies.retries.NAME.maxRetries":                           {"no limit", "1", "no limit"},
		"spec.backoffLimit":                                          {"7", "1", "refused"},
		"templates[].retryStrategy.limit":                            {"no limit", "1", "refused"},
		"spec.tasks[].retries":                                       {"1", "1", "refused"},
		"JOB.retry":                                                  {"not retried", "1", "refused"},
		"x-delivery-limit":                                           {"21", "1", "no limit"},
		"max_deliver":                                                {"no limit", "no limit", "no limit"},
		"retry.maxRetryCount":                                        {"refused", "1", "no limit"},
		"spec.delivery.retry":                                        {"1", "1", "refused"},
		"NAME.ribbon.MaxAutoRetriesNextServer":                       {"2", "1", ""},
		"spring.kafka.retry.topic.attempts":                          {"3", "refused", "refused"},
		"Routes[].Destination.NumRetries":                            {"2", "2", "refused"},
		"spec.retry_policy.num_retries":                              {"2", "1", "refused"},
		"AWS::SQS::Queue RedrivePolicy.maxReceiveCount":              {"", "refused", "refused"},
		"with.max_attempts of nick-fields/retry":                     {"refused", "refused", "refused"},
		"spring.rabbitmq.listener.simple.retry.max-retries (Boot 4)": {"", "1", ""},
		"spring.rabbitmq.listener.simple.retry.max-attempts (Boot 3 and before)": {"3", "", ""},
		"options.retries.numRetries (Gloo)":                                      {"2", "2", "refused"},
		"spec.retryPolicy.numRetries (OSM)":                                      {"2", "1", "refused"},
		"httpRoute.retryPolicy.maxRetries (App Mesh)":                            {"refused", "1", "refused"},
	}
	for k, w := range map[string][3]string{
		"botocore-config max_attempts": {"5", "1", "refused"}, "aws-sdk-go-v2 max_attempts": {"3", "refused", "refused"}, "polly max_retry_attempts": {"4", "refused", "refused"},
		"spring-retry max_attempts": {"3", "refused", "refused"}, "spring-7-retryable max_retries": {"4", "1", "refused"}, "spring-kafka-fixed-backoff max_attempts": {"10", "1", "refused"},
		"feign max_attempts": {"5", "refused", "refused"}, "azure-core-go max_retries": {"4", "4", "1"}, "temporal maximum_attempts": {"no limit", "no limit", "refused"},
		"celery max_retries": {"4", "1", "refused"}, "sidekiq retry": {"26", "1", "refused"}, "bullmq attempts": {"1", "refused", "refused"},
		"go-retryablehttp retry_max": {"5", "1", "refused"}, "urllib3 total": {"11", "1", "refused"}, "gax-java max_attempts": {"no limit", "no limit", "refused"},
		"airflow retries": {"1", "1", "refused"},
	} {
		kind, key, _ := strings.Cut(k, " ")
		want[key+" of "+kind] = w
	}
	want["calls.NAME.calls[].attempts"] = [3]string{"1", "refused", "refused"}
	seen := map[string]bool{}
	for _, row := range Readings() {
		three := map[string]string{"all": "3", "after the first": "4"}[row.Counts]
		if row.Setting == "JOB.retry" || strings.HasPrefix(row.Setting, "AWS::Lambda::EventInvokeConfig") {
			three = "refused" // these take 0 to 2
		}
		if row.Three != three {
			t.Errorf("%s %s: 3 means %s, want %s", row.Reader, row.Setting, row.Three, three)
		}
		w, ok := want[row.Setting]
		if !ok {
			w, ok = want[row.Setting+"#"+row.Reader]
		}
		if !ok {
			t.Errorf("no expectation for %s %s: %+v", row.Reader, row.Setting, row)
			continue
		}
		seen[row.Setting] = true
		for i, got := range []string{row.Absent, row.Zero, row.Minus} {
			if w[i] != "" && got != w[i] {
				t.Errorf("%s %s: %s means %s, want %s", row.Reader, row.Setting, []string{"absent", "0", "-1"}[i], got, w[i])
			}
		}
	}
	for _, r := range readers {
		if len(r.Samples) == 0 || r.Title == "" || len(r.Objects) == 0 {
			t.Errorf("reader %s has no sample, title or object list", r.Name)
		}
	}
}
