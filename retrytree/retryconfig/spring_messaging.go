package retryconfig

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// springMessagingReader reads the retry settings of Spring Boot for Kafka and RabbitMQ,
// of Spring Cloud Stream, of the load balancer and of Ribbon.
// Source: spring-boot#48206, RetryableTopic, ProducerConfig, Ribbon DefaultClientConfigImpl.
var springMessagingReader = &Reader{
	Name:    "spring-messaging",
	Title:   "Spring Boot messaging, Spring Cloud Stream, load balancer, Ribbon",
	Objects: []string{"spring.kafka", "spring.rabbitmq", "spring.cloud.stream", "spring.cloud.loadbalancer.retry", "NAME.ribbon"},
	refusal: "the application does not start",
	Samples: []Reading{
		{Setting: "spring.rabbitmq.listener.simple.retry.max-attempts (Boot 3 and before)", Counts: "all", Name: "application.yml", Text: `spring:
  rabbitmq:
    listener:
      simple:
        retry:
          enabled: true
          max-attempts: @N@
`},
		{Setting: "spring.rabbitmq.listener.simple.retry.max-retries (Boot 4)", Counts: "after the first", Name: "application.yml", Text: `spring:
  rabbitmq:
    listener:
      simple:
        retry:
          enabled: true
          max-retries: @N@
`},
		{Setting: "spring.kafka.retry.topic.attempts", Counts: "all", Name: "application.yml", Text: `spring:
  kafka:
    retry:
      topic:
        enabled: true
        attempts: @N@
`},
		{Setting: "NAME.ribbon.MaxAutoRetriesNextServer", Counts: "after the first", Name: "application.properties", Text: `a.ribbon.MaxAutoRetries=0
a.ribbon.OkToRetryOnAllOperations=false
a.ribbon.MaxAutoRetriesNextServer=@N@
`}},
	whole: func(in *input) bool {
		return in.anyProp("spring.kafka", "spring.rabbitmq", "spring.cloud.stream", "spring.cloud.loadbalancer.retry", "*.ribbon", "ribbon")
	},
	read: func(in *input, _ []*doc) {
		in.eachReading(func(d props) {
			in.springKafka(d)
			in.springRabbit(d)
			in.springStream(d)
			in.springBalancer(d)
			in.ribbon(d)
		})
	},
}

// springKafka reads the producer and the retry topics.
func (in *input) springKafka(d props) {
	k := d.sub("spring.kafka")
	p := k.sub("producer")
	// keys of the client stand below properties, the others have a name of their own
	flat := append(k.sub("properties"), p.sub("properties")...)
	for spring, client := range map[string]string{"retries": "retries", "acks": "acks"} {
		if n := p.get(spring); n != nil {
			flat = append(flat, tree.Prop{Path: strings.Split(client, "."), Value: n})
		}
	}
	for _, key := range []string{"retries", "delivery.timeout.ms", "request.timeout.ms", "retry.backoff.ms"} {
		if flat.get(key) != nil {
			at := p.at()
			if at.Line == 0 {
				at = k.at()
			}
			in.kafkaProducer(flat, "kafka producer", at)
			break
		}
	}
	t := k.sub("retry.topic")
	if !truth(t.get("enabled")) {
		return
	}
	h := in.hop("spring.kafka-retry-topic", "kafka retry topics", t.at())
	h.Class, h.DeadLetter = Queue, Yes
	n := in.count(h, "attempts", t.get("attempts"), loose)
	h.total("attempts", n, 3)
	if n != nil && *n < 1 {
		in.refuse(h, t.get("attempts").At(), "attempts must be 1 or more, found %d", *n)
	}
	b := append(t[:len(t):len(t)], t.sub("backoff")...)
	base := or(in.duration(h, "delay", b.get("delay"), springGrammar), time.Second)
	max := or(in.duration(h, "max-delay", b.get("max-delay"), springGrammar), 30*time.Second)
	h.Waits = in.springWaits(h, base, max, b.get("multiplier"), truth(b.get("random")) || truth(b.get("random-back-off")))
	h.Undecided = "nothing in the file limits the listener's own time"
	h.OverallKnown = true
}

// springWaits is the Spring family: constant, or exponential with a multiplier above 1.
func (in *input) springWaits(h *Hop, base, max time.Duration, multiplier *tree.Node, random bool) Backoff {
	b := Backoff{Growth: Constant, Base: base, Explicit: true, Source: "delay, times multiplier up to the largest delay"}
	if f := in.float(h, "multiplier", multiplier, 0); f > 1 {
		b.Growth, b.Factor, b.Max = Exponential, f, max
	}
	if random {
		b.Low, b.High, b.Jitter = 1, 1+b.Factor, true
		b.Ceiling = max
	}
	return b
}

// springRabbit reads listener and template retries. Boot 4 renamed max-attempts to
// max-retries, with another count.
func (in *input) springRabbit(d props) {
	r := d.sub("spring.rabbitmq")
	for _, where := range []string{"listener.simple", "listener.direct", "template"} {
		t := r.sub(where + ".retry")
		if !truth(t.get("enabled")) {
			continue
		}
		old, now := t.get("max-attempts"), t.get("max-retries")
		label := "rabbit " + strings.Split(where, ".")[0]
		if where == "listener.direct" {
			label += " direct"
		}
		if now != nil {
			label += " (Boot 4)"
		} else {
			label += " (Boot<=3)"
		}
		h := in.hop("spring.rabbitmq", label, t.at())
		h.Class = Queue
		if where == "template" {
			h.Class = Request
		}
		if now != nil {
			h.retries("max-retries", in.count(h, "max-retries", now, loose), 3)
		} else {
			h.total("max-attempts", in.count(h, "max-attempts", old, loose), 3)
			if old != nil {
				in.fact("off-by-one-migration", old.Pos, h, "max-attempts %s counts all; Spring Boot 4 has max-retries, where the same number makes one attempt more", old.Str())
			}
		}
		if h.Undecided != "" {
			h.Attempts = nil
		}
		base := or(in.duration(h, "initial-interval", t.get("initial-interval"), springGrammar), time.Second)
		max := or(in.duration(h, "max-interval", t.get("max-interval"), springGrammar), 10*time.Second)
		h.Waits = in.springWaits(h, base, max, t.get("multiplier"), false)
		h.Undecided = "nothing in the file limits the listener's own time"
		h.OverallKnown = true
		if h.Class == Queue {
			h.DeadLetter = No
			in.fact("missing-dead-letter", t.at(), h, "after %d attempts the message is rejected: without a dead letter exchange on the queue it is gone", or(h.Attempts, 0))
		}
	}
}

// springStream reads the consumers of Spring Cloud Stream bindings.
func (in *input) springStream(d props) {
	b := d.sub("spring.cloud.stream.bindings")
	for _, name := range b.names() {
		c := b.sub(name).sub("consumer")
		n := c.get("max-attempts")
		if n == nil {
			continue
		}
		h := in.hop("spring.cloud-stream", name, n.Pos)
		h.Class = Queue
		v := in.count(h, "max-attempts", n, loose)
		h.total("max-attempts", v, 3)
		if v != nil && *v < 1 {
			in.refuse(h, n.Pos, "max-attempts must be 1 or more, found %d", *v)
		}
		if h.Undecided != "" {
			h.Attempts = nil
		}
		base := or(in.duration(h, "back-off-initial-interval", c.get("back-off-initial-interval"), springGrammar), time.Second)
		max := or(in.duration(h, "back-off-max-interval", c.get("back-off-max-interval"), springGrammar), 10*time.Second)
		mult := c.get("back-off-multiplier")
		if mult == nil {
			mult = &tree.Node{Kind: tree.Scalar, Text: "2"}
		}
		h.Waits = in.springWaits(h, base, max, mult, false)
		h.Undecided = "nothing in the file limits the listener's own time"
		h.OverallKnown = true
	}
}

// springBalancer reads spring.cloud.loadbalancer.retry: A = (same+1) * (next+1).
func (in *input) springBalancer(d props) {
	r := d.sub("spring.cloud.loadbalancer.retry")
	if len(r) == 0 {
		return
	}
	h := in.hop("spring.cloud-loadbalancer", "loadbalancer", r.at())
	if on := r.get("enabled"); on != nil && !truth(on) {
		h.attempts(1)
		return
	}
	same, next := in.count(h, "max-retries-on-same-service-instance", r.get("max-retries-on-same-service-instance"), loose), in.count(h, "max-retries-on-next-service-instance", r.get("max-retries-on-next-service-instance"), loose)
	h.product(or(same, 0), or(next, 1))
	h.Waits = Backoff{Elsewhere: true, Source: "no backoff by default"}
	h.Undecided = "the limit of one attempt is that of the client, which is not in the file"
	h.ribbonMethods(truth(r.get("retry-on-all-operations")))
}

// product sets (same+1) * (next+1) attempts.
func (h *Hop) product(same, next int64) {
	if same < 0 || next < 0 || same > math.MaxInt32 || next > math.MaxInt32 {
		same, next = 0, 0
	}
	h.Written = fmt.Sprintf("(%d + 1) on one server x (%d + 1) servers", same, next)
	h.attempts((same + 1) * (next + 1))
}

func (h *Hop) ribbonMethods(all bool) {
	h.Methods = []string{"GET"}
	if all {
		h.Methods, h.MayHaveRun = []string{"GET", "POST", "PUT", "PATCH", "DELETE"}, Yes
	}
}

// ribbon reads NAME.ribbon.MaxAutoRetries and ribbon.MaxAutoRetries.
func (in *input) ribbon(d props) {
	for _, name := range append([]string{""}, d.names()...) {
		r := d.sub("ribbon")
		if name != "" {
			r = d.sub(name).sub("ribbon")
		}
		same, next := r.get("MaxAutoRetries"), r.get("MaxAutoRetriesNextServer")
		if same == nil && next == nil {
			continue
		}
		at := same.At()
		if same == nil {
			at = next.Pos
		}
		label := name
		if label == "" {
			label = "ribbon"
		}
		h := in.hop("netflix.ribbon", label, at)
		h.product(or(in.count(h, "MaxAutoRetries", same, loose), 0), or(in.count(h, "MaxAutoRetriesNextServer", next, loose), 1))
		if h.Undecided != "" {
			h.Attempts = nil
		}
		connect := in.duration(h, "ConnectTimeout", r.get("ConnectTimeout"), millisGrammar)
		read := in.duration(h, "ReadTimeout", r.get("ReadTimeout"), millisGrammar)
		if connect != nil && read != nil {
			h.perTry(dp(addDur(*connect, *read)))
		} else {
			h.Undecided = "the limit of one attempt is not in the file"
		}
		h.Waits = Backoff{Elsewhere: true, Source: "no backoff"}
		h.OverallKnown = true
		h.ribbonMethods(truth(r.get("OkToRetryOnAllOperations")))
	}
}
