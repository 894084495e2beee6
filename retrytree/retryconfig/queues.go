package retryconfig

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// rabbitReader reads quorum queues of a definitions file and of the cluster operator.
// Source: rabbitmq-website docs/quorum-queues.
var rabbitReader = &Reader{
	Name:    "rabbitmq",
	Title:   "RabbitMQ definitions, Queue objects",
	Objects: []string{"queues with x-queue-type quorum", "policies", "Queue (rabbitmq.com)"},
	Samples: []Reading{{Setting: "x-delivery-limit", Counts: "after the first", Name: "definitions.json", Text: `{"queues": [{"name": "q", "vhost": "/", "durable": true, "arguments": {
 "x-delivery-limit": @N@,
 "x-queue-type": "quorum"}}]}
`}},
	claims: func(d *doc) bool {
		if d.is("rabbitmq.com", "Queue", "Policy") {
			return true
		}
		q := d.root.Get("queues")
		return d.version == "" && q.Is(tree.Seq) && (q.Items0().Has("arguments") || q.Items0().Has("durable")) && (d.root.Has("vhosts") || d.root.Has("policies") || q.Items0().Has("vhost"))
	},
	read: func(in *input, own []*doc) {
		for _, d := range own {
			if d.kind == "Policy" {
				in.rabbitPolicyAlone(d.id(), d.root.Get("spec"), own)
				continue
			}
			if d.kind == "Queue" {
				spec := d.root.Get("spec")
				if spec.Get("type").Str() == "quorum" {
					in.rabbitQueue(in.hop("rabbitmq.Queue", d.id(), spec.At()), spec.Get("arguments"), rabbitCRPolicy(own, spec), spec.Get("deliveryLimit"), "")
				}
				continue
			}
			for _, q := range d.root.Get("queues").List() {
				args := q.Get("arguments")
				if args.Get("x-queue-type").Str() != "quorum" && args.Get("x-delivery-limit") == nil {
					continue
				}
				in.rabbitQueue(in.hop("rabbitmq.queue", q.Get("name").Str(), q.At()), args, rabbitPolicy(d.root, q), nil, d.root.First("rabbitmq_version", "rabbit_version").Str())
			}
			in.file.Reason = "no quorum queue: classic queues deliver again without a limit"
		}
	},
}

// rabbitPolicy gives the definition of the policy in force for a queue: the matching
// one with the highest priority.
func rabbitPolicy(root, q *tree.Node) *tree.Node {
	var best *tree.Node
	top := int64(-1 << 62)
	for _, p := range append(root.Get("policies").List(), root.Get("operator_policies").List()...) {
		re, err := regexp.Compile(p.Get("pattern").Str())
		if err != nil || !re.MatchString(q.Get("name").Str()) || p.Get("vhost").Str() != q.Get("vhost").Str() {
			continue
		}
		switch p.First("apply-to", "applyTo").Str() {
		case "", "all", "queues", "quorum_queues":
		default:
			continue
		}
		prio, _ := loose.parse(orNull(p.Get("priority")))
		if prio > top {
			best, top = p.Get("definition"), prio
		}
	}
	return best
}

// rabbitCRPolicy gives the definition of the Policy object in force for a Queue object.
func rabbitCRPolicy(own []*doc, queue *tree.Node) *tree.Node {
	root := &tree.Node{Kind: tree.Map, Entries: []tree.Entry{{Key: "policies", Value: &tree.Node{Kind: tree.Seq}}}}
	for _, d := range own {
		if d.kind == "Policy" && d.root.Get("spec", "rabbitmqClusterReference", "name").Str() == queue.Get("rabbitmqClusterReference", "name").Str() {
			root.Entries[0].Value.Items = append(root.Entries[0].Value.Items, d.root.Get("spec"))
		}
	}
	return rabbitPolicy(root, queue)
}

// rabbitPolicyAlone reads the limit of a Policy object whose queues are not in the file.
func (in *input) rabbitPolicyAlone(name string, spec *tree.Node, own []*doc) {
	limit := spec.Get("definition", "delivery-limit")
	re, err := regexp.Compile(spec.Get("pattern").Str())
	if limit == nil || err != nil || slices.ContainsFunc(own, func(d *doc) bool { return d.kind == "Queue" && re.MatchString(d.root.Get("spec", "name").Str()) }) {
		return
	}
	h := in.hop("rabbitmq.Policy", name, limit.At())
	in.rabbitQueue(h, nil, spec.Get("definition"), nil, "")
	h.note("of every quorum queue whose name matches %s", spec.Get("pattern").Str())
}

// rabbitQueue reads one queue; version is that of the broker that wrote the file, "" when
// it is not known.
func (in *input) rabbitQueue(h *Hop, args, policy, field *tree.Node, version string) {
	h.Class, h.OverallKnown, h.EndedOutside, h.MayHaveRun, h.TimeoutRetried = Queue, true, true, Yes, Yes
	any := number{Min: -1 << 31, Max: 1 << 31, Floats: true}
	node := args.Get("x-delivery-limit")
	if field != nil {
		node = field
	}
	arg, pol := in.count(h, "x-delivery-limit", node, any), in.count(h, "delivery-limit", policy.Get("delivery-limit"), any)
	limit := arg
	switch {
	case arg == nil:
		limit = pol
	case pol != nil && (*arg < 0 || *pol < 0):
		limit = ip(max(*arg, *pol))
	case pol != nil:
		limit = ip(min(*arg, *pol))
	}
	if node != nil {
		h.Line, h.Column = node.Pos.Line, node.Pos.Col
	}
	major, _, known := strings.Cut(version, ".")
	switch n, err := strconv.Atoi(major); {
	case limit == nil && h.Refused == "" && known && err == nil && n < 4:
		h.Unbounded, h.Default, h.Written = true, true, "delivery-limit absent: no limit before RabbitMQ 4.0"
	case limit == nil && h.Refused == "":
		h.retries("delivery-limit", nil, 20)
		h.Default = true
		h.hidden("delivery-limit 20 since 4.0, none before")
		in.fact("implicit-default-retry", tree.Pos{}, h, "nobody wrote a delivery limit: 20 redeliveries since RabbitMQ 4.0").Value = "21"
		in.fact("version-dependent-default", tree.Pos{}, h, "delivery limit absent: 20 since RabbitMQ 4.0, none before")
	case limit != nil && *limit < 0:
		h.Unbounded, h.Written = true, "delivery-limit -1 = no limit"
	case limit != nil:
		h.retries("delivery-limit", limit, 20)
	}
	if t := in.duration(h, "x-consumer-timeout", args.Get("x-consumer-timeout"), millisGrammar); t != nil {
		h.perTry(t)
	}
	h.Waits = Backoff{Open: true, Source: "at once, or as the consumer says"}
	h.DeadLetter = Yes
	if args.Get("x-dead-letter-exchange") == nil && policy.Get("dead-letter-exchange") == nil {
		h.DeadLetter = No
		in.fact("missing-dead-letter", tree.Pos{}, h, "no dead letter exchange: a message over its limit is dropped")
	}
}

// natsReader reads JetStream consumers: the JSON of the API and of the CLI, and the
// Consumer object.
// Source: nats-server v2.15.3 consumer.go; nack API.
var natsReader = &Reader{
	Name:    "nats",
	Title:   "NATS JetStream consumer",
	Objects: []string{"consumer JSON with ack_policy, max_deliver or ack_wait", "Consumer (jetstream.nats.io)"},
	Samples: []Reading{{Setting: "max_deliver", Counts: "all", Name: "consumer.json", Text: `{"durable_name": "c", "ack_policy": "explicit",
 "max_deliver": @N@,
 "ack_wait": 30000000000}
`}},
	claims: func(d *doc) bool {
		return d.is("jetstream.nats.io", "Consumer") || d.version == "" && natsConfig(d.root) != nil
	},
	read: func(in *input, own []*doc) {
		for _, d := range own {
			if d.kind == "Consumer" {
				spec := d.root.Get("spec")
				in.nats(in.hop("nats.Consumer", d.id(), spec.At()), spec, [3]string{"maxDeliver", "ackWait", "backoff"}, goGrammar)
				continue
			}
			for _, c := range natsConfig(d.root) {
				name := c.First("durable_name", "name").Str()
				if name == "" {
					name = "consumer"
				}
				in.nats(in.hop("nats.consumer", name, c.At()), c, [3]string{"max_deliver", "ack_wait", "backoff"}, natsGrammar)
			}
		}
	},
}

// natsConfig finds consumer configurations.
func natsConfig(root *tree.Node) []*tree.Node {
	var out []*tree.Node
	is := func(n *tree.Node) bool {
		return n.Has("ack_policy") && (n.Has("deliver_policy") || n.Has("ack_wait") || n.Has("durable_name") || n.Has("max_deliver")) || n.Has("max_deliver") && n.Has("ack_wait")
	}
	for _, n := range append(append([]*tree.Node{root, root.Get("config")}, root.Get("consumers").List()...), root.List()...) {
		if c := n.Get("config"); is(c) && n != root {
			out = append(out, c)
		} else if is(n) {
			out = append(out, n)
		}
	}
	return out
}

// natsGrammar is nanoseconds as a number, or the CLI's spelling.
var natsGrammar = grammar{"whole nanoseconds, or a Go duration in quotes", func(s string, quoted bool) (time.Duration, error) {
	if !quoted {
		if d, err := whole(s, 1); err == nil {
			return d, nil
		}
	}
	return goDuration(s, quoted)
}}

func (in *input) nats(h *Hop, c *tree.Node, keys [3]string, g grammar) {
	h.Class, h.OverallKnown, h.MayHaveRun, h.TimeoutRetried = Queue, true, Yes, Yes
	node := c.Get(keys[0])
	n := in.count(h, keys[0], node, number{Min: -1 << 31, Max: 1<<31 - 1, Floats: true})
	switch {
	case n == nil || *n <= 0:
		h.Unbounded, h.Written = true, keys[0]+" absent or below 1 = no limit"
		if n == nil {
			h.Default = true
			h.hidden("%s -1: no limit", keys[0])
		} else if *n == 0 {
			in.fact("zero-does-not-disable", node.At(), h, "%s 0 counts as -1: no limit", keys[0]).Value = "0"
		}
	default:
		h.total(keys[0], n, 0)
	}
	wait := in.duration(h, keys[1], c.Get(keys[1]), g)
	var list []time.Duration
	for i, b := range c.Get(keys[2]).List() {
		if d := in.duration(h, keys[2]+"."+strconv.Itoa(i), b, g); d != nil {
			list = append(list, *d)
		}
	}
	h.Waits = Backoff{Elsewhere: true, Source: "redelivered when ack_wait is over, at once after a nak"}
	h.DeadLetter = No
	in.fact("missing-dead-letter", tree.Pos{}, h, "JetStream has no dead letter: a message over max_deliver stays in the stream undelivered")
	if len(list) == 0 {
		if wait == nil || *wait == 0 {
			wait = dp(30 * time.Second)
			h.hidden("ack_wait 30s")
		}
		h.perTry(wait)
		return
	}
	in.natsBackoff(h, c, keys, n, list)
}

// natsBackoff: the list takes the place of ack_wait, its last value repeats.
func (in *input) natsBackoff(h *Hop, c *tree.Node, keys [3]string, n *int64, list []time.Duration) {
	if n != nil && *n > 0 && int64(len(list)) > *n {
		in.refuse(h, c.Get(keys[2]).At(), "backoff has %d values, more than max_deliver %d: the server refuses it", len(list), *n)
	}
	if w := c.Get(keys[1]); w != nil {
		in.fact("shadowed-config", w.At(), h, "%s %s has no effect beside backoff, which takes its place", keys[1], w.Str()).Value = w.Str()
	}
	h.Waits = Backoff{Growth: Listed, List: list, Elsewhere: true, Explicit: true, Source: "backoff, in the place of ack_wait"}
	h.note("backoff takes the place of ack_wait: %s", strings.Trim(strings.Join(strings.Fields(sprintDurations(list)), ", "), "[]"))
	if h.Attempts != nil && h.Refused == "" {
		_, high := h.Waits.Sum(*h.Attempts)
		h.Slow, h.Worst = h.Attempts, &high
	} else if h.Unbounded {
		h.EndedOutside = true
	}
}

func sprintDurations(list []time.Duration) string {
	var b strings.Builder
	for _, d := range list {
		b.WriteString(d.String() + " ")
	}
	return b.String()
}

// azureReader reads host.json of Azure Functions.
// Source: Azure Functions host.json reference, function retry policies.
var azureReader = &Reader{
	Name:    "azure-functions",
	Title:   "Azure Functions host.json",
	Objects: []string{"host.json with version and retry or extensions"},
	Samples: []Reading{{Setting: "retry.maxRetryCount", Counts: "after the first", Name: "host.json", Text: `{"version": "2.0", "retry": {"strategy": "fixedDelay",
 "maxRetryCount": @N@,
 "delayInterval": "00:00:30"}}
`}},
	claims: func(d *doc) bool {
		return d.version == "" && d.root.Get("version").Str() == "2.0" && (d.root.Has("retry") || d.root.Has("extensions") || d.root.Has("functionTimeout"))
	},
	read: func(in *input, own []*doc) {
		for _, d := range own {
			if r := d.root.Get("retry"); r.Is(tree.Map) {
				in.azureRetry(in.hop("azure.functions", "function", r.At()), r, d.root.Get("functionTimeout"))
			}
			for _, ext := range []string{"serviceBus", "eventHubs"} {
				e := d.root.Get("extensions", ext)
				if o := e.First("clientRetryOptions", "retryOptions"); o.Is(tree.Map) {
					in.azureClient(in.hop("azure.client", ext+" client", o.At()), o)
				}
			}
			if q := d.root.Get("extensions", "queues"); q.Get("maxDequeueCount") != nil {
				in.azureQueue(in.hop("azure.queues", "queues", q.At()), q, d.root.Get("functionTimeout"))
			}
		}
	},
}

func (in *input) azureRetry(h *Hop, r, timeout *tree.Node) {
	h.Class, h.OverallKnown, h.EndedOutside, h.MayHaveRun, h.TimeoutRetried = Queue, true, true, Yes, Yes
	in.unknownKeys(r, h, "retry", "strategy", "maxRetryCount", "delayInterval", "minimumInterval", "maximumInterval")
	n := in.count(h, "maxRetryCount", r.Get("maxRetryCount"), number{Min: -1, Max: 1<<31 - 1, Floats: true})
	switch {
	case r.Get("maxRetryCount") == nil && h.Refused == "":
		in.refuse(h, r.At(), "maxRetryCount is required")
	case n != nil && *n == -1:
		h.Unbounded, h.Written = true, "maxRetryCount -1 = no limit"
	case n != nil:
		h.retries("maxRetryCount", n, 0)
	}
	if d := in.duration(h, "functionTimeout", timeout, timeSpan); d != nil {
		h.perTry(d)
	}
	switch s := r.Get("strategy").Str(); s {
	case "fixedDelay":
		h.Waits = Backoff{Growth: Constant, Base: or(in.duration(h, "delayInterval", r.Get("delayInterval"), timeSpan), 0), Explicit: r.Has("delayInterval"), Source: "delayInterval"}
	case "exponentialBackoff":
		min, max := or(in.duration(h, "minimumInterval", r.Get("minimumInterval"), timeSpan), 0), or(in.duration(h, "maximumInterval", r.Get("maximumInterval"), timeSpan), 0)
		h.Waits = Backoff{Growth: Exponential, Base: min, Factor: 2, Max: max, Low: 0.8, High: 1.2, Jitter: true, Explicit: true, Source: "minimumInterval doubling to maximumInterval, +-20%"}
		if max > 0 && min > max {
			in.fact("backoff-base-over-max", r.At(), h, "minimumInterval %v is above maximumInterval %v", min, max)
		}
	default:
		in.refuse(h, r.At(), "strategy %q is not fixedDelay or exponentialBackoff", s)
	}
	h.note("the retries are in memory and multiply with the delivery count of the queue")
}

func (in *input) azureClient(h *Hop, o *tree.Node) {
	h.OverallKnown, h.TimeoutRetried = true, Yes
	count := o.First("maxRetries", "maximumRetries")
	n := in.count(h, "maxRetries", count, number{Min: 0, Max: 100})
	h.retries("maxRetries", n, 3)
	h.perTry(dp(or(in.duration(h, "tryTimeout", o.First("tryTimeout"), timeSpan), time.Minute)))
	h.Waits = Backoff{Open: true, Jitter: o.Get("mode").Str() != "fixed", Explicit: o.Has("delay"), Source: "exponential from delay to maxDelay with jitter, formula not published"}
	if o.Get("mode").Str() == "fixed" {
		h.Waits = Backoff{Growth: Constant, Base: or(in.duration(h, "delay", o.Get("delay"), timeSpan), 800*time.Millisecond), Explicit: o.Has("delay"), Source: "delay"}
	}
}

func (in *input) azureQueue(h *Hop, q, timeout *tree.Node) {
	h.Class, h.OverallKnown, h.EndedOutside, h.MayHaveRun, h.TimeoutRetried = Queue, true, true, Yes, Yes
	h.total("maxDequeueCount", in.count(h, "maxDequeueCount", q.Get("maxDequeueCount"), number{Min: 1, Max: 1<<31 - 1, Floats: true}), 5)
	if d := in.duration(h, "functionTimeout", timeout, timeSpan); d != nil {
		h.perTry(d)
	}
	h.Waits = Backoff{Growth: Constant, Base: or(in.duration(h, "visibilityTimeout", q.Get("visibilityTimeout"), timeSpan), 0), Elsewhere: true, Source: "visibilityTimeout"}
	h.DeadLetter = Yes
}

// knativeReader reads delivery settings of Knative Eventing.
// Source: knative eventing pkg/apis/duck/v1/delivery_types.go, pkg/kncloudevents/retries.go.
var knativeReader = &Reader{
	Name:    "knative",
	Title:   "Knative Broker, Trigger, Subscription, Channel, Sequence, Parallel, sources",
	Objects: []string{"spec.delivery", "Broker"},
	Samples: []Reading{{Setting: "spec.delivery.retry", Counts: "after the first", Name: "trigger.yaml", Text: `apiVersion: eventing.knative.dev/v1
kind: Trigger
metadata: {name: a}
spec:
  broker: default
  delivery:
    backoffDelay: PT0.2S
    retry: @N@
`}},
	claims: func(d *doc) bool {
		return strings.HasSuffix(d.group, "knative.dev") && d.group != "serving.knative.dev"
	},
	read: func(in *input, own []*doc) {
		for _, d := range own {
			spec := d.root.Get("spec")
			found := false
			for _, key := range []string{"delivery"} {
				if del := spec.Get(key); del.Is(tree.Map) {
					in.knative(in.hop("knative."+d.kind, d.id(), del.At()), del)
					found = true
				}
			}
			for _, list := range []string{"steps", "branches", "subscribers"} {
				for i, s := range spec.Get(list).List() {
					if del := s.Get("delivery"); del.Is(tree.Map) {
						in.knative(in.hop("knative."+d.kind, d.id()+"#"+strconv.Itoa(i), del.At()), del)
						found = true
					}
				}
			}
			if !found && d.kind == "Broker" {
				h := in.hop("knative.Broker", d.id(), d.root.At())
				h.Class, h.OverallKnown, h.Default, h.MayHaveRun, h.TimeoutRetried = Queue, true, true, Yes, Yes
				h.retries("delivery", nil, 10)
				h.hidden("10 more attempts, exponential from 0.2s (config-br-defaults)")
				h.Waits = Backoff{Growth: Exponential, Base: 200 * time.Millisecond, Factor: 2, Source: "backoffDelay * 2^(n-1)"}
				in.fact("implicit-default-retry", tree.Pos{}, h, "nobody wrote delivery, still an event is sent up to 11 times").Value = "11"
			}
			in.file.Reason = "no delivery settings"
		}
	},
}

func (in *input) knative(h *Hop, del *tree.Node) {
	h.Class, h.OverallKnown, h.MayHaveRun, h.TimeoutRetried = Queue, true, Yes, Yes
	in.unknownKeys(del, h, "delivery", "deadLetterSink", "retry", "timeout", "backoffPolicy", "backoffDelay", "retryAfterMax", "format")
	n := in.count(h, "retry", del.Get("retry"), counts)
	h.retries("retry", n, 0)
	if h.Undecided != "" {
		h.Attempts = nil
	}
	if d := in.duration(h, "timeout", del.Get("timeout"), isoGrammar); d != nil && *d > 0 {
		h.perTry(d)
	}
	base := in.duration(h, "backoffDelay", del.Get("backoffDelay"), isoGrammar)
	h.Waits = Backoff{Growth: Exponential, Base: or(base, 0), Factor: 2, Explicit: base != nil, Open: base == nil, Source: "backoffDelay * 2^(n-1)"}
	switch p := del.Get("backoffPolicy").Str(); p {
	case "", "exponential":
	case "linear":
		h.Waits.Growth, h.Waits.Shift, h.Waits.Source = Linear, -1, "backoffDelay * (n-1): the first wait is 0"
	default:
		in.refuse(h, del.Get("backoffPolicy").At(), "backoffPolicy %q is not linear or exponential", p)
	}
	h.Conditions = []string{"404", "408", "409", "429", "5xx"}
	if h.Retries() {
		in.fact("retry-on-4xx", tree.Pos{}, h, "404 and 409 are retried too, and the list cannot be changed").Mild = true
	}
	h.DeadLetter = Yes
	if del.Get("deadLetterSink") == nil {
		h.DeadLetter = No
		in.fact("missing-dead-letter", tree.Pos{}, h, "no deadLetterSink: an event whose attempts are used up is dropped")
	}
	if ra := del.Get("retryAfterMax"); ra != nil {
		in.duration(h, "retryAfterMax", ra, isoGrammar)
	}
}
