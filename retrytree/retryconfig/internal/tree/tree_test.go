package tree

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// plain gives the value as encoding/json would decode it, numbers as json.Number.
func plain(n *Node) any {
	switch {
	case n.Is(Map):
		out := map[string]any{}
		for _, e := range n.Entries {
			out[e.Key] = plain(e.Value)
		}
		return out
	case n.Is(Seq):
		out := []any{}
		for _, it := range n.Items {
			out = append(out, plain(it))
		}
		return out
	case n.Is(Null):
		return nil
	case n.Quoted:
		return n.Text
	case n.Text == "true" || n.Text == "false":
		return n.Text == "true"
	}
	return json.Number(n.Text)
}

func randomJSON(r *rand.Rand, depth int) any {
	switch k := r.IntN(8); {
	case depth > 4 || k < 3:
		return []any{nil, true, false, json.Number("-12.5e3"), json.Number("0"), "a\"\\/\b\f\n\r\té\u2028🚲", ""}[r.IntN(7)]
	case k < 6:
		out := map[string]any{}
		for range r.IntN(4) {
			out[string(rune('a'+r.IntN(26)))+"\t\""] = randomJSON(r, depth+1)
		}
		return out
	}
	out := []any{}
	for range r.IntN(4) {
		out = append(out, randomJSON(r, depth+1))
	}
	return out
}

// TestJSONAgainstStandard compares with encoding/json on random values.
func TestJSONAgainstStandard(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 5000 {
		src, err := json.MarshalIndent(randomJSON(r, 0), "", strings.Repeat(" ", r.IntN(3)))
		if err != nil {
			t.Fatal(err)
		}
		n, err := ParseJSON(src)
		if err != nil {
			t.Fatalf("%s: %v", src, err)
		}
		got, _ := json.Marshal(plain(n))
		var std any
		d := json.NewDecoder(strings.NewReader(string(src)))
		d.UseNumber()
		if err := d.Decode(&std); err != nil {
			t.Fatal(err)
		}
		if want, _ := json.Marshal(std); string(got) != string(want) {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
}

func TestJSONErrors(t *testing.T) {
	tests := []struct{ reason, src, want string }{
		{"comments and trailing commas", "// c\n{\"a\": [1, /* x */ 2,],}\n", ""},
		{"two values", "{} {}", "line 1, column 4: text after the end"},
		{"a word", "{\"a\": yes}", "line 1, column 7: expected a value"},
		{"no colon", "{\"a\" 1}", "expected :"},
		{"no comma", "[1 2]", "line 1, column 4: expected , or ]"},
		{"open string", "[\"a\n]", "a string that does not end"},
		{"open comment", "/* x", "a comment that does not end"},
		{"bad escape", `["\q"]`, "unknown escape"},
		{"bad code point", `["\u12"]`, "hexadecimal"},
		{"columns count characters", "{\"é🚲\": ?}", "line 1, column 8"},
		{"depth", strings.Repeat("[", 500), "nested deeper"},
	}
	for _, tt := range tests {
		_, err := ParseJSON([]byte(tt.src))
		if got := ""; err != nil {
			got = err.Error()
			if tt.want == "" || !strings.Contains(got, tt.want) {
				t.Errorf("%s: %s, want %q", tt.reason, got, tt.want)
			}
		} else if tt.want != "" {
			t.Errorf("%s: no error, want %q", tt.reason, tt.want)
		}
	}
}

func TestFlatFiles(t *testing.T) {
	docs, pairs := ParseProperties([]byte("\ufeff# c\r\na.b[0].c = x\r\n! c\nlong=1,\\\n  2\nkey\\:x: y\n#---\nd e\n"))
	var got []string
	for _, d := range docs {
		for _, p := range d {
			got = append(got, p.Key()+"="+p.Value.Text)
		}
		got = append(got, "--")
	}
	if s := strings.Join(got, " "); s != "a.b.0.c=x long=1,2 key:x=y -- d=e --" || pairs != 3 {
		t.Errorf("%q, %d pairs", s, pairs)
	}
	sections, other := ParseINI([]byte("top = 1\n[default]\n# c\nregion = eu ; where\ns3 =\n  max = 5\n[profile x]\nbad line\n"))
	if len(sections) != 3 || other != 1 || sections[1].Name != "default" || sections[1].Props[0].Value.Text != "eu" || sections[1].Props[1].Value.Get("max").Str() != "5" {
		t.Errorf("%+v, %d other", sections, other)
	}
	n, err := ParseJSON([]byte(`{"a.b": {"c": [1, {"d": null}]}, "e": {}}`))
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, p := range n.Flatten() {
		keys = append(keys, p.Key())
	}
	if s := strings.Join(keys, " "); s != "a.b.c.0 a.b.c.1.d e" {
		t.Error(s)
	}
}
