package retryconfig

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// summary gives one line a hop: name, attempts, waits before the second and third one.
func summary(files ...*File) []string {
	var out []string
	for _, f := range files {
		for _, h := range f.Hops {
			_, w := h.Waits.Wait(1)
			out = append(out, strings.Join([]string{h.Name, h.AttemptsText(), w.String()}, " "))
		}
	}
	return out
}

// TestSpringDocuments holds the reading of settings of several documents to what Spring
// Boot does: later documents win, those of a profile hold with the profile only.
func TestSpringDocuments(t *testing.T) {
	const head = "resilience4j.retry.instances:\n  a: {maxAttempts: 3, waitDuration: 1s}\n  b: {maxAttempts: 2, waitDuration: 1s}\n---\n"
	tests := []struct {
		name, file, text string
		want             []string
	}{
		{"a later document wins, key by key", "application.yml", head + "resilience4j.retry.instances.a.max-attempts: 5\n", []string{"b 2 1s", "a 5 1s"}},
		{"a profile is a reading of its own", "application.yml", head + "spring.config.activate.on-profile: prod\nresilience4j.retry.instances.a.maxAttempts: 5\n",
			[]string{"a 3 1s", "b 2 1s", "a (profile prod) 5 1s"}},
		{"what a profile adds is not in force without it", "application.yml", head + "spring: {config: {activate: {on-profile: [x, y]}}}\nresilience4j.retry.instances.c.maxAttempts: 5\n",
			[]string{"a 3 1s", "b 2 1s", "c 5 500ms", "c 5 500ms"}},
		{"a profile that the file switches on", "application.yml", "spring.profiles.active: prod\n" + head + "spring.config.activate.on-profile: prod\nresilience4j.retry.instances.a.maxAttempts: 5\n",
			[]string{"b 2 1s", "a 5 1s"}},
		{"a group of profiles", "application.yml", "spring.profiles: {active: live, group: {live: [db, prod]}}\n" + head + "spring.config.activate.on-profile: prod & db\nresilience4j.retry.instances.a.maxAttempts: 5\n",
			[]string{"b 2 1s", "a 5 1s"}},
		{"not a profile", "application.yml", head + "spring.config.activate.on-profile: '!test'\nresilience4j.retry.instances.a.maxAttempts: 5\n", []string{"b 2 1s", "a 5 1s"}},
		{"two profiles together", "application.yml", head + "spring.config.activate.on-profile: prod & (eu | us)\nresilience4j.retry.instances.a.maxAttempts: 5\n",
			[]string{"a 3 1s", "b 2 1s", "a (profile eu, prod, us) 5 1s"}},
		{"the older key", "application.yml", head + "spring.profiles: prod\nresilience4j.retry.instances.a.maxAttempts: 5\n", []string{"a 3 1s", "b 2 1s", "a (profile prod) 5 1s"}},
		{"a list replaces a list", "application.yml", "spring.cloud.gateway.routes:\n- {id: a, uri: http://a, filters: [Retry=1, Retry=2]}\n---\nspring.cloud.gateway.routes:\n- {id: b, uri: http://b, filters: [Retry=4]}\n",
			[]string{"b 5 0s"}},
		{"properties", "application.properties", "resilience4j.retry.instances.a.maxAttempts=3\n#---\nspring.config.activate.on-profile=prod\nresilience4j.retry.instances.a.maxAttempts=4\n#---\nresilience4j.retry.instances.a.waitDuration=2s\n",
			[]string{"a 3 2s", "a (profile prod) 4 2s"}},
		{"Quarkus", "application.properties", "a.B/c/Retry/maxRetries=1\na.B/c/Retry/jitter=0\n%dev.a.B/c/Retry/maxRetries=0\n", []string{"a.B/c 2 0s", "a.B/c (profile dev) 1 0s"}},
		{"a file of one profile, alone", "application-prod.yml", "resilience4j.retry.instances.a.maxAttempts: 4\n", []string{"a 4 500ms"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := Parse(tt.file, []byte(tt.text))
			checkFile(t, f)
			if diff := cmp.Diff(tt.want, summary(f)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestProfileExpressionUnread: a document whose condition cannot be read is left out and
// reported, never merged.
func TestProfileExpressionUnread(t *testing.T) {
	for _, expr := range []string{"'${P}'", "'(a'", "'a &'", "'a & !a'"} {
		f := Parse("application.yml", []byte("resilience4j.retry.instances.a.maxAttempts: 3\n---\nspring.config.activate.on-profile: "+expr+"\nresilience4j.retry.instances.a.maxAttempts: 9\n"))
		if diff := cmp.Diff([]string{"a 3 500ms"}, summary(f)); diff != "" {
			t.Errorf("%s: %s", expr, diff)
		}
		found := 0
		for _, x := range f.Facts {
			if x.Rule == "unmodelled-mechanism" && strings.Contains(x.Message, "profile expression") {
				found++
			}
		}
		if found != 1 {
			t.Errorf("%s: %d remarks that the document is left out", expr, found)
		}
	}
}

// TestSpringFilesOfAFolder: application-PROFILE.yml is read over application.yml.
func TestSpringFilesOfAFolder(t *testing.T) {
	files := readFolder(t, map[string]string{
		"application.yml":              "resilience4j.retry.instances:\n  a: {maxAttempts: 3, waitDuration: 2s}\n  b: {maxAttempts: 3, waitDuration: 2s}\n",
		"application-prod.yml":         "resilience4j.retry.instances.a.maxAttempts: 5\n",
		"application-same.properties":  "resilience4j.retry.instances.a.wait-duration=2000\n",
		"other/application-prod.yml":   "resilience4j.retry.instances.a.maxAttempts: 7\n",
		"application-limiter.yml":      "resilience4j.timelimiter.instances.b.timeoutDuration: 1s\n# retry\n",
		"bootstrap.yml":                "resilience4j.retry.instances.a.maxAttempts: 9\n",
		"application-kafka.properties": "spring.kafka.retry.topic.enabled=true\nspring.kafka.retry.topic.attempts=2\n",
	})
	want := []string{"kafka retry topics 2 1s", "b 3 2s", "a 5 2s", "a 3 2s", "b 3 2s", "a 9 500ms", "a 7 500ms"}
	if diff := cmp.Diff(want, summary(files...)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, f := range files {
		checkFile(t, f)
	}
}

// readFolder writes the files into a folder and reads it.
func readFolder(t *testing.T, texts map[string]string) []*File {
	t.Helper()
	root := t.TempDir()
	for name, text := range texts {
		p := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := ReadPaths(context.Background(), []string{root}, WalkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
