package retryconfig

import (
	"slices"
	"time"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// statementKind is how one library reads its own numbers.
type statementKind struct {
	key          string // of the count
	second       string // a second count: total (wins), or the other factor of a product
	total        bool   // key counts all attempts
	product      bool   // (key+1) * (second+1)
	absent       int64  // attempts without a count; -1: no limit
	zero, minus  func(in *input, h *Hop, key string, n *tree.Node)
	noneForever  bool
	falseOff     bool
	max          int64 // above it the number is refused
	cap          int64 // above it the attempts are lowered
	perTry       *time.Duration
	overall      *time.Duration
	waits        Backoff
	class        Class
	ambiguous    string // why the count is easily misread
	otherMeaning string // the same number under another version
	note         string
}

func (k statementKind) keys() []string {
	if k.second != "" {
		return []string{k.key, k.second}
	}
	return []string{k.key}
}

// StatementKinds lists the kinds of statements by name.
func StatementKinds() []string {
	out := make([]string, 0, len(statementKinds))
	for name := range statementKinds {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func forever(_ *input, h *Hop, key string, n *tree.Node) {
	h.Unbounded, h.Written = true, key+" "+n.Str()+" = no limit"
}

func off(_ *input, h *Hop, key string, n *tree.Node) {
	h.attempts(1)
	h.Written = key + " " + n.Str() + " = off"
}

// azureZero: 0 counts as unset.
func azureZero(in *input, h *Hop, key string, n *tree.Node) {
	in.fact("zero-does-not-disable", n.At(), h, "%s 0 counts as unset: 3 more attempts; -1 switches them off", key).Value = "0"
	h.attempts(4)
	h.Written = key + " 0 = unset, 3 after the first"
}

const second = time.Second

func constant(d time.Duration) Backoff { return Backoff{Growth: Constant, Base: d} }

func exponential(base time.Duration, factor float64, max time.Duration) Backoff {
	return Backoff{Growth: Exponential, Base: base, Factor: factor, Max: max}
}

func fullJitter(b Backoff) Backoff { b.Low, b.High, b.Jitter = 0, 1, true; return b }

func spread(b Backoff, low, high float64) Backoff {
	b.Low, b.High, b.Jitter = low, high, true
	return b
}

// statementKinds are the readings of libraries; sources as in the table of readings.
var statementKinds = map[string]statementKind{
	// AWS
	"botocore-config": {key: "max_attempts", second: "total_max_attempts", absent: 5, perTry: dp(60 * second), waits: fullJitter(exponential(second, 2, 20*second)),
		ambiguous: "botocore Config counts the attempts after the first, the shared configuration file counts all"},
	"aws-sdk-go-v2":   {key: "max_attempts", total: true, absent: 3, waits: fullJitter(exponential(second, 2, 20*second))},
	"aws-sdk-js-v3":   {key: "max_attempts", total: true, absent: 3, waits: fullJitter(exponential(second, 2, 20*second))},
	"aws-sdk-java-v2": {key: "max_attempts", total: true, absent: 3, waits: fullJitter(exponential(second, 2, 20*second))},
	"aws-sdk-js-v2":   {key: "max_retries", absent: 4, waits: fullJitter(exponential(100*time.Millisecond, 2, 0))},
	"aws-sdk-java-v1": {key: "max_error_retry", absent: 4, waits: fullJitter(exponential(100*time.Millisecond, 2, 20*second))},
	"sqs-redrive":     {key: "max_receive_count", total: true, absent: -1, class: Queue, waits: Backoff{Open: true}},
	"lambda-async":    {key: "maximum_retry_attempts", absent: 3, max: 2, class: Queue, waits: Backoff{Growth: Listed, List: []time.Duration{time.Minute, 2 * time.Minute}}},
	"lambda-stream":   {key: "maximum_retry_attempts", absent: -1, minus: forever, class: Queue, waits: Backoff{Open: true}},
	"eventbridge":     {key: "maximum_retry_attempts", absent: 186, max: 185, class: Queue, overall: dp(24 * time.Hour), waits: Backoff{Open: true}},
	// Azure, Google
	"azure-core-go": {key: "max_retries", absent: 4, zero: azureZero, minus: off, waits: spread(Backoff{Growth: ExponentialLess, Base: 800 * time.Millisecond, Factor: 2, Max: 60 * second}, 0.8, 1.3)},
	"azure-core":    {key: "max_retries", absent: 4, waits: spread(Backoff{Growth: ExponentialLess, Base: 800 * time.Millisecond, Factor: 2, Max: 60 * second}, 0.8, 1.3)},
	"gax-go":        {key: "max_attempts", total: true, absent: -1, waits: fullJitter(exponential(second, 2, 30*second)), note: "gax-go has no count: attempts go on until the deadline of the context"},
	"gax-java":      {key: "max_attempts", total: true, absent: -1, zero: forever, waits: fullJitter(exponential(100*time.Millisecond, 1.3, 60*second))},
	"cloud-tasks":   {key: "max_attempts", total: true, absent: 100, minus: forever, class: Queue, waits: exponential(100*time.Millisecond, 2, time.Hour)},
	// JVM
	"resilience4j":               {key: "max_attempts", total: true, absent: 3, waits: constant(500 * time.Millisecond)},
	"spring-retry":               {key: "max_attempts", total: true, absent: 3, waits: constant(second), otherMeaning: "maxAttempts of Spring Retry counts all; @Retryable of Spring Framework 7 has maxRetries, where the same number makes one attempt more"},
	"spring-7-retryable":         {key: "max_retries", absent: 4, waits: constant(second)},
	"spring-kafka-fixed-backoff": {key: "max_attempts", absent: 10, class: Queue, ambiguous: "FixedBackOff counts the attempts after the first, despite the name"},
	"spring-retryable-topic":     {key: "attempts", total: true, absent: 3, class: Queue, waits: constant(second)},
	"feign":                      {key: "max_attempts", total: true, absent: 5, perTry: dp(70 * second), waits: exponential(150*time.Millisecond, 1.5, second)},
	"ribbon":                     {key: "max_auto_retries", second: "max_auto_retries_next_server", product: true, waits: Backoff{Elsewhere: true}},
	"okhttp":                     {key: "addresses", total: true, absent: 1, waits: Backoff{Elsewhere: true}, note: "OkHttp has no count: every address is tried once"},
	"microprofile":               {key: "max_retries", absent: 4, minus: forever, overall: dp(180 * second), waits: Backoff{Growth: Constant, AddHigh: 200 * time.Millisecond, Jitter: true}},
	"failsafe":                   {key: "max_retries", absent: 3, minus: forever},
	"kafka-producer":             {key: "retries", absent: -1, perTry: dp(30 * second), overall: dp(120 * second), class: Queue, waits: spread(exponential(100*time.Millisecond, 2, second), 0.8, 1.2)},
	// .NET, Go, Python, Ruby, JavaScript
	"polly":              {key: "max_retry_attempts", absent: 4, zero: refuseZero, waits: constant(2 * second)},
	"dotnet-resilience":  {key: "max_retry_attempts", absent: 4, zero: refuseZero, perTry: dp(10 * second), overall: dp(30 * second), waits: Backoff{Growth: Decorrelated, Base: 2 * second, Jitter: true}},
	"go-retryablehttp":   {key: "retry_max", absent: 5, waits: exponential(second, 2, 30*second)},
	"urllib3":            {key: "total", absent: 11, falseOff: true, waits: Backoff{}},
	"requests":           {key: "max_retries", absent: 1, waits: Backoff{}},
	"tenacity":           {key: "stop_after_attempt", total: true, absent: -1, waits: Backoff{}},
	"axios-retry":        {key: "retries", absent: 4, waits: Backoff{}},
	"grpc":               {key: "max_attempts", total: true, absent: 1, cap: grpcCap, waits: Backoff{Open: true, Jitter: true}},
	"celery":             {key: "max_retries", absent: 4, noneForever: true, class: Queue, waits: constant(180 * second)},
	"sidekiq":            {key: "retry", absent: 26, falseOff: true, class: Queue, waits: Backoff{Growth: Quartic, Base: 15 * second, Jitter: true}},
	"asynq":              {key: "max_retry", absent: 26, class: Queue, waits: Backoff{Open: true, Jitter: true}},
	"rq":                 {key: "max", absent: 1, class: Queue},
	"dramatiq":           {key: "max_retries", absent: 21, noneForever: true, class: Queue, waits: spread(exponential(15*second, 2, 7*24*time.Hour), 0.5, 1)},
	"bullmq":             {key: "attempts", total: true, absent: 1, class: Queue},
	"temporal":           {key: "maximum_attempts", total: true, absent: -1, zero: forever, class: Job, waits: exponential(second, 2, 100*second)},
	"cadence":            {key: "maximum_attempts", total: true, absent: 1, zero: forever, class: Job, waits: exponential(second, 2, 100*second)},
	"airflow":            {key: "retries", absent: 1, class: Job, waits: constant(300 * second)},
	"nats":               {key: "max_deliver", total: true, absent: -1, zero: forever, minus: forever, class: Queue, perTry: dp(30 * second), waits: Backoff{Elsewhere: true}},
	"kubernetes-job":     {key: "backoff_limit", absent: 7, class: Job, waits: exponential(10*second, 2, 6*time.Minute)},
	"istio":              {key: "attempts", absent: 3, waits: envoyBackoff(envoyBase, 0)},
	"envoy":              {key: "num_retries", absent: 2, overall: dp(15 * second), waits: envoyBackoff(envoyBase, 0)},
	"nginx":              {key: "tries", total: true, absent: -1, zero: forever, perTry: dp(180 * second), waits: Backoff{Elsewhere: true}},
	"counts-all":         {key: "attempts", total: true, absent: 1, note: "a plain statement: the number counts all attempts"},
	"counts-after-first": {key: "retries", absent: 1, note: "a plain statement: the number counts the attempts after the first"},
}

func refuseZero(in *input, h *Hop, key string, n *tree.Node) {
	h.attempts(1)
	in.refuse(h, n.At(), "%s must be 1 or more, found 0", key)
}
