package modeltest

import "testing"

func TestFileHolds(t *testing.T) {
	s := File(t, "testdata/inbox.yaml", "")
	Holds(t, s)
	Explore(t, s)
}

func TestFileBreaks(t *testing.T) {
	s := File(t, "testdata/setnx.yaml", "")
	for _, promise := range []string{"p2", "p3"} {
		if h := Breaks(t, s, promise); h.Faults["crash"]+h.Faults["redelivery"] != 1 {
			t.Errorf("%s: faults %v, want one", promise, h.Faults)
		}
	}
}
