package lower_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/relplan/relplan/modelcheck"
	"github.com/relplan/relplan/specs/lower"
)

// The crash table of a protocol is drawn by hand in the literature: these are
// its rows, line and event, and which promises each breaks.
func TestWindows(t *testing.T) {
	tests := []struct {
		file   string
		broken map[string]string // "line event" -> numbers of the promises broken
		rows   int
		reason string
	}{
		{"a-inbox-same-transaction", map[string]string{}, 6, "inbox and effect commit together: every window is safe"},
		{"b-setnx-before-write", map[string]string{"17 answer_lost": "2 3", "21 crash": "2 3"}, 6,
			"between the mark and the effect the effect is lost"},
		{"c-write-before-setnx", map[string]string{"22 answer_lost": "1", "25 crash": "1"}, 8,
			"between the effect and the mark the effect happens twice"},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			for _, v := range load(t, "../testdata/"+tt.file+".yaml") {
				rows, _, err := lower.Windows(context.Background(), v, modelcheck.Options{Workers: 1})
				if err != nil {
					t.Fatal(err)
				}
				if len(rows) != tt.rows {
					t.Errorf("%d rows, want %d", len(rows), tt.rows)
				}
				for _, w := range rows {
					var broken []string
					for i, p := range w.Promises {
						if p.Verdict == modelcheck.Broken {
							broken = append(broken, fmt.Sprint(i+1))
						}
					}
					key := fmt.Sprintf("%d %s", w.Line, w.Event)
					if got := strings.Join(broken, " "); got != tt.broken[key] {
						t.Errorf("%s: breaks %q, want %q: %s", key, got, tt.broken[key], tt.reason)
					}
					if len(w.Durable) == 0 || w.Next == "" || w.After == "" {
						t.Errorf("%s: an empty column: %+v", key, w)
					}
				}
			}
		})
	}
}
