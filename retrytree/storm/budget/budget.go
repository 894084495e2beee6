// Package budget holds the policies that limit how many attempts beyond the
// first a client may make: token buckets fed by first tries or by successes,
// the windowed budget of Finagle and tower, gRPC throttling, the AWS cost
// bucket, Envoy's concurrency share, a fixed rate, and the adaptive
// throttling of the SRE book.
//
// All balances are integers in thousandths of a token: in floating point 50
// deposits of 0.1 do not compare equal to 5.
//
// A Policy is the configuration, a State is the balance of one client
// instance; N clients with a full bucket each are N buckets. Times are
// nanoseconds. Neither allocates after Init.
package budget

import (
	"fmt"
	"math"
)

// Kind selects the rule of a Policy.
type Kind uint8

// The rules. The zero value sets no limit.
const (
	// Unlimited allows every attempt.
	Unlimited Kind = iota
	// FirstTry deposits Ratio for each first try (Finagle, Brooker's code).
	FirstTry
	// Success deposits Ratio for each successful call (Brooker's text).
	Success
	// GRPC deposits Ratio for each success, takes one token for each failed
	// attempt, and allows another one while the balance exceeds Max/2
	// (gRPC proposal A6).
	GRPC
	// Cost takes Cost (TimeoutCost after a timeout) tokens for each attempt
	// beyond the first, gives them back when that attempt succeeds, and
	// deposits Ratio for each success (AWS SDK, standard mode).
	Cost
	// Window allows Ratio of the first tries of the last TTL plus Floor per
	// second (Finagle, tower, Linkerd). Ten slots, as there.
	Window
	// Concurrent allows as many attempts beyond the first at a time as Ratio
	// of the active calls, but never fewer than Min (Envoy retry_budget).
	Concurrent
	// Rate allows Floor attempts beyond the first per second, whatever the
	// load; Max is the burst.
	Rate
)

var kindNames = [...]string{"unlimited", "first_try", "success", "grpc", "cost", "window", "concurrent", "rate"}

// String returns the spelling used in plan files.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Kinds returns the spellings in the order of the constants.
func Kinds() []string { return kindNames[:] }

// Unit is one token: balances count thousandths.
const Unit = 1000

// Slots is the number of slots of a Window.
const Slots = 10

// Policy is the configuration of a budget. Fields that a Kind does not name
// are ignored.
type Policy struct {
	Kind Kind
	// Ratio is the deposit in tokens: 0.2 allows 20 % on top.
	Ratio float64
	// Max is the size of the bucket in tokens; 0 means the default of the
	// kind (10 for FirstTry, Success, Rate; 10 for GRPC; 500 for Cost).
	Max float64
	// Initial is the balance at the start in tokens; negative means empty,
	// 0 means full.
	Initial float64
	// Cost and TimeoutCost are the prices of one more attempt in tokens.
	Cost, TimeoutCost float64
	// TTL is the window in nanoseconds; 0 means 10 s.
	TTL int64
	// Floor is a rate per second: of Window, granted without any deposit; of
	// Rate, the whole grant.
	Floor float64
	// Min is the least concurrency of Concurrent; 0 means 3.
	Min int
}

// Validate reports the first field that is out of range.
func (p Policy) Validate() error {
	bad := func(x float64) bool { return math.IsNaN(x) || x < 0 || x > 1e12 }
	switch {
	case int(p.Kind) >= len(kindNames):
		return fmt.Errorf("unknown kind of budget %d", p.Kind)
	case bad(p.Ratio), p.Kind == FirstTry && p.Ratio > 100, p.Kind == Window && p.Ratio > 100:
		return fmt.Errorf("budget ratio %g is not between 0 and 100", p.Ratio)
	case bad(p.Max), bad(p.Cost), bad(p.TimeoutCost), bad(p.Floor), math.IsNaN(p.Initial):
		return fmt.Errorf("a budget needs tokens, costs and rates that are not negative")
	case p.TTL < 0:
		return fmt.Errorf("budget window %d ns is negative", p.TTL)
	case p.Min < 0:
		return fmt.Errorf("budget concurrency %d is negative", p.Min)
	}
	return nil
}

// Compiled is a Policy in integer thousandths, ready for the event loop.
type Compiled struct {
	Kind                Kind
	deposit, max, start int64
	cost, timeoutCost   int64
	slot                int64 // ns
	reserve             int64
	perSecond           float64
	min                 int64
}

// Compile fills in the defaults.
func (p Policy) Compile() Compiled {
	milli := func(x float64) int64 { return int64(math.Round(x * Unit)) }
	c := Compiled{Kind: p.Kind, deposit: milli(p.Ratio), cost: Unit, timeoutCost: Unit, min: int64(p.Min)}
	limit := p.Max
	if limit == 0 {
		limit = 10
		if p.Kind == Cost {
			limit = 500
		}
	}
	c.max, c.start = milli(limit), milli(limit)
	switch {
	case p.Initial < 0:
		c.start = 0
	case p.Initial > 0:
		c.start = min(c.max, milli(p.Initial))
	}
	switch p.Kind {
	case Cost:
		c.cost, c.timeoutCost = 5*Unit, 10*Unit
		if p.Cost > 0 {
			c.cost, c.timeoutCost = milli(p.Cost), milli(p.Cost)
		}
		if p.TimeoutCost > 0 {
			c.timeoutCost = milli(p.TimeoutCost)
		}
		if p.Ratio == 0 {
			c.deposit = Unit
		}
	case Window:
		ttl := p.TTL
		if ttl == 0 {
			ttl = 10e9
		}
		c.slot = max(1, ttl/Slots)
		c.reserve = milli(p.Floor * float64(ttl) / 1e9)
	case Concurrent:
		if p.Min == 0 {
			c.min = 3
		}
	case Rate:
		c.perSecond = p.Floor
	}
	return c
}

// State is the balance of one client instance.
type State struct {
	tokens  int64 // thousandths; of Window, the sum over the slots
	at      int64 // time of the last refill, or number of the current slot
	frac    int64 // part of a thousandth carried by Rate, in ns*thousandths/s
	active  int64 // calls under way
	retries int64 // attempts beyond the first under way
	slots   [Slots]int64
}

// Init sets the balance at the start.
func (s *State) Init(c *Compiled) {
	*s = State{tokens: c.start}
	if c.Kind == Window {
		s.tokens = 0
	}
}

// Tokens returns the balance in thousandths of a token.
func (s *State) Tokens() int64 { return s.tokens }

// Start records a first try at time now.
func (s *State) Start(c *Compiled, now int64) {
	switch c.Kind {
	case FirstTry:
		s.tokens = min(c.max, s.tokens+c.deposit)
	case Window:
		s.advance(c, now)
		s.slots[s.at%Slots] += c.deposit
		s.tokens += c.deposit
	case Concurrent:
		s.active++
	}
}

// Fail records a failed attempt; it must be called before Allow is asked for
// the next one.
func (s *State) Fail(c *Compiled) {
	if c.Kind == GRPC {
		s.tokens = max(0, s.tokens-Unit)
	}
}

// Allow asks for one attempt beyond the first and pays for it; late says that
// the failed attempt timed out.
func (s *State) Allow(c *Compiled, now int64, late bool) bool {
	switch c.Kind {
	case Unlimited:
		return true
	case FirstTry, Success:
		return s.pay(Unit)
	case GRPC:
		return s.tokens > c.max/2
	case Cost:
		if late {
			return s.pay(c.timeoutCost)
		}
		return s.pay(c.cost)
	case Window:
		s.advance(c, now)
		if s.tokens+c.reserve < Unit {
			return false
		}
		s.slots[s.at%Slots] -= Unit
		s.tokens -= Unit
		return true
	case Concurrent:
		limit := max(c.min*Unit, s.active*c.deposit)
		if (s.retries+1)*Unit > limit {
			return false
		}
		s.retries++
		return true
	case Rate:
		s.refill(c, now)
		return s.pay(Unit)
	}
	return true
}

// RetryEnded records that an attempt beyond the first is over; late is what
// was said to Allow when it was granted, ok whether it succeeded.
func (s *State) RetryEnded(c *Compiled, ok, late bool) {
	switch c.Kind {
	case Concurrent:
		s.retries--
	case Cost:
		if ok {
			back := c.cost
			if late {
				back = c.timeoutCost
			}
			s.tokens = min(c.max, s.tokens+back)
		}
	}
}

// End records that a call is over.
func (s *State) End(c *Compiled, ok bool) {
	switch c.Kind {
	case Concurrent:
		s.active--
	case Success, GRPC, Cost:
		if ok {
			s.tokens = min(c.max, s.tokens+c.deposit)
		}
	}
}

func (s *State) pay(n int64) bool {
	if s.tokens < n {
		return false
	}
	s.tokens -= n
	return true
}

func (s *State) advance(c *Compiled, now int64) {
	slot := now / c.slot
	if slot-s.at >= Slots {
		s.slots = [Slots]int64{}
		s.tokens = 0
		s.at = slot
		return
	}
	for s.at < slot {
		s.at++
		s.tokens -= s.slots[s.at%Slots]
		s.slots[s.at%Slots] = 0
	}
}

func (s *State) refill(c *Compiled, now int64) {
	add := float64(now-s.at)*c.perSecond*Unit/1e9 + float64(s.frac)/1e9
	whole := math.Floor(add)
	s.frac = int64((add - whole) * 1e9)
	s.at = now
	if whole >= float64(c.max) {
		s.tokens, s.frac = c.max, 0
		return
	}
	s.tokens = min(c.max, s.tokens+int64(whole))
}
