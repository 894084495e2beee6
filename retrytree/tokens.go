package retrytree

import (
	"fmt"
	"math"
	"time"
)

// Outcome is how an attempt ended, as far as a budget cares.
type Outcome uint8

// The outcomes.
const (
	Succeeded Outcome = iota
	Failed            // an error that came back at once
	TimedOut
	Throttled // shed by the callee or by a quota
)

// Tokens is the state of a retry budget in one client. Implementations are
// deterministic, use integers only, and are not safe for concurrent use. Time
// is what passed since any fixed start.
type Tokens interface {
	// FirstTry is called when a call starts.
	FirstTry(now time.Duration)
	// Result is called when an attempt ends; retry says whether it was one.
	Result(now time.Duration, o Outcome, retry bool)
	// Retry asks for one more attempt after the outcome given and takes the
	// tokens when it is allowed.
	Retry(now time.Duration, after Outcome) bool
}

// milli is one token in the integer unit of the buckets.
const milli = 1000

// millis converts a number of tokens, rounding to the nearest thousandth.
func millis(tokens float64) int64 { return int64(math.Round(tokens * milli)) }

// RatioTokens is a bucket that takes a deposit per first try or per success and
// pays one token per retry. Make one with [NewRatioTokens].
type RatioTokens struct {
	deposit, tokens, limit int64
	perSuccess             bool
}

// NewRatioTokens returns a full bucket of the given size with a deposit of
// ratio tokens, thousandths exactly.
func NewRatioTokens(kind BudgetKind, ratio, bucket float64) (*RatioTokens, error) {
	b := Budget{Kind: kind, Ratio: ratio, Bucket: bucket}
	if err := b.check(); err != nil {
		return nil, err
	}
	if kind == OfActive {
		return nil, fmt.Errorf("a budget of active requests has no bucket; use NewActiveTokens")
	}
	return &RatioTokens{deposit: millis(ratio), tokens: millis(bucket), limit: millis(bucket), perSuccess: kind == PerSuccess}, nil
}

func (t *RatioTokens) add(n int64) { t.tokens = min(t.limit, t.tokens+n) }

// FirstTry implements [Tokens].
func (t *RatioTokens) FirstTry(time.Duration) {
	if !t.perSuccess {
		t.add(t.deposit)
	}
}

// Result implements [Tokens].
func (t *RatioTokens) Result(_ time.Duration, o Outcome, _ bool) {
	if t.perSuccess && o == Succeeded {
		t.add(t.deposit)
	}
}

// Retry implements [Tokens].
func (t *RatioTokens) Retry(time.Duration, Outcome) bool {
	if t.tokens < milli {
		return false
	}
	t.tokens -= milli
	return true
}

// GRPCTokens is the retry throttling of a gRPC service config: every failed
// attempt costs one token, every success gives ratio tokens back, and a retry
// needs more than half of the tokens. Source: gRFC A6; C-core keeps thousandths
// as integers, and so does this.
type GRPCTokens struct{ tokens, limit, ratio int64 }

// NewGRPCTokens returns a full bucket of maxTokens, from 1 to 1000 (whole), and
// a tokenRatio above 0, of which three decimals count.
func NewGRPCTokens(maxTokens int64, tokenRatio float64) (*GRPCTokens, error) {
	if maxTokens < 1 || maxTokens > 1000 {
		return nil, fmt.Errorf("maxTokens is %d, expected 1 to 1000", maxTokens)
	}
	if !(tokenRatio > 0) || tokenRatio > 1000 {
		return nil, fmt.Errorf("tokenRatio is %v, expected a number above 0", tokenRatio)
	}
	return &GRPCTokens{tokens: maxTokens * milli, limit: maxTokens * milli, ratio: int64(tokenRatio * milli)}, nil
}

// FirstTry implements [Tokens].
func (t *GRPCTokens) FirstTry(time.Duration) {}

// Result implements [Tokens].
func (t *GRPCTokens) Result(_ time.Duration, o Outcome, _ bool) {
	if o == Succeeded {
		t.tokens = min(t.limit, t.tokens+t.ratio)
		return
	}
	t.tokens = max(0, t.tokens-milli)
}

// Retry implements [Tokens].
func (t *GRPCTokens) Retry(time.Duration, Outcome) bool { return 2*t.tokens > t.limit }

// Tokens returns the tokens left, in thousandths.
func (t *GRPCTokens) Tokens() int64 { return t.tokens }

// AWSTokens is the retry quota of an AWS SDK. A retry that succeeds gives its
// cost back, and every success gives Gain. Source: aws-sdk-go-v2
// aws/retry/standard.go.
type AWSTokens struct {
	// Tokens are left; Limit is the size of the bucket.
	Tokens, Limit int64
	// Cost, TimeoutCost and ThrottleCost are taken by a retry after an error,
	// a timeout and a throttled call.
	Cost, TimeoutCost, ThrottleCost int64
	// Gain is given back by every successful attempt.
	Gain int64

	held int64 // cost of the retry under way
}

// AWSStandard is the standard mode before 2026: 500 tokens, 5 per retry, 10
// after a timeout.
func AWSStandard() *AWSTokens {
	return &AWSTokens{Tokens: 500, Limit: 500, Cost: 5, TimeoutCost: 10, ThrottleCost: 5, Gain: 1}
}

// AWS2026 is the standard mode of 2026, the default of aws-sdk-go-v2 from
// v1.48.0: 14 per retry, 5 after throttling.
func AWS2026() *AWSTokens {
	return &AWSTokens{Tokens: 500, Limit: 500, Cost: 14, TimeoutCost: 14, ThrottleCost: 5, Gain: 1}
}

// FirstTry implements [Tokens].
func (t *AWSTokens) FirstTry(time.Duration) { t.held = 0 }

// Result implements [Tokens].
func (t *AWSTokens) Result(_ time.Duration, o Outcome, retry bool) {
	if o == Succeeded {
		gain := t.Gain
		if retry {
			gain += t.held
		}
		t.Tokens = min(t.Limit, t.Tokens+gain)
	}
	t.held = 0
}

// Retry implements [Tokens].
func (t *AWSTokens) Retry(_ time.Duration, after Outcome) bool {
	cost := t.Cost
	switch after {
	case TimedOut:
		cost = t.TimeoutCost
	case Throttled:
		cost = t.ThrottleCost
	}
	if t.Tokens < cost {
		return false
	}
	t.Tokens -= cost
	t.held = cost
	return true
}

// WindowTokens is the windowed budget of Finagle, tower and Linkerd: deposits
// count for ttl, in ten slots, and a reserve allows minPerSecond retries each
// second. Source: finagle RetryBudget.scala, tower tps_budget.rs.
type WindowTokens struct {
	deposit, withdraw, reserve int64
	slot                       time.Duration
	slots                      [windowSlots]int64 // of the last ten slots, by slot number modulo 10
	current                    int64              // number of the running slot
}

const windowSlots = 10

// NewWindowTokens returns a budget that allows ratio retries per first try of
// the last ttl (1 s to 60 s) and minPerSecond retries a second beside them.
func NewWindowTokens(ratio float64, minPerSecond int64, ttl time.Duration) (*WindowTokens, error) {
	switch {
	case !(ratio >= 0) || ratio > 1000:
		return nil, fmt.Errorf("ratio is %v, expected 0 to 1000", ratio)
	case minPerSecond < 0 || minPerSecond > math.MaxInt32:
		return nil, fmt.Errorf("minimum is %d per second, expected 0 to %d", minPerSecond, math.MaxInt32)
	case ttl < time.Second || ttl > time.Minute:
		return nil, fmt.Errorf("ttl is %v, expected 1s to 1m", ttl)
	}
	t := &WindowTokens{deposit: millis(ratio), withdraw: milli, slot: ttl / windowSlots}
	t.reserve = minPerSecond * int64(ttl/time.Second) * milli
	return t, nil
}

// expire empties the slots that have left the window.
func (t *WindowTokens) expire(now time.Duration) {
	n := int64(now / t.slot)
	for i := max(t.current+1, n-windowSlots+1); i <= n; i++ {
		t.slots[i%windowSlots] = 0
	}
	t.current = max(t.current, n)
}

// FirstTry implements [Tokens].
func (t *WindowTokens) FirstTry(now time.Duration) {
	t.expire(now)
	t.slots[t.current%windowSlots] += t.deposit
}

// Result implements [Tokens].
func (t *WindowTokens) Result(time.Duration, Outcome, bool) {}

// Retry implements [Tokens].
func (t *WindowTokens) Retry(now time.Duration, _ Outcome) bool {
	t.expire(now)
	sum := t.reserve
	for _, s := range t.slots {
		sum += s
	}
	if sum < t.withdraw {
		return false
	}
	t.slots[t.current%windowSlots] -= t.withdraw
	return true
}

// ActiveTokens allows a share of the active requests to be retries, and always
// a few. Source: Envoy circuit breaker retry_budget (budget_percent,
// min_retry_concurrency).
type ActiveTokens struct {
	share           int64 // thousandths
	floor           int64
	active, retries int64
}

// NewActiveTokens returns a budget of the given share (0.2 for 20%) with at
// least floor concurrent retries.
func NewActiveTokens(share float64, floor int64) (*ActiveTokens, error) {
	if !(share >= 0) || share > 1 || floor < 0 {
		return nil, fmt.Errorf("share %v and floor %d, expected a share from 0 to 1 and a floor from 0", share, floor)
	}
	return &ActiveTokens{share: millis(share), floor: floor}, nil
}

// FirstTry implements [Tokens].
func (t *ActiveTokens) FirstTry(time.Duration) { t.active++ }

// Result implements [Tokens].
func (t *ActiveTokens) Result(_ time.Duration, _ Outcome, retry bool) {
	t.active--
	if retry {
		t.retries--
	}
}

// Retry implements [Tokens].
func (t *ActiveTokens) Retry(time.Duration, Outcome) bool {
	if t.retries >= max(t.floor, t.active*t.share/milli) {
		return false
	}
	t.retries++
	t.active++
	return true
}

// Played is what [Play] counts.
type Played struct {
	Calls, Attempts, Retries, Refused int64
	Succeeded                         int64 // calls
	// LastFull is the number of the last call that made any retry; 0: none.
	LastFull int64
}

// Play runs calls one after the other against a budget, each with at most n
// attempts; outcome tells how an attempt ends (attempt counts from 1 in its
// call). Calls start gap apart and take no time.
func Play(t Tokens, calls, n int64, gap time.Duration, outcome func(call, attempt int64) Outcome) Played {
	var p Played
	for c := int64(1); c <= calls; c++ {
		now := time.Duration(c-1) * gap
		t.FirstTry(now)
		p.Calls++
		for k := int64(1); ; k++ {
			p.Attempts++
			o := outcome(c, k)
			t.Result(now, o, k > 1)
			if o == Succeeded {
				p.Succeeded++
				break
			}
			if k == n {
				break
			}
			if !t.Retry(now, o) {
				p.Refused++
				break
			}
			p.Retries++
			p.LastFull = c
		}
	}
	return p
}

// AdaptiveThrottle is the probability with which a client drops a request
// locally, max(0, (requests - K*accepts)/(requests + 1)), over its last window
// (two minutes in the source). Source: SRE book, chapter 21.
func AdaptiveThrottle(requests, accepts, k float64) float64 {
	return max(0, (requests-k*accepts)/(requests+1))
}

// AdaptiveLoad is the rate that reaches a backend of the given capacity when
// clients that offer the rate given throttle adaptively with factor K: in the
// steady state min(offered, K*capacity).
func AdaptiveLoad(offered, capacity, k float64) float64 { return min(offered, k*capacity) }

// NaiveRetry is the load of clients that repeat every failed request once per
// interval until it succeeds, against a backend that serves limit and refuses
// the rest for nothing: sent(i) = offered + failed(i-1), failed(i) = sent(i) -
// limit. It returns the requests sent and refused in the first n intervals.
// Source: SRE book, chapter 22.
func NaiveRetry(offered, limit int64, n int) (sent, refused []int64) {
	var failed int64
	for range n {
		s := offered + failed
		failed = max(0, s-limit)
		sent, refused = append(sent, s), append(refused, failed)
	}
	return sent, refused
}

// RateCapped is the amplification of a fleet that may make at most retries per
// second in total (a server-wide budget such as 60 a minute) when all of its
// first tries fail and would be repeated: 1 + min(retries, rate*(n-1))/rate.
// Source: SRE book, chapter 22.
func RateCapped(rate, retries float64, n Count) float64 {
	if rate <= 0 {
		return 1
	}
	return 1 + min(retries, rate*(n.Float64()-1))/rate
}
