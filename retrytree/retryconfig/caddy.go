package retryconfig

import (
	"strings"
	"time"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/blocks"
	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// caddyReader reads reverse_proxy blocks of a Caddyfile and of Caddy's JSON.
// Source: caddy v2.11.9 modules/caddyhttp/reverseproxy (tryAgain, Provision).
var caddyReader = &Reader{
	Name:    "caddy",
	Title:   "Caddyfile, Caddy JSON",
	Objects: []string{"reverse_proxy", "apps.http.servers"},
	refusal: "Caddy does not start",
	Samples: []Reading{{Setting: "lb_retries", Counts: "after the first", Name: "Caddyfile", Text: `a.example {
	reverse_proxy n1:80 n2:80 {
		lb_try_interval 250ms
		lb_retries @N@
	}
}
`}},
	claims: func(d *doc) bool { return d.root.Get("apps", "http", "servers").Is(tree.Map) },
	whole:  func(in *input) bool { return in.syn == synCaddy },
	read: func(in *input, own []*doc) {
		for _, d := range own {
			in.caddyJSON(d.root)
		}
		if in.syn != synCaddy {
			return
		}
		body, err := blocks.ParseCaddy(in.file.Source)
		if err != nil {
			in.broken(err)
			return
		}
		in.caddyBody(body, "*")
	},
}

func (in *input) caddyBody(body []*blocks.Stmt, site string) {
	for _, s := range body {
		switch {
		case s.Name() == "reverse_proxy" || s.Name() == "php_fastcgi":
			in.caddyProxy(s, site)
		case s.Block && isDirective(s.Name()):
			in.caddyBody(s.Body, site)
		case s.Block:
			name := s.Name()
			if name == "" {
				name = site
			}
			in.caddyBody(s.Body, strings.TrimSuffix(name, ","))
		}
	}
}

func isDirective(name string) bool {
	switch name {
	case "handle", "handle_path", "route", "handle_errors", "":
		return true
	}
	return strings.HasPrefix(name, "(") || strings.HasPrefix(name, "@")
}

// caddySettings is what both spellings give.
type caddySettings struct {
	retries, duration, interval, header, dial *tree.Node
	match                                     []string // methods that retry_match lets through
	hasMatch                                  bool
	at                                        tree.Pos
}

func (in *input) caddyProxy(s *blocks.Stmt, site string) {
	name := site
	args := s.Args()
	if len(args) > 0 && (strings.HasPrefix(args[0], "/") || strings.HasPrefix(args[0], "@") || args[0] == "*") {
		name, args = args[0], args[1:]
	}
	h := in.hop("caddy.reverse_proxy", name, s.Pos)
	h.To = args
	scalar := func(body []*blocks.Stmt, key string) *tree.Node {
		st := blocks.Find(body, key)
		if st == nil || len(st.Args()) == 0 {
			return nil
		}
		return &tree.Node{Kind: tree.Scalar, Text: st.Args()[0], Pos: st.Pos}
	}
	set := caddySettings{retries: scalar(s.Body, "lb_retries"), duration: scalar(s.Body, "lb_try_duration"), interval: scalar(s.Body, "lb_try_interval"), at: s.Pos}
	if t := blocks.Find(s.Body, "to"); t != nil {
		h.To = append(h.To, t.Args()...)
	}
	if tr := blocks.Find(s.Body, "transport"); tr != nil {
		set.header, set.dial = scalar(tr.Body, "response_header_timeout"), scalar(tr.Body, "dial_timeout")
	}
	if m := blocks.Find(s.Body, "lb_retry_match"); m != nil {
		set.hasMatch = true
		for _, b := range append(m.Body, &blocks.Stmt{Words: m.Args()}) {
			if b.Name() == "method" {
				set.match = append(set.match, b.Args()...)
			}
		}
	}
	in.caddyHop(h, set)
}

func (in *input) caddyJSON(root *tree.Node) {
	root.Walk(func(_ []string, n *tree.Node) bool {
		if n.Get("handler").Str() != "reverse_proxy" {
			return true
		}
		name := "*"
		for _, u := range n.Get("upstreams").List() {
			name = u.Get("dial").Str()
			break
		}
		h := in.hop("caddy.reverse_proxy", name, n.Pos)
		for _, u := range n.Get("upstreams").List() {
			h.To = append(h.To, u.Get("dial").Str())
		}
		lb := n.Get("load_balancing")
		set := caddySettings{retries: lb.Get("retries"), duration: lb.Get("try_duration"), interval: lb.Get("try_interval"),
			header: n.Get("transport", "response_header_timeout"), dial: n.Get("transport", "dial_timeout"), at: n.Pos}
		for _, m := range lb.Get("retry_match").List() {
			set.hasMatch = true
			for _, v := range m.Get("method").List() {
				set.match = append(set.match, v.Str())
			}
		}
		in.caddyHop(h, set)
		return true
	})
}

// caddyJSONDuration also takes nanoseconds as a number.
var caddyAny = grammar{caddyGrammar.name, func(s string, quoted bool) (time.Duration, error) {
	if d, err := whole(s, time.Nanosecond); err == nil && !quoted && s != "0" {
		return d, nil
	}
	return caddyDuration(s, quoted)
}}

func (in *input) caddyHop(h *Hop, s caddySettings) {
	g := caddyGrammar
	if in.syn != synCaddy {
		g = caddyAny
	}
	n := or(in.count(h, "lb_retries", s.retries, number{Min: 0, Max: 1 << 31, Floats: true}), 0)
	duration := or(in.duration(h, "lb_try_duration", s.duration, g), 0)
	interval := or(in.duration(h, "lb_try_interval", s.interval, g), 0)
	if duration > 0 && interval == 0 {
		interval = 250 * time.Millisecond
		h.hidden("lb_try_interval 250ms")
	}
	h.Waits = Backoff{Growth: Constant, Base: interval, Explicit: s.interval != nil, Line: s.interval.At().Line, Source: "lb_try_interval"}
	h.OverallKnown = true
	if header := in.duration(h, "response_header_timeout", s.header, g); header != nil && *header > 0 {
		dial := or(in.duration(h, "dial_timeout", s.dial, g), 3*time.Second)
		h.perTry(dp(addDur(dial, *header)))
	}
	if duration > 0 {
		h.Overall, h.StopsOnly = &duration, true
	}
	switch {
	case n == 0 && duration == 0:
		h.attempts(1)
		h.Written = "no lb_retries, no lb_try_duration"
		return
	case duration > 0:
		byTime := int64((duration+interval-1)/interval) + 1
		h.attempts(byTime)
		h.Written = "lb_try_duration " + duration.String() + ", an attempt each " + interval.String()
		if n > 0 && n+1 < byTime {
			h.retries("lb_retries", &n, 0)
		}
	default:
		h.retries("lb_retries", &n, 0)
	}
	h.Conditions = []string{"dial error"}
	h.TimeoutRetried = Yes
	h.Methods = []string{"GET"}
	if s.hasMatch {
		h.Methods = s.match
		h.MayHaveRun = Yes
	}
}
