package budget

import "math"

// Attempts returns the expected number of attempts of a call with at most n
// attempts when each fails independently with probability p: the sum of p^k
// for k < n, which needs no division by 1-p.
func Attempts(p float64, n int) float64 {
	if n <= 0 {
		return 0
	}
	if p >= 1 {
		return float64(n)
	}
	if n <= 64 {
		s := 1.0
		for k := 1; k < n; k++ {
			s = 1 + p*s
		}
		return s
	}
	return -math.Expm1(float64(n)*math.Log(p)) / (1 - p)
}

// Steady returns the number of attempts per first try in the steady state of
// a policy, when each attempt fails independently with probability p, at most
// n attempts are made, and one client instance sends rate first tries per
// second. It is the smaller of what the calls ask for and what the budget
// grants.
//
//   - FirstTry: 1 + r
//   - Success: 1/(1 - r (1-p)), since each attempt succeeds with 1-p
//   - Window: 1 + r + floor/rate
//   - Rate: 1 + floor/rate
//   - GRPC: no limit while the balance grows, p < r/(1+r); none granted above
//   - Cost: the balance of price paid for failed attempts and deposits
//   - Concurrent: 1 + r of the calls under way at any time
func (p Policy) Steady(fail float64, n int, rate float64) float64 {
	want := Attempts(fail, n)
	switch p.Kind {
	case FirstTry, Concurrent:
		return math.Min(want, 1+p.Ratio)
	case Success:
		return math.Min(want, 1/(1-math.Min(p.Ratio, 1-1e-12)*(1-fail)))
	case Window:
		return math.Min(want, 1+p.Ratio+p.Floor/rate)
	case Rate:
		return math.Min(want, 1+p.Floor/rate)
	case GRPC:
		if fail < p.Ratio/(1+p.Ratio) {
			return want
		}
		return 1
	case Cost:
		return math.Min(want, p.steadyCost(fail, n))
	}
	return want
}

// steadyCost finds the share y of wanted attempts that the balance allows:
// cost * fail * (A(y)-1) = deposit * (1 - failed calls), A(y) = sum (fail y)^k.
func (p Policy) steadyCost(fail float64, n int) float64 {
	c := p.Compile()
	drift := func(y float64) float64 {
		a := Attempts(fail*y, n)
		// An attempt beyond the first follows a timeout here: the dearer case.
		lost := float64(c.timeoutCost) * fail * (a - 1)
		return float64(c.deposit)*a*(1-fail) - lost
	}
	if drift(1) >= 0 {
		return Attempts(fail, n)
	}
	lo, hi := 0.0, 1.0
	for range 60 {
		mid := (lo + hi) / 2
		if drift(mid) >= 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return Attempts(fail*lo, n)
}

// Cap returns the largest number of attempts per first try that the policy
// grants in the long run whatever fails: what a collapsed server receives.
// It is n without a budget.
func (p Policy) Cap(n int, rate float64) float64 { return p.Steady(1, n, rate) }

// Throttle returns the probability with which an adaptively throttled client
// rejects a call locally: max(0, (requests - k accepts)/(requests + 1))
// (Site Reliability Engineering, chapter 21). Both are counts of the last two
// minutes.
func Throttle(requests, accepts, k float64) float64 {
	return math.Max(0, (requests-k*accepts)/(requests+1))
}

// NaiveRetry returns what a server receives and refuses in each second when
// it serves limit calls per second, offered new ones arrive, and each refused
// one comes back a second later (Site Reliability Engineering, chapter 22).
func NaiveRetry(limit, offered, seconds int) (sent, failed []int) {
	back := 0
	for range seconds {
		s := offered + back
		back = max(0, s-limit)
		sent, failed = append(sent, s), append(failed, back)
	}
	return sent, failed
}
