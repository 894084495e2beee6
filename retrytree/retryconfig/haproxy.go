package retryconfig

import (
	"strings"
	"time"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// haproxyReader reads backend and listen sections with the defaults that apply.
// Source: HAProxy configuration.txt (retries, retry-on, option redispatch).
var haproxyReader = &Reader{
	Name:    "haproxy",
	Title:   "haproxy.cfg",
	Objects: []string{"backend", "listen"},
	refusal: "HAProxy does not start",
	Samples: []Reading{{Setting: "retries", Counts: "after the first", Name: "haproxy.cfg", Text: `defaults
  mode http
  timeout connect 5s
  timeout server 30s
backend a
  retries @N@
  server s1 10.0.0.1:80
  server s2 10.0.0.2:80
`}},
	whole: func(in *input) bool { return in.syn == synHAProxy },
	read:  func(in *input, _ []*doc) { in.haproxy() },
}

// haproxySection holds the lines of a section by their first words.
type haproxySection struct {
	kind, name, from string
	line             tree.Line
	lines            []haproxyLine
}

type haproxyLine struct {
	at    tree.Pos
	words []string
}

func (in *input) haproxy() {
	var sections []*haproxySection
	for _, l := range in.text {
		text := l.Text
		if i := strings.Index(text, "#"); i >= 0 && (i == 0 || text[i-1] != '\\') {
			text = text[:i]
		}
		w := strings.Fields(text)
		if len(w) == 0 {
			continue
		}
		switch w[0] {
		case "global", "defaults", "frontend", "backend", "listen", "peers", "resolvers", "userlist", "cache", "program", "mailers", "ring", "http-errors", "log-forward", "fcgi-app", "crt-store":
			s := &haproxySection{kind: w[0], line: l}
			if len(w) > 1 && w[1] != "from" {
				s.name = w[1]
			}
			for i := 1; i+1 < len(w); i++ {
				if w[i] == "from" {
					s.from = w[i+1]
				}
			}
			sections = append(sections, s)
		default:
			if n := len(sections); n > 0 {
				col := len([]rune(l.Text)) - len([]rune(strings.TrimLeft(l.Text, " \t"))) + 1
				sections[n-1].lines = append(sections[n-1].lines, haproxyLine{tree.Pos{Line: l.N, Col: col}, w})
			}
		}
	}
	for i, s := range sections {
		if s.kind != "backend" && s.kind != "listen" {
			continue
		}
		chain := []*haproxySection{s}
		for j, cur := i, s; ; {
			d := haproxyDefaults(sections, j, cur.from)
			if d < 0 {
				break
			}
			chain = append(chain, sections[d])
			if cur = sections[d]; cur.from == "" || len(chain) > 20 {
				break
			}
			j = d
		}
		in.haproxyBackend(s, chain)
	}
}

// haproxyDefaults finds the defaults section that applies: the named one, or the last
// one before.
func haproxyDefaults(sections []*haproxySection, before int, name string) int {
	for j := len(sections) - 1; j >= 0; j-- {
		if d := sections[j]; d.kind == "defaults" && (name != "" && d.name == name && j != before || name == "" && j < before) {
			return j
		}
	}
	return -1
}

// haproxyFind gives the words after a keyword in the section or its defaults.
func haproxyFind(chain []*haproxySection, keys ...string) (args []string, at tree.Pos, ok bool) {
	for _, s := range chain {
		for i := len(s.lines) - 1; i >= 0; i-- {
			w := s.lines[i].words
			if len(w) >= len(keys) && strings.Join(w[:len(keys)], " ") == strings.Join(keys, " ") {
				return w[len(keys):], s.lines[i].at, true
			}
			if len(w) > len(keys) && w[0] == "no" && strings.Join(w[1:len(keys)+1], " ") == strings.Join(keys, " ") {
				return nil, tree.Pos{}, false
			}
		}
	}
	return nil, tree.Pos{}, false
}

var haproxyConditions = []string{"none", "conn-failure", "empty-response", "junk-response", "response-timeout", "0rtt-rejected", "401", "403", "404", "408", "425", "429",
	"500", "501", "502", "503", "504", "all-retryable-errors"}

func (in *input) haproxyBackend(s *haproxySection, chain []*haproxySection) {
	name := s.name
	if name == "" {
		name = s.kind
	}
	h := in.hop("haproxy."+s.kind, name, tree.Pos{Line: s.line.N, Col: 1})
	servers := 0
	for _, l := range s.lines {
		if (l.words[0] == "server" || l.words[0] == "server-template") && len(l.words) > 2 {
			servers++
			h.To = append(h.To, l.words[2])
		}
	}
	mode, _, _ := haproxyFind(chain, "mode")
	timeout := func(key string) *time.Duration {
		a, at, ok := haproxyFind(chain, "timeout", key)
		if !ok || len(a) == 0 {
			return nil
		}
		return in.duration(h, "timeout "+key, &tree.Node{Kind: tree.Scalar, Text: a[0], Pos: at}, haproxyGrammar)
	}
	connect, server := timeout("connect"), timeout("server")
	args, at, written := haproxyFind(chain, "retries")
	var n *int64
	if written && len(args) > 0 {
		n = in.count(h, "retries", &tree.Node{Kind: tree.Scalar, Text: args[0], Pos: at}, number{Min: 0, Max: 1<<31 - 1})
		h.Line, h.Column = s.line.N, 1
	}
	h.retries("retries", n, 3)
	h.OverallKnown = true
	if connect != nil && server != nil {
		h.perTry(dp(addDur(*connect, *server)))
		h.note("one attempt: %v to connect, %v for the server between two operations", *connect, *server)
	}
	in.haproxyWaits(h, chain, connect, servers)
	in.haproxyConditions(h, chain, len(mode) > 0 && mode[0] == "http")
	if !written && h.Retries() {
		h.Default = true
		h.hidden("3 more attempts to connect")
		in.fact("implicit-default-retry", tree.Pos{}, h, "nobody wrote retries, still a failed connection is tried 3 more times").Value = "4"
	}
	if _, _, ok := haproxyFind(chain, "option", "redispatch"); !ok && h.Retries() && servers > 1 {
		in.fact("sticky-retry", tree.Pos{}, h, "without option redispatch every attempt goes to the same server")
	}
}

// haproxyWaits: the pause is for the same server only, and redispatch leaves it out.
func (in *input) haproxyWaits(h *Hop, chain []*haproxySection, connect *time.Duration, servers int) {
	wait := time.Second
	if connect != nil {
		wait = min(wait, *connect)
	}
	h.Waits = Backoff{Growth: Constant, Base: wait, Elsewhere: true, Source: "min(timeout connect, 1s) before the same server"}
	h.Waits.Low, h.Waits.High = 0, 1
	if h.PerTry == nil || h.Attempts == nil || h.Refused != "" || *h.Attempts < 2 {
		return
	}
	high := addDur(mulDur(*h.PerTry, *h.Attempts), mulDur(wait, *h.Attempts-1))
	h.Worst, h.WorstHigh, h.WorstLow = &high, &high, dp(mulDur(*h.PerTry, *h.Attempts))
}

func (in *input) haproxyConditions(h *Hop, chain []*haproxySection, http bool) {
	list, at, ok := haproxyFind(chain, "retry-on")
	h.TimeoutRetried = No
	h.Conditions = []string{"conn-failure"}
	if !ok {
		return
	}
	if !http {
		in.fact("dead-retry-policy", at, h, "retry-on works in mode http only")
		return
	}
	h.Conditions = list
	var codes []string
	for _, w := range list {
		if !contains(haproxyConditions, w) {
			in.badCondition(h, at, w)
		}
		codes = append(codes, w)
	}
	switch {
	case contains(list, "none"):
		h.attempts(1)
		h.Worst, h.WorstHigh, h.WorstLow = nil, nil, nil
		h.Written = "retry-on none"
	case contains(list, "all-retryable-errors"):
		in.fact("wildcard-retry-on", at, h, "all-retryable-errors takes whatever a release calls retryable")
	}
	if contains(list, "response-timeout") || contains(list, "all-retryable-errors") {
		h.TimeoutRetried = Yes
	}
	for _, w := range list {
		if w != "conn-failure" && w != "none" && w != "0rtt-rejected" && w != "425" {
			h.MayHaveRun = Yes
			in.haproxyGuard(h, chain)
		}
	}
	if !contains(list, "conn-failure") && !contains(list, "all-retryable-errors") && !contains(list, "none") {
		h.note("retry-on replaces the default: a failed connection is not retried")
	}
	if four := clientErrors(codes); len(four) > 0 {
		in.fact("retry-on-4xx", at, h, "%s is an answer to the request: the next attempt gets the same one", strings.Join(four, ", "))
	}
	if contains(list, "429") {
		in.fact("retry-on-429-without-retry-after", at, h, "429 is retried after at most one second, whatever the server asks for")
	}
}

// haproxyGuard notes the rule that keeps writes from being sent again.
func (in *input) haproxyGuard(h *Hop, chain []*haproxySection) {
	if args, _, ok := haproxyFind(chain, "http-request", "disable-l7-retry"); ok {
		if strings.Contains(strings.Join(args, " "), "METH_POST") {
			h.MayHaveRun = No
		}
	}
}
