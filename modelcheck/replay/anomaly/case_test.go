package anomaly

import (
	"slices"
	"strings"
	"testing"

	"github.com/relplan/relplan/internal/engines"
)

const small = `
title: lost update
asks: one is lost
setup: create table t (v int)
setup[mysql]: insert into t values (7)
A: begin
A[postgres-rc]: x = select v from t
B: try y2 = update t set v = 1
A: commit
happened[sqlite]: 1 = 0
happened: {x} = 7
without[sqlite]: it has no clocks
`

func TestParseCase(t *testing.T) {
	c, err := parseCase("small", small)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{
		"postgres-rc": "1: A begin | A x = select v from t | B y2 = update t set v = 1 | A commit",
		"mariadb-rr":  "2: A begin | B y2 = update t set v = 1 | A commit",
	} {
		p := Profiles[slices.IndexFunc(Profiles, func(p Profile) bool { return p.ID == id })]
		setup, steps := c.steps(p)
		var got []string
		for _, l := range steps {
			got = append(got, l.key+" "+l.String())
		}
		if g := string(rune('0'+len(setup))) + ": " + strings.Join(got, " | "); g != want {
			t.Errorf("%s: got %s, want %s", id, g, want)
		}
	}
	if why, no := c.unaskable(ProfilesOf(engines.SQLite)[0]); !no || why != "it has no clocks" {
		t.Errorf("without: %q, %v", why, no)
	}
	if cond, err := c.condition(ProfilesOf(engines.SQLite)[0]); err != nil || cond != "1 = 0" {
		t.Errorf("the first condition that fits: %q, %v", cond, err)
	}
	if l := c.lines[4]; !l.try || l.name != "y2" {
		t.Errorf("try and name: %+v", l)
	}
}

func TestParseCaseErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"title: x\nasks: y\nA begin", "bad:3: expected `key: text`"},
		{"title: x\nasks: y\nA[oracle]: begin", `bad:3: "oracle" is neither an engine nor a profile`},
		{"title: x\nasks: y\nresult: z", `bad:3: "result" is no key`},
		{"asks: y\nhappened: 1 = 1", "title: and asks: are needed"},
		{"title: x\nasks: y\nA: begin", "happened: is needed"},
	} {
		if _, err := parseCase("bad", c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %s", c.text, err, c.want)
		}
	}
}

func TestCatalogIsWhole(t *testing.T) {
	cases, err := Catalog()
	if err != nil {
		t.Fatal(err)
	}
	entries, err := files.ReadDir("catalog")
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2*len(cases) {
		t.Errorf("%d files for %d cases: a schedule and a spec each are expected, and groups must name them all", len(entries), len(cases))
	}
	for _, c := range cases {
		for _, p := range Profiles {
			if _, no := c.unaskable(p); no {
				continue
			}
			_, steps := c.steps(p)
			if _, err := c.condition(p); err != nil || len(steps) == 0 {
				t.Errorf("%s under %s: %d statements, %v", c.Name, p.ID, len(steps), err)
			}
		}
	}
}
