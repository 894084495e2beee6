package anomaly

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/relplan/relplan/internal/engines"
)

// Case is one question with its schedule.
type Case struct {
	Name     string // file name without its ending
	Group    string
	Title    string // "lost update"
	Asks     string // what happened if the answer is yes
	Notes    []string
	AnyOrder bool   // the question makes sense for every order of the sessions' statements
	lines    []line // of setup, then of the sessions
	happened []line
	without  []line // profiles that cannot be asked, with the reason
	spec     []byte
}

// line is one line of a schedule: `A[mysql]: try x = insert ..`.
type line struct {
	no   int
	key  string   // setup, a session, happened, without
	only []string // engines or profiles; empty: all
	name string   // what the statement's answer is called
	try  bool     // a failure does not end the transaction
	text string
}

var (
	lineForm = regexp.MustCompile(`^([A-Za-z]+)(?:\[([a-z0-9, -]+)\])?:\s+(.*)$`)
	nameForm = regexp.MustCompile(`^([a-z][a-z0-9]*) = (.*)$`)
)

// parseCase reads a schedule. Every error names its line.
func parseCase(name, text string) (*Case, error) {
	c := &Case{Name: name}
	for i, raw := range strings.Split(text, "\n") {
		raw = strings.TrimSpace(raw)
		if raw == "" || strings.HasPrefix(raw, "#") {
			continue
		}
		m := lineForm.FindStringSubmatch(raw)
		if m == nil {
			return nil, fmt.Errorf("%s:%d: expected `key: text` or `key[engine]: text`, found %q", name, i+1, raw)
		}
		l := line{no: i + 1, key: m[1], text: m[3]}
		if m[2] != "" {
			for _, o := range strings.Split(m[2], ",") {
				l.only = append(l.only, strings.TrimSpace(o))
			}
		}
		if err := c.add(l); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, i+1, err)
		}
	}
	switch {
	case c.Title == "" || c.Asks == "":
		return nil, fmt.Errorf("%s: title: and asks: are needed", name)
	case len(c.happened) == 0:
		return nil, fmt.Errorf("%s: happened: is needed, a condition in SQL", name)
	}
	return c, nil
}

func (c *Case) add(l line) error {
	for _, o := range l.only {
		if !slices.ContainsFunc(Profiles, func(p Profile) bool { return p.is(o) }) {
			return fmt.Errorf("%q is neither an engine nor a profile", o)
		}
	}
	switch {
	case l.key == "title":
		c.Title = l.text
	case l.key == "asks":
		c.Asks = l.text
	case l.key == "note":
		c.Notes = append(c.Notes, l.text)
	case l.key == "orders" && l.text == "any":
		c.AnyOrder = true
	case l.key == "without":
		c.without = append(c.without, l)
	case l.key == "happened":
		c.happened = append(c.happened, l)
	case l.key == "setup":
		c.lines = append(c.lines, l)
	case len(l.key) == 1 && l.key >= "A" && l.key <= "Z":
		l.text, l.try = strings.CutPrefix(l.text, "try ")
		if m := nameForm.FindStringSubmatch(l.text); m != nil {
			l.name, l.text = m[1], m[2]
		}
		c.lines = append(c.lines, l)
	default:
		return fmt.Errorf("%q is no key: expected title, asks, note, orders: any, setup, a session A to Z, happened or without", l.key)
	}
	return nil
}

// orders lists every way to merge the statements of two sessions, each in its
// own order; a begin goes with the statement after it.
func orders(steps []line) [][]line {
	var names []string
	units := map[string][][]line{}
	for _, l := range steps {
		if !slices.Contains(names, l.key) {
			names = append(names, l.key)
		}
		u := units[l.key]
		if n := len(u); n > 0 && u[n-1][len(u[n-1])-1].text == "begin" {
			u[n-1] = append(u[n-1], l)
		} else {
			u = append(u, []line{l})
		}
		units[l.key] = u
	}
	if len(names) != 2 {
		return [][]line{steps}
	}
	return merge(units[names[0]], units[names[1]])
}

func merge(a, b [][]line) [][]line {
	if len(a) == 0 || len(b) == 0 {
		return [][]line{slices.Concat(append(slices.Clone(a), b...)...)}
	}
	var out [][]line
	for _, rest := range merge(a[1:], b) {
		out = append(out, slices.Concat(a[0], rest))
	}
	for _, rest := range merge(a, b[1:]) {
		out = append(out, slices.Concat(b[0], rest))
	}
	return out
}

// holdsFor says whether the line belongs to the profile's schedule.
func (l line) holdsFor(p Profile) bool {
	return len(l.only) == 0 || slices.ContainsFunc(l.only, p.is)
}

// steps lists the setup and the statements of the sessions under a profile.
func (c *Case) steps(p Profile) (setup, steps []line) {
	for _, l := range c.lines {
		switch {
		case !l.holdsFor(p):
		case l.key == "setup":
			setup = append(setup, l)
		default:
			steps = append(steps, l)
		}
	}
	return setup, steps
}

// unaskable gives the reason why the case cannot be asked under a profile.
func (c *Case) unaskable(p Profile) (reason string, yes bool) {
	for _, l := range c.without {
		if l.holdsFor(p) {
			return l.text, true
		}
	}
	return "", false
}

// condition is the question in SQL.
func (c *Case) condition(p Profile) (string, error) {
	for _, l := range c.happened {
		if l.holdsFor(p) {
			return l.text, nil
		}
	}
	return "", fmt.Errorf("%s: no happened: for %s", c.Name, p.ID)
}

// Schedule is the schedule as an engine of that kind gets it, one line per
// statement: "A  x = select v from acct where k = 1".
func (c *Case) Schedule(kind engines.Kind) []string {
	i := slices.IndexFunc(Profiles, func(p Profile) bool { _, no := c.unaskable(p); return p.Kind == kind && !no })
	if i < 0 {
		return nil
	}
	var out []string
	_, steps := c.steps(Profiles[i])
	for _, l := range steps {
		out = append(out, l.key+"  "+l.String())
	}
	return out
}

// String is the statement with the name of its answer.
func (l line) String() string {
	if l.name != "" {
		return l.name + " = " + l.text
	}
	return l.text
}
