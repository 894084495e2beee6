//go:build !unix

package des

func cpuSeconds() float64 { return 0 }
