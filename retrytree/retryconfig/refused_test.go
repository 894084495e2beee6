package retryconfig

import (
	"fmt"
	"strings"
	"testing"
)

// facts lists "rule line:column" of a reading.
func facts(f *File, rules ...string) (out []string) {
	for _, x := range f.Facts {
		for _, r := range rules {
			if x.Rule == r {
				out = append(out, fmt.Sprintf("%s %d:%d", r, x.Line, x.Column))
			}
		}
	}
	return out
}

// TestRefused: what a product refuses has no numbers and no defaults, and each cause is
// reported once.
func TestRefused(t *testing.T) {
	route := "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: a}\nspec: {http: [{timeout: 5s, retries: {attempts: 2, %s}, route: [{destination: {host: a}}]}]}\n"
	r4j := "resilience4j.retry:\n  configs:\n    default: {maxAttempts: 4}\n    slow: {waitDuration: 2s}\n  instances:\n    a: {%s}\n"
	tests := []struct {
		name, file, text string
		attempts         string
		facts            []string
		refused          string
	}{
		{"Istio, half a millisecond", "vs.yaml", fmt.Sprintf(route, "perTryTimeout: 1.5ms"), "refused", []string{"invalid-duration 4:67"}, "whole milliseconds"},
		{"Istio, white space: the admission check refuses, the converter trims", "vs.yaml", fmt.Sprintf(route, `retryOn: "5xx, reset,503 "`), "3",
			[]string{"invalid-policy-rejected 4:61"}, ""},
		{"Istio, a number that is no status", "vs.yaml", fmt.Sprintf(route, `retryOn: "503,599"`), "3", []string{"unknown-condition 4:61"}, ""},
		{"Envoy refuses all for one duration", "envoy.yaml", "virtual_hosts:\n- name: a\n  domains: ['*']\n  routes:\n  - match: {prefix: /}\n    route: {cluster: a, timeout: 100ms, retry_policy: {retry_on: 5xx}}\n",
			"refused", []string{"invalid-duration 6:34", "invalid-policy-rejected 6:34"}, "100ms"},
		{"AWS, not a number", "config", "[default]\nmax_attempts = abc\nretry_mode = standard\n", "refused", []string{"invalid-policy-rejected 2:1"}, "abc"},
		{"Resilience4j, base that is not defined", "application.yml", fmt.Sprintf(r4j, "baseConfig: slo"), "refused", []string{"invalid-policy-rejected 6:21"}, `did you mean "slow"?`},
		{"Resilience4j, base of another spelling", "application.yml", fmt.Sprintf(r4j, "baseConfig: Slow"), "refused", []string{"invalid-policy-rejected 6:21"}, "not among"},
		{"Resilience4j, base over the default", "application.yml", fmt.Sprintf(r4j, "baseConfig: slow"), "4", nil, ""},
		{"Resilience4j, base in a circle", "application.yml", strings.Replace(fmt.Sprintf(r4j, "baseConfig: slow"), "waitDuration: 2s", "baseConfig: slow", 1), "refused", []string{"invalid-policy-rejected 4:24"}, "comes back"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := Parse(tt.file, []byte(tt.text))
			checkFile(t, f)
			if len(f.Hops) != 1 {
				t.Fatalf("%d hops, %s", len(f.Hops), f.Reason)
			}
			h := f.Hops[0]
			got := facts(f, "invalid-duration", "invalid-policy-rejected", "unknown-condition")
			if h.AttemptsText() != tt.attempts || strings.Join(got, " ") != strings.Join(tt.facts, " ") || !strings.Contains(h.Refused, tt.refused) || (h.Refused == "") != (tt.refused == "") {
				t.Errorf("attempts %s, refused %q, facts %v", h.AttemptsText(), h.Refused, got)
			}
			if h.Refused != "" && (len(h.Hidden) > 0 || h.Default) {
				t.Errorf("defaults of a refused policy: %v", h.Hidden)
			}
			if d := facts(f, "implicit-default-retry", "version-dependent-default"); h.Refused != "" && len(d) > 0 {
				t.Errorf("defaults of a refused policy are reported: %v", d)
			}
		})
	}
}

// TestResilience4jIgnored: the largest wait counts only beside what it needs.
func TestResilience4jIgnored(t *testing.T) {
	tests := []struct {
		set     string
		last    string // largest wait before attempt 8
		ignored int
	}{
		{"enableExponentialBackoff: true, exponentialMaxWaitDuration: 4s", "11.390625s", 1},
		{"enableExponentialBackoff: true, exponentialBackoffMultiplier: 2, exponentialMaxWaitDuration: 4s", "4s", 0},
		{"enableExponentialBackoff: true, exponentialBackoffMultiplier: 2, exponentialMaxWaitDuration: 4s, enableRandomizedWait: true", "1m36s", 1},
		{"enableExponentialBackoff: true, exponentialBackoffMultiplier: 2, exponentialMaxWaitDuration: 4s, enableRandomizedWait: true, randomizedWaitFactor: 0.25", "5s", 0},
		{"enableExponentialBackoff: true, enableRandomizedWait: true, randomizedWaitFactor: 0.25", "17.0859375s", 1},
		{"enableRandomizedWait: true, randomizedWaitFactor: 0.25", "1.25s", 0},
	}
	for _, tt := range tests {
		f := Parse("application.yml", []byte("resilience4j.retry.instances.a: {maxAttempts: 8, waitDuration: 1s, "+tt.set+"}\n"))
		_, last := f.Hops[0].Waits.Wait(7)
		if n := len(facts(f, "backoff-setting-ignored")); last.String() != tt.last || n != tt.ignored {
			t.Errorf("%s: last wait %v, %d settings ignored", tt.set, last, n)
		}
	}
}
