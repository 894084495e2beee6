package retryconfig

import (
	"math"
	"strings"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// traefikReader reads the retry middleware in dynamic files (YAML, TOML), objects and
// labels.
// Source: traefik v3.7.13 pkg/middlewares/retry.
var traefikReader = &Reader{
	Name:    "traefik",
	Title:   "Traefik retry middleware: dynamic file, Middleware object, labels",
	Objects: []string{"http.middlewares", "Middleware", "labels"},
	Samples: []Reading{{Setting: "http.middlewares.NAME.retry.attempts", Counts: "all", Name: "dynamic.yaml", Text: `http:
  middlewares:
    a:
      retry:
        initialInterval: 100ms
        attempts: @N@
`}},
	claims: func(d *doc) bool {
		return d.root.Get("http", "middlewares").Is(tree.Map) || d.kind == "Middleware" && strings.HasPrefix(d.group, "traefik.") || len(traefikLabels(d.root)) > 0 ||
			tomlPrefix(d.root, "http.middlewares.")
	},
	read: func(in *input, own []*doc) {
		for _, d := range own {
			in.traefikDoc(d)
		}
	},
}

func tomlPrefix(root *tree.Node, prefix string) bool {
	for _, e := range root.Map() {
		if strings.HasPrefix(e.Key, prefix) && in2(e.Key) {
			return true
		}
	}
	return false
}

func in2(key string) bool { return strings.HasSuffix(strings.ToLower(key), ".retry") }

func (in *input) traefikDoc(d *doc) {
	if d.kind == "Middleware" {
		if r := d.root.Get("spec", "retry"); r != nil {
			in.traefikRetry(in.hop("traefik.Middleware", d.id(), r.At()), r)
		} else if in.file.Reason == "" {
			in.file.Reason = "a middleware that does not retry"
		}
		return
	}
	for _, m := range d.root.Get("http", "middlewares").Map() {
		if r := m.Value.Get("retry"); r != nil {
			in.traefikRetry(in.hop("traefik.middleware", m.Key, r.At()), r)
		}
	}
	for _, e := range d.root.Map() { // TOML tables
		if name, ok := strings.CutPrefix(e.Key, "http.middlewares."); ok && in2(e.Key) {
			for i := range e.Value.Entries {
				v := e.Value.Entries[i].Value
				v.Text = strings.Trim(v.Text, `"'`)
			}
			in.traefikRetry(in.hop("traefik.middleware", name[:len(name)-len(".retry")], e.KeyPos), e.Value)
		}
	}
	for _, l := range traefikLabels(d.root) {
		in.traefikRetry(in.hop("traefik.label", l.Key, l.KeyPos), l.Value)
	}
}

// traefikLabels gathers labels traefik.http.middlewares.NAME.retry.KEY by name.
func traefikLabels(root *tree.Node) []tree.Entry {
	var out []tree.Entry
	add := func(key, value string, at tree.Pos) {
		rest, ok := cutPrefixFold(key, "traefik.http.middlewares.")
		name, field, ok2 := cutFold(rest, ".retry")
		if !ok || !ok2 {
			return
		}
		field = strings.TrimPrefix(field, ".")
		v := &tree.Node{Kind: tree.Scalar, Text: value, Pos: at}
		for i := range out {
			if out[i].Key == name {
				out[i].Value.Entries = append(out[i].Value.Entries, tree.Entry{Key: lowerFirst(field), KeyPos: at, Value: v})
				return
			}
		}
		out = append(out, tree.Entry{Key: name, KeyPos: at, Value: &tree.Node{Kind: tree.Map, Pos: at, Entries: []tree.Entry{{Key: lowerFirst(field), KeyPos: at, Value: v}}}})
	}
	for _, s := range root.Get("services").Map() {
		for _, labels := range []*tree.Node{s.Value.Get("labels"), s.Value.Get("deploy", "labels")} {
			for _, e := range labels.Map() {
				add(e.Key, e.Value.Str(), e.KeyPos)
			}
			for _, it := range labels.List() {
				if k, v, ok := strings.Cut(it.Str(), "="); ok {
					add(k, v, it.Pos)
				}
			}
		}
	}
	return out
}

func cutPrefixFold(s, prefix string) (string, bool) {
	if len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix) {
		return s[len(prefix):], true
	}
	return s, false
}

func cutFold(s, sep string) (before, after string, ok bool) {
	i := strings.Index(strings.ToLower(s), sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// lowerFirst spells a label key as the file does; label keys have any case.
func lowerFirst(key string) string {
	for _, k := range traefikKeys {
		if strings.EqualFold(k, key) {
			return k
		}
	}
	return key
}

var traefikKeys = []string{"attempts", "initialInterval", "timeout", "status", "disableRetryOnNetworkError", "retryNonIdempotentMethod", "maxRequestBodyBytes"}

func (in *input) traefikRetry(h *Hop, r *tree.Node) {
	in.unknownKeys(r, h, "retry", traefikKeys...)
	n := in.count(h, "attempts", r.Get("attempts"), loose)
	first := in.duration(h, "initialInterval", r.Get("initialInterval"), goOrSeconds)
	h.total("attempts", n, 0)
	switch {
	case n == nil && h.Refused == "" && h.Undecided == "", n != nil && *n <= 0:
		in.refuse(h, r.At(), "attempts must be above 0")
	case n != nil && *n == 1:
		in.fact("dead-retry-policy", r.Get("attempts").At(), h, "attempts 1 counts the first: nothing is retried").Value = "1"
	}
	if n != nil && *n > 1 {
		in.fact("ambiguous-count", r.Get("attempts").At(), h, "attempts %d is read as %d in all, as the source counts; the documentation speaks of times the request is retried", *n, *n)
	}
	if first != nil && *first > 0 && h.Attempts != nil {
		f := 1.0
		if *h.Attempts > 1 {
			f = math.Pow(2, 1/float64(*h.Attempts-1))
		}
		h.Waits = Backoff{Growth: Exponential, Base: *first, Factor: f, Max: 2 * *first, Low: 0.5, High: 1.5, Jitter: true, Explicit: true,
			Line: r.Get("initialInterval").Pos.Line, Source: "initialInterval growing to twice its value, +-50%"}
	}
	if t := in.duration(h, "timeout", r.Get("timeout"), goOrSeconds); t != nil && *t > 0 {
		h.Overall, h.StopsOnly = t, true
	}
	h.OverallKnown = true
	h.TimeoutRetried = No // only network errors before the first byte, and listed statuses
	h.Conditions = append([]string{"network error"}, words(r.Get("status"), ",")...)
	if on, _ := r.Get("disableRetryOnNetworkError").Bool(); on {
		h.Conditions = h.Conditions[1:]
		if len(h.Conditions) == 0 {
			in.fact("dead-retry-policy", r.At(), h, "network errors are not retried and no status is listed: nothing is retried")
			h.attempts(1)
		}
	}
	if v := r.Get("retryNonIdempotentMethod"); v.Str() == "true" && h.Retries() {
		h.MayHaveRun, h.Methods = Yes, []string{"POST", "PATCH"}
	}
	if four := clientErrors(words(r.Get("status"), ",")); len(four) > 0 {
		in.fact("retry-on-4xx", r.Get("status").At(), h, "%s is an answer to the request: the next attempt gets the same one", strings.Join(four, ", "))
	}
	if contains(h.Conditions, "429") {
		in.fact("retry-on-429-without-retry-after", r.Get("status").At(), h, "429 is retried after the usual wait, whatever the server asks for")
	}
}
