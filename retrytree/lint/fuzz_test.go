package lint

import (
	"testing"

	"github.com/relplan/relplan/retrytree/retryconfig"
)

// FuzzRun reads arbitrary bytes and judges what was read: every finding has a place, a
// message and a fingerprint of its own.
func FuzzRun(f *testing.F) {
	for _, r := range Rules {
		for _, s := range append(r.Before[:len(r.Before):len(r.Before)], r.After...) {
			f.Add(s.Name, []byte(s.Text))
		}
	}
	f.Fuzz(func(t *testing.T, name string, src []byte) {
		found := Run([]*retryconfig.File{retryconfig.Parse(name, src)}, Options{FailureRate: 0.05, Rate: 50})
		seen := map[string]bool{}
		for _, x := range found {
			if x.Line < 1 || x.Column < 1 || x.Message == "" || x.Fingerprint == "" || seen[x.Fingerprint] {
				t.Errorf("finding %+v", x)
			}
			seen[x.Fingerprint] = true
		}
	})
}
