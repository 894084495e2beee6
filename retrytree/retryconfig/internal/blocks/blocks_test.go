package blocks

import (
	"fmt"
	"strings"
	"testing"
)

func text(body []*Stmt) string {
	var out []string
	for _, s := range body {
		t := strings.Join(s.Words, " ")
		if s.Block {
			t += " {" + text(s.Body) + "}"
		}
		out = append(out, t)
	}
	return strings.Join(out, "; ")
}

func TestParse(t *testing.T) {
	tests := []struct {
		reason, src, want string
		caddy             bool
	}{
		{"statements and blocks", "http { server { listen 80; } } # c\nuser x;", "http {server {listen 80}}; user x", false},
		{"several lines, quotes, variables", "log_format a\n  'x; {y}' \"z\\\"\";\nset $a ${b}c;", `log_format a x; {y} z"; set $a ${b}c`, false},
		{"Caddy: a statement a line", "a.example, b.example {\n\treverse_proxy /x {host}:80 {\n\t\tlb_retries 2\n\t}\n}\n", "a.example, b.example {reverse_proxy /x {host}:80 {lb_retries 2}}", true},
		{"Caddy: global options, a continued line", "{\n\tadmin off\n}\nx a \\\n b\n", " {admin off}; x a b", true},
		{"not closed", "http {", "error line 1", false},
		{"closed too often", "}", "error line 1", false},
		{"an open quote", "a 'b", "error line 1", false},
		{"deep", strings.Repeat("a {", 300), "error line 1", false},
	}
	for _, tt := range tests {
		parse := ParseNginx
		if tt.caddy {
			parse = ParseCaddy
		}
		body, err := parse([]byte(tt.src))
		got := text(body)
		if err != nil {
			got = fmt.Sprint("error ", err)
		}
		if got != tt.want && !(err != nil && strings.HasPrefix(got, tt.want)) {
			t.Errorf("%s: %q, want %q", tt.reason, got, tt.want)
		}
	}
}
