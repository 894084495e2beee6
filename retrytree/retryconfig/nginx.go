package retryconfig

import (
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/blocks"
	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// nginxReader reads nginx.conf: what is passed to the next server of a group.
// Source: nginx.org documentation of the proxy, grpc, fastcgi, uwsgi, scgi, memcached
// and stream proxy modules.
var nginxReader = &Reader{
	Name:    "nginx",
	Title:   "nginx.conf",
	Objects: []string{"location with proxy_pass, grpc_pass, fastcgi_pass, uwsgi_pass, scgi_pass, memcached_pass", "stream server"},
	refusal: "nginx does not start",
	Samples: []Reading{{Setting: "proxy_next_upstream_tries", Counts: "all", Name: "nginx.conf", Text: `upstream a {
  server 10.0.0.1; server 10.0.0.2; server 10.0.0.3;
  server 10.0.0.4; server 10.0.0.5;
}
server {
  location / {
    proxy_pass http://a;
    proxy_next_upstream_tries @N@;
  }
}
`}},
	whole: func(in *input) bool { return in.syn == synNginx },
	read: func(in *input, _ []*doc) {
		body, err := blocks.ParseNginx(in.file.Source)
		if err != nil {
			in.broken(err)
			return
		}
		n := &nginxConf{in: in, groups: map[string]*nginxGroup{}}
		n.collect(body)
		n.walk(body, nil, false)
	},
}

// nginxConditions are the words of proxy_next_upstream.
var nginxConditions = []string{"error", "timeout", "denied", "invalid_header", "http_500", "http_502", "http_503", "http_504", "http_403", "http_404", "http_429",
	"non_idempotent", "off", "updating"}

type nginxGroup struct {
	servers int64
	dynamic bool // servers come from somewhere else
}

type nginxConf struct {
	in       *input
	groups   map[string]*nginxGroup
	includes bool
}

// collect counts the servers of every upstream group.
func (n *nginxConf) collect(body []*blocks.Stmt) {
	for _, s := range body {
		if s.Name() == "include" {
			n.includes = true
		}
		if s.Name() == "upstream" && s.Block && len(s.Args()) == 1 {
			g := &nginxGroup{}
			for _, b := range s.Body {
				switch b.Name() {
				case "server":
					down := false
					for _, a := range b.Args() {
						down = down || a == "down"
						g.dynamic = g.dynamic || a == "resolve" || strings.HasPrefix(a, "service=")
					}
					if !down {
						g.servers++
					}
				case "include", "balancer_by_lua_block", "balancer_by_lua_file":
					g.dynamic = true
				}
			}
			n.groups[s.Args()[0]] = g
			continue
		}
		n.collect(s.Body)
	}
}

// walk goes through the blocks with the bodies that surround them, outermost first.
func (n *nginxConf) walk(body []*blocks.Stmt, around [][]*blocks.Stmt, stream bool) {
	scope := append(around[:len(around):len(around)], body)
	for _, s := range body {
		switch {
		case s.Name() == "upstream":
		case s.Name() == "stream" && s.Block:
			n.walk(s.Body, scope, true)
		case s.Block:
			n.block(s, scope, stream)
			n.walk(s.Body, scope, stream)
		}
	}
}

// block reads the pass directive of a location, an if block, or a stream server.
func (n *nginxConf) block(s *blocks.Stmt, scope [][]*blocks.Stmt, stream bool) {
	for _, proto := range []string{"proxy", "grpc", "fastcgi", "uwsgi", "scgi", "memcached"} {
		pass := blocks.Find(s.Body, proto+"_pass")
		if pass == nil || len(pass.Args()) == 0 {
			continue
		}
		name := s.Name()
		if a := s.Args(); len(a) > 0 {
			name = a[len(a)-1]
		} else if l := blocks.Find(s.Body, "listen"); l != nil && len(l.Args()) > 0 {
			name = "listen " + l.Args()[0]
		}
		h := n.in.hop("nginx", name, pass.Pos)
		n.hop(h, nginxScope{proto: proto, stream: stream, bodies: append(scope[:len(scope):len(scope)], s.Body)}, pass.Args()[0])
	}
}

// nginxScope finds a directive in the innermost block that has it.
type nginxScope struct {
	proto  string
	stream bool
	bodies [][]*blocks.Stmt
}

func (sc nginxScope) find(name string) *blocks.Stmt {
	for i := len(sc.bodies) - 1; i >= 0; i-- {
		if s := blocks.Find(sc.bodies[i], sc.proto+"_"+name); s != nil {
			return s
		}
	}
	return nil
}

func (n *nginxConf) duration(h *Hop, sc nginxScope, name string, def time.Duration) time.Duration {
	s := sc.find(name)
	if s == nil {
		return def
	}
	node := &tree.Node{Kind: tree.Scalar, Text: strings.Join(s.Args(), " "), Pos: s.Pos}
	if d := n.in.duration(h, sc.proto+"_"+name, node, nginxGrammar); d != nil {
		return *d
	}
	return def
}

// servers gives how many servers a pass directive reaches.
func (n *nginxConf) servers(h *Hop, target string) (count int64, known bool) {
	if strings.Contains(target, "$") {
		n.in.undecided(h, tree.Pos{}, "the upstream is a variable: its servers are not in the file")
		return 1, false
	}
	host := target
	if _, rest, ok := strings.Cut(target, "://"); ok {
		host = rest
	}
	host, _, _ = strings.Cut(host, "/")
	h.To = []string{host}
	if g, ok := n.groups[host]; ok {
		if g.dynamic {
			n.in.undecided(h, tree.Pos{}, "the servers of upstream "+host+" come from outside the file")
			return g.servers, false
		}
		return max(g.servers, 1), true
	}
	if name, _, _ := strings.Cut(host, ":"); net.ParseIP(name) == nil && name != "unix" && name != "localhost" && !strings.HasPrefix(host, "[") {
		h.note("%s is read as one server: nginx tries every address that the name has when it starts", name)
	}
	if n.includes && !strings.ContainsAny(host, ".:") {
		n.in.undecided(h, tree.Pos{}, "upstream "+host+" is not in this file, which includes others")
		return 1, false
	}
	return 1, true
}

func (n *nginxConf) hop(h *Hop, sc nginxScope, target string) {
	in := n.in
	count, known := n.servers(h, target)
	connect := n.duration(h, sc, "connect_timeout", 60*time.Second)
	overall := n.duration(h, sc, "next_upstream_timeout", 0)
	if sc.stream {
		h.perTry(&connect)
		h.note("a stream: only connecting is tried again, with the next server")
	} else {
		h.phases(connect, n.duration(h, sc, "send_timeout", 60*time.Second), n.duration(h, sc, "read_timeout", 60*time.Second))
	}
	if overall > 0 {
		h.Overall, h.StopsOnly = &overall, true
	}
	h.OverallKnown = true
	h.Waits = Backoff{Elsewhere: true, Source: "the next server of the group at once"}
	tries := int64(0)
	if s := sc.find("next_upstream_tries"); s != nil && len(s.Args()) > 0 {
		tries = or(in.count(h, sc.proto+"_next_upstream_tries", &tree.Node{Kind: tree.Scalar, Text: s.Args()[0], Pos: s.Pos}, number{Min: 0, Max: 1 << 31}), 0)
	}
	conditions, written := n.conditions(h, sc)
	switch {
	case contains(conditions, "off"):
		h.attempts(1)
		h.Written = sc.proto + "_next_upstream off"
	case !known && tries == 0:
		h.Attempts = nil
	case !known || count < tries && tries > 0 && known:
		h.attempts(min(orCount(known, count, tries), tries))
		h.Written = fmt.Sprintf("tries %d (counts all attempts), servers: %d", tries, count)
	case tries > 0:
		h.attempts(tries)
		h.Written = fmt.Sprintf("%s_next_upstream_tries %d (counts all attempts)", sc.proto, tries)
	default:
		h.attempts(count)
		h.Written = fmt.Sprintf("tries 0 = no limit, servers: %d", count)
	}
	h.TimeoutRetried = No
	if sc.stream || contains(conditions, "timeout") {
		h.TimeoutRetried = Yes
	}
	if !written && h.Retries() {
		h.Default = true
		if sc.stream {
			h.hidden("proxy_next_upstream on")
		} else {
			h.hidden("%s_next_upstream error timeout", sc.proto)
		}
		in.fact("implicit-default-retry", tree.Pos{}, h, "nobody wrote %s_next_upstream: error and timeout go to the next server, up to %d attempts", sc.proto, *h.Attempts)
	}
}

// orCount gives the servers when they are known, else no bound of their own.
func orCount(known bool, count, tries int64) int64 {
	if known {
		return count
	}
	return tries
}

// conditions reads what goes to the next server.
func (n *nginxConf) conditions(h *Hop, sc nginxScope) (list []string, written bool) {
	s := sc.find("next_upstream")
	if s == nil {
		list = []string{"error", "timeout"}
		h.Conditions = list
		return list, false
	}
	list = s.Args()
	h.Conditions = list
	if sc.stream {
		return list, true // on or off
	}
	n.in.nextUpstream(h, list, s.Pos)
	return list, true
}

// nextUpstream checks the words of proxy_next_upstream and records what they retry.
func (in *input) nextUpstream(h *Hop, list []string, at tree.Pos) {
	var codes []string
	for _, w := range list {
		if !contains(nginxConditions, w) {
			in.badCondition(h, at, w)
		}
		if c, ok := strings.CutPrefix(w, "http_"); ok {
			codes = append(codes, c)
		}
	}
	if contains(list, "off") {
		return
	}
	if contains(list, "non_idempotent") {
		h.MayHaveRun = Yes
		h.Methods = []string{"POST", "LOCK", "PATCH"}
		h.note("non_idempotent: POST, LOCK and PATCH are sent again after they were sent once")
	}
	if four := clientErrors(codes); len(four) > 0 {
		in.fact("retry-on-4xx", at, h, "%s is an answer to the request: the next server gives the same one", strings.Join(four, ", "))
	}
	if contains(codes, "429") {
		in.fact("retry-on-429-without-retry-after", at, h, "429 goes to the next server at once")
	}
}
