package capacity_test

import (
	"fmt"
	"math/big"
	"time"

	"github.com/relplan/relplan/capacity"
)

const day = 24 * time.Hour

func ExampleRecords() {
	n, _ := capacity.Records(capacity.PerUnit(100_000, time.Second), 90*day)
	b, _ := capacity.RawBytes(n.Value, 100)
	fmt.Println(n.Formula)
	fmt.Println(b.Formula)
	// Output:
	// 100,000/s x 7,776,000 s = 777,600,000,000 records
	// 777,600,000,000 records x 100 B = 77,760,000,000,000 B
}

func ExampleCheckWindow() {
	w, _ := capacity.CheckWindow(
		capacity.Store{Name: "inbox", Retain: 7 * day},
		[]capacity.Source{
			{Name: "broker", Keeps: 7 * day},
			{Name: "disaster-recovery", Keeps: 30 * day},
			{Name: "manual-reissue", Keeps: 90 * day},
		})
	fmt.Println(w.Formula)
	fmt.Println(w.Covered, w.Longest, w.Gap)
	// Output:
	// 7d held < manual-reissue 90d needed: 83d short
	// false manual-reissue 1992h0m0s
}

func ExampleCheckWindow_unlimited() {
	w, _ := capacity.CheckWindow(
		capacity.Store{Name: "inbox", Retain: 365 * day},
		[]capacity.Source{{Name: "audit-log", Unlimited: true}})
	fmt.Println(w.Formula)
	// Output: audit-log never forgets: no finite safe window
}

func ExampleCheckKeys() {
	c, _ := capacity.CheckKeys(capacity.Source{
		Name: "bank", Kind: capacity.Provider, Keeps: day, RetriedFor: 3 * day,
	}, capacity.Slack{})
	fmt.Println(c.Holds, c.Formula)
	// Output: false keys kept 1d < retried for 3d: 2d short
}

func ExampleWindowExposure() {
	w, _ := capacity.CheckWindow(capacity.Store{Name: "inbox", Retain: 7 * day},
		[]capacity.Source{{Name: "manual-reissue", Keeps: 90 * day}})
	e, _ := capacity.WindowExposure(capacity.PerUnit(100_000, time.Second), w, big.NewRat(2, 1))
	fmt.Println(e.Formula)
	// Output: 100,000/s x 83d gap = 717,120,000,000 operations a replay, x 2 replays a year = 1,434,240,000,000
}

func ExampleEstimateUnknown() {
	e, _ := capacity.EstimateUnknown(capacity.Unknown{
		Name: "payments", Rate: capacity.PerUnit(100, time.Second), Probability: 0.0001,
		Reconcile: time.Hour, AmountMean: 40,
	})
	fmt.Printf("%.0f outstanding, %.0f in the worst 1%%, %.0f and %.0f in money\n",
		e.CountMean, e.CountHigh, e.AmountMean, e.AmountHigh)
	// Output: 36 outstanding, 51 in the worst 1%, 1440 and 2040 in money
}

func ExampleEstimateCrash() {
	e, _ := capacity.EstimateCrash(capacity.CrashWindow{
		Name: "effect before mark", Rate: capacity.PerUnit(100_000, time.Second),
		Window: 2 * time.Millisecond, CrashesPerYear: 12,
	})
	fmt.Println(e.Formula)
	// Output: 100,000/s x 2ms = 200 operations a crash, x 12 crashes a year = 2,400
}

func ExampleGrowth_FullAt() {
	g := capacity.Growth{Rate: capacity.PerUnit(1000, time.Second), Forever: true, BytesPerRecord: 100}
	f, _ := g.FullAt(1e12, 0.2)
	fmt.Println(f.Formula)
	// Output: 8e+11 B reached after 92d14h
}
