package retryconfig

import (
	"math"
	"time"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// kafkaReader reads the settings of a Kafka producer in a properties file.
// Source: ProducerConfig, KafkaProducer.configureDeliveryTimeout.
var kafkaReader = &Reader{
	Name:    "kafka",
	Title:   "Kafka producer.properties",
	Objects: []string{"delivery.timeout.ms", "retries with bootstrap.servers"},
	refusal: "the producer does not start",
	Samples: []Reading{{Setting: "retries", Counts: "after the first", Name: "producer.properties", Text: `bootstrap.servers=k:9092
acks=all
retries=@N@
`}},
	whole: func(in *input) bool {
		for _, d := range in.propDocs() {
			if isKafka(d) || isKafkaConsumer(d) {
				return true
			}
		}
		return false
	},
	read: func(in *input, _ []*doc) {
		in.eachReading(func(d props) {
			if isKafka(d) {
				in.kafkaProducer(d, "producer", d.at())
			} else {
				in.settled = "a Kafka consumer: it has no count of attempts, a record comes again until its offset is committed"
			}
		})
	},
}

var kafkaMarks = []string{"bootstrap.servers", "acks", "key.serializer", "value.serializer", "enable.idempotence", "linger.ms", "request.timeout.ms", "max.in.flight.requests.per.connection"}

func isKafka(d props) bool {
	if d.get("delivery.timeout.ms") != nil {
		return true
	}
	marks := 0
	for _, m := range kafkaMarks {
		if d.get(m) != nil {
			marks++
		}
	}
	producer := d.get("retries") != nil || d.get("acks") != nil || d.get("key.serializer") != nil || d.get("enable.idempotence") != nil
	return marks >= 1 && producer && d.get("group.id") == nil
}

// isKafkaConsumer sees the settings of a consumer, whose retry words are about single
// requests to the broker.
func isKafkaConsumer(d props) bool {
	return d.get("group.id") != nil && (d.get("bootstrap.servers") != nil || d.get("key.deserializer") != nil)
}

// kafkaProducer reads one producer; keys are those of the Kafka client.
func (in *input) kafkaProducer(d props, name string, at tree.Pos) {
	retries := d.get("retries")
	if retries != nil {
		at = retries.Pos
	}
	h := in.hop("kafka.producer", name, at)
	ms := func(key string, def time.Duration) (time.Duration, bool) {
		v := in.duration(h, key, d.get(key), millisGrammar)
		return or(v, def), v != nil
	}
	n := in.count(h, "retries", retries, number{Min: 0, Max: math.MaxInt32, Strings: true})
	request, _ := ms("request.timeout.ms", 30*time.Second)
	linger, _ := ms("linger.ms", 0)
	delivery, explicit := ms("delivery.timeout.ms", 120*time.Second)
	switch {
	case n == nil && h.Refused == "" && h.Undecided == "":
		h.hidden("retries 2147483647 within delivery.timeout.ms")
		h.Default = true
		h.Unbounded, h.Written = true, "retries absent: 2147483647, bounded by delivery.timeout.ms"
		in.fact("implicit-default-retry", tree.Pos{}, h, "nobody wrote retries: attempts go on until delivery.timeout.ms %v is over", delivery)
	case n != nil && *n == math.MaxInt32:
		h.Unbounded, h.Written = true, "retries 2147483647, bounded by delivery.timeout.ms"
	case n != nil:
		h.retries("retries", n, 0)
	}
	if delivery < linger+request {
		if explicit {
			f := in.fact("per-try-exceeds-overall", d.get("delivery.timeout.ms").At(), h, "delivery.timeout.ms %v is below linger.ms %v plus request.timeout.ms %v", delivery, linger, request)
			f.Value, f.Limit = delivery.String(), (linger + request).String()
			in.refuse(h, d.get("delivery.timeout.ms").At(), "delivery.timeout.ms %v is below linger.ms %v + request.timeout.ms %v: the producer does not start", delivery, linger, request)
		}
		delivery = linger + request
	}
	in.kafkaIdempotence(h, d, n)
	h.perTry(&request)
	h.Overall, h.OverallKnown = &delivery, true
	h.TimeoutRetried = Yes
	base, _ := ms("retry.backoff.ms", 100*time.Millisecond)
	max, _ := ms("retry.backoff.max.ms", time.Second)
	if base > max {
		in.fact("backoff-base-over-max", d.get("retry.backoff.ms").At(), h, "retry.backoff.ms %v is above retry.backoff.max.ms %v: every wait is the maximum", base, max)
	}
	h.Waits = Backoff{Growth: Exponential, Base: base, Factor: 2, Max: max, Low: 0.8, High: 1.2, Jitter: true, Explicit: d.get("retry.backoff.ms") != nil,
		Source: "retry.backoff.ms doubling to retry.backoff.max.ms, +-20%"}
	h.Conditions = []string{"retriable errors of the client"}
	h.Class = Queue
	h.DeadLetter = Unknown
}

// kafkaIdempotence checks what enable.idempotence does not go with.
func (in *input) kafkaIdempotence(h *Hop, d props, retries *int64) {
	idem := d.get("enable.idempotence")
	inflight, err := loose.parse(orNull(d.get("max.in.flight.requests.per.connection")))
	acks := d.get("acks").Str()
	if !truth(idem) {
		if idem != nil && h.Refused == "" && (retries == nil || *retries > 0) {
			h.note("without idempotence a record may be written twice, and out of order with more than one request in flight")
		}
		return
	}
	switch {
	case retries != nil && *retries == 0:
		in.refuse(h, idem.Pos, "enable.idempotence needs retries above 0: the producer does not start")
	case err == nil && inflight > 5:
		in.refuse(h, idem.Pos, "enable.idempotence needs max.in.flight.requests.per.connection of at most 5: the producer does not start")
	case acks != "" && acks != "all" && acks != "-1":
		in.refuse(h, idem.Pos, "enable.idempotence needs acks=all: the producer does not start")
	}
}
