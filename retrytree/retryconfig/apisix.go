package retryconfig

import (
	"strings"
	"time"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// apisixReader reads upstreams of Apache APISIX: standalone files, bodies of the admin
// API and the ApisixUpstream object.
// Source: apisix schema_def.lua, balancer.lua.
var apisixReader = &Reader{
	Name:    "apisix",
	Title:   "Apache APISIX upstream: apisix.yaml, admin API body, ApisixUpstream",
	Objects: []string{"upstreams", "routes[].upstream", "ApisixUpstream"},
	Samples: []Reading{{Setting: "upstream.retries", Counts: "after the first", Name: "apisix.yaml", Text: `routes:
- uri: /a
  upstream:
    nodes: {"a1:80": 1, "a2:80": 1, "a3:80": 1}
    type: roundrobin
    retries: @N@
#END
`}},
	claims: func(d *doc) bool {
		if d.is("apisix.apache.org", "ApisixUpstream") {
			return true
		}
		return d.version == "" && len(apisixUpstreams(d.root)) > 0
	},
	read: func(in *input, own []*doc) {
		for _, d := range own {
			if d.kind == "ApisixUpstream" {
				spec := d.root.Get("spec")
				h := in.hop("apisix.ApisixUpstream", d.id(), spec.At())
				in.apisix(h, spec, goGrammar, true)
				continue
			}
			for _, u := range apisixUpstreams(d.root) {
				at := u.Value.At()
				in.apisix(in.hop("apisix.upstream", u.Key, at), u.Value, fracSeconds, false)
			}
		}
	},
}

// apisixUpstreams finds upstreams with nodes (or discovery) and a balancing type.
func apisixUpstreams(root *tree.Node) []tree.Entry {
	var out []tree.Entry
	is := func(u *tree.Node) bool {
		return (u.Get("nodes") != nil || u.Get("service_name") != nil) && (u.Get("nodes").Is(tree.Map) || u.Get("type") != nil || u.Get("retries") != nil)
	}
	name := func(n *tree.Node, def string) string {
		for _, k := range []string{"name", "id", "uri"} {
			if s := n.Get(k).Str(); s != "" {
				return s
			}
		}
		if u := n.Get("uris").Items0(); u != nil {
			return u.Str()
		}
		return def
	}
	for _, k := range []string{"routes", "services"} {
		for _, r := range root.Get(k).List() {
			if u := r.Get("upstream"); is(u) {
				out = append(out, tree.Entry{Key: name(r, k), Value: u})
			}
		}
	}
	for _, u := range root.Get("upstreams").List() {
		if is(u) {
			out = append(out, tree.Entry{Key: name(u, "upstream"), Value: u})
		}
	}
	if u := root.Get("upstream"); is(u) {
		out = append(out, tree.Entry{Key: name(root, "route"), Value: u})
	}
	if is(root) && root.Get("type") != nil {
		out = append(out, tree.Entry{Key: name(root, "upstream"), Value: root})
	}
	return out
}

func (in *input) apisix(h *Hop, u *tree.Node, g grammar, object bool) {
	each := func(key string) time.Duration {
		t := u.Get("timeout")
		v := t.Get(key)
		if object && key == "read" && v == nil {
			v = t.Get("receive")
		}
		return or(in.duration(h, "timeout."+key, v, g), 6*time.Second)
	}
	h.phases(each("connect"), each("send"), each("read"))
	nodes := int64(len(u.Get("nodes").Map()) + len(u.Get("nodes").List()))
	for _, e := range u.Get("nodes").Map() {
		h.To = append(h.To, e.Key)
	}
	for _, e := range u.Get("nodes").List() {
		h.To = append(h.To, strings.TrimSuffix(e.Get("host").Str()+":"+e.Get("port").Str(), ":"))
	}
	n := in.count(h, "retries", u.Get("retries"), number{Min: -1, Max: 1 << 31, Floats: true})
	if n != nil && *n == -1 {
		n = nil
	}
	h.OverallKnown = true
	h.Waits = Backoff{Elsewhere: true, Source: "the next node at once"}
	h.TimeoutRetried = Yes
	h.Conditions = []string{"error", "timeout"}
	if t := in.duration(h, "retry_timeout", u.Get("retry_timeout"), fracSeconds); t != nil && *t > 0 {
		h.Overall, h.StopsOnly = t, true
	}
	switch {
	case n != nil:
		h.retries("retries", n, 0)
	case nodes == 0:
		in.undecided(h, tree.Pos{}, "retries absent: one for each further node, and the nodes are not in the file")
		h.Written = "retries absent"
	default:
		h.retries("retries", nil, nodes-1)
		if nodes > 1 {
			h.Default = true
			h.hidden("one more attempt for each further node: %d", nodes-1)
			in.fact("implicit-default-retry", tree.Pos{}, h, "nobody wrote retries, still a request makes up to %d attempts, one for each node", nodes)
		}
	}
}
