//go:build unix

package uncertain_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/relplan/relplan/capacity/uncertain"
)

// A million samples of three inputs take less than a second of processor time,
// however busy the machine is.
func TestMillionSamplesInASecond(t *testing.T) {
	rate, _ := uncertain.Range(40_000, 100_000)
	row, _ := uncertain.Range(190, 220)
	days, _ := uncertain.Range(6, 8)
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano())
	}
	before := used()
	r, err := uncertain.Run([]uncertain.Input{{Name: "rate", Dist: rate}, {Name: "row", Dist: row}, {Name: "days", Dist: days}},
		func(x []float64) float64 { return x[0] * x[1] * x[2] * 86400 }, uncertain.Options{N: 1_000_000})
	if took := used() - before; err != nil || r.N != 1_000_000 || took > time.Second {
		t.Errorf("%d samples in %v of processor time, %v", r.N, took, err)
	}
}
