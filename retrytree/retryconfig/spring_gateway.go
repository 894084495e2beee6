package retryconfig

import (
	"slices"
	"strings"
	"time"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// springGatewayReader reads the Retry filter of Spring Cloud Gateway.
// Source: RetryGatewayFilterFactory, retry-factory.adoc, reactor-extra Backoff.
var springGatewayReader = &Reader{
	Name:    "spring-cloud-gateway",
	Title:   "Spring Cloud Gateway Retry filter in application.yml",
	Objects: []string{"spring.cloud.gateway"},
	refusal: "the application does not start",
	Samples: []Reading{{Setting: "filters[].args.retries of Retry", Counts: "after the first", Name: "application.yml", Text: `spring:
  cloud:
    gateway:
      routes:
      - id: a
        uri: http://a
        filters:
        - name: Retry
          args:
            methods: GET
            retries: @N@
`}},
	whole: func(in *input) bool { return in.anyProp(scgPrefixes...) },
	read: func(in *input, _ []*doc) {
		in.eachReading(func(d props) {
			for _, p := range scgPrefixes {
				if sub := d.sub(p); len(sub) > 0 {
					in.springGateway(sub)
				}
			}
		})
	},
}

var scgPrefixes = []string{"spring.cloud.gateway.server.webflux", "spring.cloud.gateway.server.webmvc", "spring.cloud.gateway.server.mvc", "spring.cloud.gateway.mvc", "spring.cloud.gateway"}

// scgFilter is a Retry filter as written.
type scgFilter struct {
	at   tree.Pos
	args props
}

func (in *input) springGateway(d props) {
	if !slices.ContainsFunc(d, func(x tree.Prop) bool { return hasPrefix(x.Path, "routes") || hasPrefix(x.Path, "default-filters") }) {
		return
	}
	limit := d.get("httpclient.response-timeout")
	if limit == nil {
		limit = d.get("http-client.read-timeout")
	}
	defaults := scgFilters(d.sub("default-filters"))
	routes := d.sub("routes")
	for _, i := range routes.names() {
		r := routes.sub(i)
		name := r.get("id").Str()
		if name == "" {
			name = i
		}
		filters := append(scgFilters(r.sub("filters")), defaults...)
		if len(filters) == 0 {
			continue
		}
		h := in.hop("spring.cloud-gateway", name, filters[0].at)
		if u := r.get("uri").Str(); u != "" {
			h.To = []string{hostOf(u)}
		}
		each := limit
		if m := r.get("metadata.response-timeout"); m != nil {
			each = m
		}
		in.scgHop(h, filters[0].args, each)
		for _, f := range filters[1:] {
			in.fact("stacked-retries-same-edge", f.at, h, "a second Retry filter wraps the first: their attempts multiply")
			other := &Hop{}
			n := in.count(h, "retries", f.args.get("retries"), loose)
			other.retries("retries", n, 3)
			if h.Attempts != nil {
				h.attempts(*h.Attempts * *other.Attempts)
				h.Waits.Open = true
			}
		}
	}
	if len(routes) == 0 {
		for _, f := range defaults {
			in.scgHop(in.hop("spring.cloud-gateway", "default-filters", f.at), f.args, limit)
		}
	}
}

// scgShort is the order of the arguments in the short form Retry=3,BAD_GATEWAY,...
var scgShort = []string{"retries", "statuses", "methods", "backoff.firstBackoff", "backoff.maxBackoff", "backoff.factor", "backoff.basedOnPreviousValue",
	"jitter.randomFactor", "timeout"}

func scgFilters(p props) []scgFilter {
	var out []scgFilter
	for _, i := range p.names() {
		if short := p.get(i); short != nil {
			if args, ok := strings.CutPrefix(strings.ReplaceAll(short.Str(), " ", ""), "Retry="); ok {
				f := scgFilter{at: short.Pos}
				for j, a := range strings.Split(args, ",") {
					if j < len(scgShort) && a != "" {
						f.args = append(f.args, tree.Prop{Path: strings.Split(scgShort[j], "."), Value: &tree.Node{Kind: tree.Scalar, Text: a, Pos: short.Pos}})
					}
				}
				out = append(out, f)
			} else if short.Str() == "Retry" {
				out = append(out, scgFilter{at: short.Pos})
			}
			continue
		}
		if f := p.sub(i); f.get("name").Str() == "Retry" {
			out = append(out, scgFilter{at: f.get("name").Pos, args: f.sub("args")})
		}
	}
	return out
}

var scgClient = map[string]bool{"BAD_REQUEST": true, "UNAUTHORIZED": true, "FORBIDDEN": true, "NOT_FOUND": true, "METHOD_NOT_ALLOWED": true, "NOT_ACCEPTABLE": true,
	"CONFLICT": true, "GONE": true, "PRECONDITION_FAILED": true, "UNSUPPORTED_MEDIA_TYPE": true, "UNPROCESSABLE_ENTITY": true, "LOCKED": true}

func (in *input) scgHop(h *Hop, a props, limit *tree.Node) {
	n := in.count(h, "retries", a.get("retries"), loose)
	h.retries("retries", n, 3)
	if n != nil && *n <= 0 {
		in.refuse(h, a.get("retries").At(), "retries must be greater than 0, found %d: the application does not start", *n)
	}
	if h.Undecided != "" {
		h.Attempts = nil
	}
	h.OverallKnown = true
	if limit != nil && !strings.HasPrefix(limit.Str(), "-") {
		h.perTry(in.duration(h, "response-timeout", limit, springGrammar))
	}
	if t := in.duration(h, "timeout", a.get("timeout"), springGrammar); t != nil && *t > 0 {
		h.Overall, h.StopsOnly = t, true
	}
	h.MayHaveRun = Yes
	if h.Methods = a.list("methods"); len(h.Methods) == 0 {
		h.Methods = []string{"GET"}
		h.hidden("methods GET")
	}
	in.scgConditions(h, a)
	in.scgWaits(h, a)
}

func (in *input) scgConditions(h *Hop, a props) {
	statuses, series, exceptions := a.list("statuses"), a.list("series"), a.list("exceptions")
	seriesSet := a.get("series") != nil || len(series) > 0
	if !seriesSet {
		series = []string{"SERVER_ERROR"}
		h.hidden("series SERVER_ERROR")
		if len(statuses) > 0 {
			in.fact("wider-than-written", a.get("statuses").At(), h, "statuses %s do not replace the default series: every 5xx is still retried", strings.Join(statuses, ","))
		}
	}
	h.TimeoutRetried = Yes
	if len(exceptions) == 0 {
		exceptions = []string{"IOException", "TimeoutException"}
	} else if !slices.ContainsFunc(append(exceptions, series...), func(s string) bool {
		return s == "SERVER_ERROR" || strings.HasSuffix(s, "TimeoutException") || strings.HasSuffix(s, ".Exception") || strings.HasSuffix(s, "Throwable")
	}) && !contains(statuses, "GATEWAY_TIMEOUT") && !contains(statuses, "504") {
		h.TimeoutRetried = No
		in.fact("timeout-not-in-retry-list", tree.Pos{}, h, "the exception list lacks TimeoutException, so that an attempt that hangs is not retried")
	}
	h.Conditions = append(append(slices.Clone(series), statuses...), exceptions...)
	var four []string
	for _, s := range statuses {
		if scgClient[s] || len(clientErrors([]string{s})) > 0 {
			four = append(four, s)
		}
	}
	if contains(series, "CLIENT_ERROR") {
		four = append(four, "series CLIENT_ERROR")
	}
	if len(four) > 0 {
		in.fact("retry-on-4xx", a.at(), h, "%s is an answer to the request: the next attempt gets the same one", strings.Join(four, ", "))
	}
	if contains(statuses, "TOO_MANY_REQUESTS") || contains(statuses, "429") {
		in.fact("retry-on-429-without-retry-after", a.at(), h, "429 is retried after the usual wait, whatever the server asks for")
	}
}

func (in *input) scgWaits(h *Hop, a props) {
	h.Waits = Backoff{Source: "no backoff"}
	b := a.sub("backoff")
	if len(b) > 0 {
		first := or(in.duration(h, "firstBackoff", b.get("firstBackoff"), springGrammar), 5*time.Millisecond)
		max := or(in.duration(h, "maxBackoff", b.get("maxBackoff"), springGrammar), 0)
		h.Waits = Backoff{Growth: Exponential, Base: first, Factor: in.float(h, "factor", b.get("factor"), 2), Max: max, Explicit: true, Line: b.at().Line,
			Source: "firstBackoff * factor^(n-1), at most maxBackoff"}
		if max > 0 && max < first {
			in.fact("backoff-base-over-max", b.at(), h, "firstBackoff %v is above maxBackoff %v", first, max)
		}
	}
	if j := a.sub("jitter"); len(j) > 0 && len(b) > 0 {
		f := in.float(h, "randomFactor", j.get("randomFactor"), 0.5)
		h.Waits.Low, h.Waits.High, h.Waits.Jitter = 1-f, 1+f, f > 0
		h.Waits.Floor, h.Waits.Ceiling = h.Waits.Base, h.Waits.Max
	}
}
