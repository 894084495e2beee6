package relplan

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

const (
	stagedBad = `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: pay, namespace: shop}
spec:
  hosts: [pay]
  http:
  - match: [{method: {exact: POST}}]
    timeout: 5s
    retries: {attempts: 3, perTryTimeout: 1s, retryOn: 5xx}
    route: [{destination: {host: pay}}]
`
	stagedReadme = "# Notes\n\nretry twice, then ask\n"
)

// stagedRepository is a git repository with the files staged.
func stagedRepository(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}} {
		c := exec.Command("git", args...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return dir
}

// TestPreCommitHook runs the entry of the hook on the staged files, as pre-commit does.
func TestPreCommitHook(t *testing.T) {
	src, err := os.ReadFile(".pre-commit-hooks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var hooks []struct{ ID, Entry, Language string }
	if err := yaml.Unmarshal(src, &hooks); err != nil || len(hooks) != 1 || hooks[0].Language != "golang" {
		t.Fatalf("%v, %+v", err, hooks)
	}
	onPath := buildBinary(t)
	for _, tt := range []struct {
		name  string
		files map[string]string
		exit  int
		want  string
	}{
		{"a bad file", map[string]string{"deploy/vs.yaml": stagedBad, "README.md": stagedReadme}, 1, "retry-non-idempotent"},
		{"a good file", map[string]string{"deploy/vs.yaml": strings.Replace(stagedBad, "POST", "GET", 1)}, 0, "0 errors"},
		{"nothing to read", map[string]string{"README.md": stagedReadme, "notes.txt": "hello\n"}, 0, "0 errors"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := stagedRepository(t, tt.files)
			c := exec.Command("bash", "-c", "git diff --cached --name-only --diff-filter=ACM -z | xargs -0 "+hooks[0].Entry+"; exit ${PIPESTATUS[1]}")
			c.Dir, c.Env = dir, append(os.Environ(), "PATH="+onPath+string(os.PathListSeparator)+os.Getenv("PATH"))
			out, err := c.CombinedOutput()
			code := c.ProcessState.ExitCode()
			if code == 123 {
				code = 1 // xargs: a command failed
			}
			if code != tt.exit || !strings.Contains(string(out), tt.want) {
				t.Errorf("exit %d, %v:\n%s", code, err, out)
			}
		})
	}
}

// TestAction runs the shell step of the GitHub Action as the runner does: bash with -e
// and pipefail in the checked out repository, the action beside it.
func TestAction(t *testing.T) {
	src, err := os.ReadFile(".ci/action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var action struct {
		Inputs map[string]struct{ Default string }
		Runs   struct {
			Using string
			Steps []struct {
				Shell, Run string
				Env        map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(src, &action); err != nil {
		t.Fatal(err)
	}
	step := action.Runs.Steps[len(action.Runs.Steps)-1]
	if action.Runs.Using != "composite" || step.Shell != "bash" || step.Env["PATHS"] != "${{ inputs.paths }}" || step.Env["FAIL_ON"] != "${{ inputs.fail-on }}" {
		t.Fatalf("%+v", action)
	}
	here, err := filepath.Abs(".ci")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, failOn, method string
		exit                 int
	}{{"an error fails", action.Inputs["fail-on"].Default, "POST", 1}, {"a warning does not", action.Inputs["fail-on"].Default, "GET", 0}, {"unless asked", "warning", "GET", 1}} {
		t.Run(tt.name, func(t *testing.T) {
			dir := stagedRepository(t, map[string]string{"deploy/vs.yaml": strings.Replace(stagedBad, "POST", tt.method, 1)})
			summary := filepath.Join(t.TempDir(), "summary.md")
			c := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step.Run)
			c.Dir = dir
			c.Env = append(os.Environ(), "GITHUB_ACTION_PATH="+here, "RUNNER_TEMP="+t.TempDir(), "GITHUB_STEP_SUMMARY="+summary, "PATHS="+action.Inputs["paths"].Default, "FAIL_ON="+tt.failOn)
			out, err := c.CombinedOutput()
			if code := c.ProcessState.ExitCode(); code != tt.exit {
				t.Fatalf("exit %d, %v:\n%s", code, err, out)
			}
			page, err := os.ReadFile(summary)
			if err != nil || !strings.Contains(string(page), "| wildcard-retry-on |") {
				t.Errorf("the summary: %v\n%s", err, page)
			}
		})
	}
}
