package capacity

import (
	"fmt"
	"math"
	"math/big"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

// Exposure is what a store that forgets too early leaves open.
type Exposure struct {
	// AtOnce is how many operations one full replay of the longest source could
	// repeat unseen: rate x gap. nil if the gap has no end.
	AtOnce *big.Int
	// PerYear is AtOnce x full replays a year, at most one repeat of each of the
	// year's operations for each replay. nil if the gap has no end.
	PerYear *big.Int
	Formula string
	Source  string
}

// WindowExposure returns how many operations are repeatable when window w is
// not covered, for operations arriving at rate r and replays full replays of
// the longest source a year (0 if unknown: PerYear is then 0). A covered window
// exposes nothing.
func WindowExposure(r Rate, w Window, replays *big.Rat) (Exposure, error) {
	e := Exposure{AtOnce: new(big.Int), PerYear: new(big.Int), Source: "exposed = rate x (required - held)"}
	if w.Covered {
		e.Formula = "window covered: nothing exposed"
		return e, nil
	}
	if w.Unlimited {
		e.AtOnce, e.PerYear = nil, nil
		e.Formula = fmt.Sprintf("every operation older than %s, for ever", span(w.Retain))
		return e, nil
	}
	if replays == nil {
		replays = new(big.Rat)
	}
	if replays.Sign() < 0 {
		return e, fmt.Errorf("replays a year: %w", ErrNegative)
	}
	n, err := Records(r, w.Gap)
	if err != nil {
		return e, err
	}
	e.AtOnce = n.Value
	e.PerYear = ceil(new(big.Rat).Mul(new(big.Rat).SetInt(n.Value), replays))
	e.Formula = fmt.Sprintf("%s x %s gap = %s operations a replay", r, span(w.Gap), groupInt(n.Value))
	if replays.Sign() > 0 {
		e.Formula += fmt.Sprintf(", x %s replays a year = %s", ratText(replays), groupInt(e.PerYear))
	}
	return e, nil
}

// Unknown describes operations whose outcome stays unknown until a
// reconciliation settles them.
type Unknown struct {
	Name string
	Rate Rate
	// Probability that an operation ends UNKNOWN, 0..1.
	Probability float64
	// Reconcile is the period between reconciliations, each of which settles
	// everything that is outstanding.
	Reconcile time.Duration
	// AmountMean and AmountSD are mean and standard deviation of the amount of
	// one operation, in any currency.
	AmountMean, AmountSD float64
	// Level of the high quantile, for example 0.99; 0 means 0.99.
	Level float64
}

// UnknownExposure is the peak of outstanding UNKNOWN operations, just before a
// reconciliation.
type UnknownExposure struct {
	Name string
	// CountMean and CountHigh: mean and high quantile of the count. The count is
	// Poisson with mean rate x probability x period.
	CountMean, CountHigh float64
	// AmountMean and AmountHigh: the same of the summed amount (compound Poisson;
	// the quantile by the Cornish-Fisher expansion to the third moment of a
	// lognormal amount, exact for a fixed amount).
	AmountMean, AmountHigh float64
	// PerYear is the mean number of UNKNOWN operations a year.
	PerYear float64
	Level   float64
	Formula string
	Source  string
}

// EstimateUnknown returns count and amount outstanding just before a
// reconciliation. Errors: probability outside 0..1, level outside (0,1),
// negative inputs.
func EstimateUnknown(u Unknown) (UnknownExposure, error) {
	level := u.Level
	if level == 0 {
		level = 0.99
	}
	e := UnknownExposure{Name: u.Name, Level: level, Source: "Poisson(rate x probability x period)"}
	switch {
	case !(u.Probability >= 0 && u.Probability <= 1):
		return e, fmt.Errorf("probability %v of %q is outside 0..1", u.Probability, u.Name)
	case !(level > 0 && level < 1):
		return e, fmt.Errorf("level %v of %q is outside 0..1", level, u.Name)
	case u.Reconcile < 0 || u.Rate.Rat().Sign() < 0 || !(u.AmountMean >= 0) || !(u.AmountSD >= 0):
		return e, fmt.Errorf("unknown exposure %q: %w", u.Name, ErrNegative)
	}
	rate := u.Rate.Float() * u.Probability
	mean := rate * u.Reconcile.Seconds()
	e.CountMean, e.PerYear = mean, rate*Year.Seconds()
	e.CountHigh = PoissonQuantile(mean, level)
	e.AmountMean = mean * u.AmountMean
	e.AmountHigh = compoundHigh(u, mean, level, e.CountHigh)
	e.Formula = fmt.Sprintf("%s x %.4g%% x %s = %s outstanding on average, %s at most with probability %g",
		u.Rate, 100*u.Probability, span(u.Reconcile), number(mean), number(e.CountHigh), level)
	return e, nil
}

// compoundHigh is the quantile of a sum of Poisson(mean) independent amounts.
func compoundHigh(u Unknown, mean, level, countHigh float64) float64 {
	if u.AmountSD == 0 || mean == 0 || u.AmountMean == 0 {
		return countHigh * u.AmountMean
	}
	m, s := u.AmountMean, u.AmountSD
	m2 := m*m + s*s
	m3 := m2 * m2 * m2 / (m * m * m) // E[A^3] of the lognormal with these two moments
	sd := math.Sqrt(mean * m2)
	skew := mean * m3 / (sd * sd * sd)
	z := distuv.UnitNormal.Quantile(level)
	return math.Max(0, mean*m+sd*(z+(z*z-1)*skew/6))
}

// PoissonQuantile returns the smallest whole k with P(N <= k) >= level for N
// Poisson with the given mean. Exact up to a mean of 1e9 (incomplete gamma
// function), normal with continuity correction above, where the two differ by
// less than one part in 10^8.
func PoissonQuantile(mean, level float64) float64 {
	if !(mean > 0) {
		return 0
	}
	z := distuv.UnitNormal.Quantile(level)
	guess := mean + z*math.Sqrt(mean) + (z*z-1)/6
	if mean > 1e9 {
		return math.Ceil(guess - 0.5)
	}
	p := distuv.Poisson{Lambda: mean}
	width := math.Ceil(3*math.Sqrt(mean)) + 10
	lo, hi := math.Max(-1, math.Floor(guess-width)), math.Ceil(guess+width)
	for lo >= 0 && p.CDF(lo) >= level {
		lo = math.Max(-1, lo-width)
	}
	for p.CDF(hi) < level {
		hi += width
	}
	for hi-lo > 1 { // CDF(lo) < level <= CDF(hi)
		mid := math.Floor((lo + hi) / 2)
		if p.CDF(mid) >= level {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// HumanThreshold returns the count of outstanding UNKNOWN operations above which
// a person should look: in normal operation it is exceeded just before at most
// falseAlarms reconciliations a year.
func HumanThreshold(u Unknown, falseAlarms float64) (float64, error) {
	if u.Reconcile <= 0 || !(falseAlarms > 0) {
		return 0, fmt.Errorf("threshold of %q needs a reconciliation period and a number of false alarms above 0", u.Name)
	}
	perYear := Year.Seconds() / u.Reconcile.Seconds()
	u.Level = 1 - math.Min(0.5, falseAlarms/perYear)
	e, err := EstimateUnknown(u)
	return e.CountHigh, err
}

// LongestReconcile returns the longest period, to the second, for which the high
// quantile of outstanding operations stays at or below limit; 0 if no period of
// one second or more does, and the largest whole number of days below 292 years
// if every period does.
func LongestReconcile(u Unknown, limit float64) (time.Duration, error) {
	fits := func(sec int64) (bool, error) {
		u.Reconcile = time.Duration(sec) * time.Second
		e, err := EstimateUnknown(u)
		return e.CountHigh <= limit, err
	}
	lo, hi := int64(0), int64(106000)*86400 // seconds; hi is about 290 years
	if ok, err := fits(hi); err != nil || ok {
		return time.Duration(hi) * time.Second, err
	}
	for hi-lo > 1 {
		mid := (lo + hi) / 2
		if ok, _ := fits(mid); ok {
			lo = mid
		} else {
			hi = mid
		}
	}
	return time.Duration(lo) * time.Second, nil
}

// CrashWindow is one unsafe stretch of a protocol: a crash inside it breaks a
// promise.
type CrashWindow struct {
	Name string
	Rate Rate
	// Window is how long an operation stays in the unsafe stretch.
	Window time.Duration
	// CrashesPerYear of the process that runs the operations at Rate.
	CrashesPerYear float64
}

// CrashExposure is how many operations unsafe stretches catch.
type CrashExposure struct {
	Name string
	// PerCrash: rate x window (Little's law: operations inside the stretch).
	PerCrash float64
	// AnyPerCrash is the probability that a crash catches at least one, for
	// Poisson arrivals.
	AnyPerCrash float64
	// PerYear: PerCrash x crashes a year.
	PerYear float64
	Formula string
	Source  string
}

// EstimateCrash turns "a crash here is possible" into "so many a year".
func EstimateCrash(c CrashWindow) (CrashExposure, error) {
	e := CrashExposure{Name: c.Name, Source: "Little's law: caught = rate x window x crashes"}
	if c.Window < 0 || !(c.CrashesPerYear >= 0) || c.Rate.Rat().Sign() < 0 {
		return e, fmt.Errorf("crash window %q: %w", c.Name, ErrNegative)
	}
	e.PerCrash = c.Rate.Float() * c.Window.Seconds()
	e.AnyPerCrash = -math.Expm1(-e.PerCrash)
	e.PerYear = e.PerCrash * c.CrashesPerYear
	e.Formula = fmt.Sprintf("%s x %s = %s operations a crash, x %g crashes a year = %s",
		c.Rate, span(c.Window), number(e.PerCrash), c.CrashesPerYear, number(e.PerYear))
	return e, nil
}

// number prints a count that may have a fraction: grouped from a thousand on,
// else to six digits.
func number(v float64) string {
	if v < 1000 || v > 1e15 {
		return fmt.Sprintf("%.6g", v)
	}
	return group(fmt.Sprintf("%.0f", v))
}
