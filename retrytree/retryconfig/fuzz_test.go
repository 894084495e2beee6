package retryconfig

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// checkFile holds what is true of every reading, whatever the input.
func checkFile(t *testing.T, f *File) {
	for _, h := range f.Hops {
		switch {
		case h.Attempts != nil && *h.Attempts < 1:
			t.Errorf("%s: %d attempts", h.Name, *h.Attempts)
		case h.Attempts != nil && h.Unbounded:
			t.Errorf("%s: a count and no limit", h.Name)
		case h.Slow != nil && (*h.Slow < 1 || h.Attempts != nil && *h.Slow > *h.Attempts):
			t.Errorf("%s: %d slow of %v attempts", h.Name, *h.Slow, deref(h.Attempts))
		case h.Refused != "" && (h.Attempts != nil || h.Worst != nil || h.PerTry != nil || h.Overall != nil):
			t.Errorf("%s: refused, but numbers", h.Name)
		case h.WorstLow != nil && h.WorstHigh != nil && *h.WorstLow > *h.WorstHigh:
			t.Errorf("%s: worst %v..%v", h.Name, *h.WorstLow, *h.WorstHigh)
		case h.Worst != nil && *h.Worst < 0 || h.PerTry != nil && *h.PerTry < 0 || h.Overall != nil && *h.Overall < 0:
			t.Errorf("%s: a negative time", h.Name)
		case h.Line < 1 || h.Column < 1 || h.Kind == "":
			t.Errorf("%s: no place or kind", h.Name)
		}
		low, high := h.Waits.Sum(7)
		if low > high || low < 0 {
			t.Errorf("%s: waits %v..%v", h.Name, low, high)
		}
	}
	if f.Status == Unread && (len(f.Hops) > 0 || f.Reason == "") {
		t.Errorf("unread with %d hops, reason %q", len(f.Hops), f.Reason)
	}
	for _, x := range f.Facts {
		if x.Rule == "" || x.Message == "" || x.Line < 1 {
			t.Errorf("fact %+v", x)
		}
	}
}

// FuzzParse feeds arbitrary bytes, from the corpus and every sample, to all readers.
func FuzzParse(f *testing.F) {
	for _, dir := range []string{"testdata/corpus", "testdata/readings"} {
		_ = filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), "huge") || strings.EqualFold(strings.TrimSuffix(e.Name(), path.Ext(e.Name())), "expected") {
				return err
			}
			src, err := os.ReadFile(p)
			f.Add(e.Name(), src)
			return err
		})
	}
	for _, r := range readers {
		for _, s := range r.Samples {
			f.Add(s.Name, []byte(s.With("3")))
		}
	}
	f.Fuzz(func(t *testing.T, name string, src []byte) {
		file := Parse(name, src)
		checkFile(t, file)
		file.Grouped()
	})
}

// FuzzFolder feeds two files of one folder to the step that completes one by the other.
func FuzzFolder(f *testing.F) {
	spring := [][2]string{
		{"resilience4j.retry.instances.a: {maxAttempts: 3, waitDuration: 1s}", "resilience4j.retry.instances.a: {maxAttempts: 5}"},
		{"spring.profiles.active: prod\n---\nspring.config.activate.on-profile: prod & !eu\nresilience4j.retry.instances.a.maxAttempts: 3", "spring.cloud.gateway.routes:\n- {id: a, filters: [Retry=3]}"},
	}
	for _, s := range spring {
		f.Add(true, []byte(s[0]), []byte(s[1]))
	}
	f.Add(false, []byte(linkRoute), []byte(linkRule))
	f.Add(false, []byte(linkRoute), []byte(linkMesh))
	f.Add(false, []byte(linkMesh), []byte(linkRoute+"---\n"+linkRule))
	f.Fuzz(func(t *testing.T, settings bool, a, b []byte) {
		names := [2]string{"d/vs.yaml", "d/other.yaml"}
		if settings {
			names = [2]string{"d/application.yml", "d/application-prod.yml"}
		}
		files := []*File{Parse(names[0], a), Parse(names[1], b)}
		link(files)
		for _, file := range files {
			checkFile(t, file)
		}
	})
}

// FuzzSetting puts arbitrary text in the place of the count of every sample, and of a
// duration in it.
func FuzzSetting(f *testing.F) {
	for i := range 80 {
		for _, v := range []string{"3", "-1", "99999999999999999999", "3.5", `"x"`, "{a: 1}", "[1]", "1h30m", "${N:3}", "{{ .N }}", "\n  x: y"} {
			f.Add(uint8(i), v)
		}
	}
	var samples []Reading
	for _, r := range readers {
		samples = append(samples, r.Samples...)
	}
	f.Fuzz(func(t *testing.T, i uint8, value string) {
		s := samples[int(i)%len(samples)]
		checkFile(t, Parse(s.Name, []byte(strings.ReplaceAll(s.Text, "@N@", value))))
		for _, d := range []string{"1s", "10s", "500ms", "0.1s", "PT0.2S", "00:00:02", "5s", "30000000000", "1000", "5m"} {
			if strings.Contains(s.Text, d) {
				checkFile(t, Parse(s.Name, []byte(strings.ReplaceAll(s.With("3"), d, value))))
			}
		}
	})
}

// FuzzDuration feeds every spelling of a duration.
func FuzzDuration(f *testing.F) {
	all := []grammar{goGrammar, protoGrammar, gepGrammar, linkerdGrammar, springGrammar, timeSpan, isoGrammar, nginxGrammar, haproxyGrammar, goOrSeconds, caddyGrammar,
		millisGrammar, secondsGrammar, minutesGrammar, fracSeconds, istioGrammar, natsGrammar, caddyAny, quantityGrammar}
	for i := range all {
		for _, s := range []string{"1s", "25ms", "1m30s", "PT1.5S", "00:00:05", "9223372036854775807", "1e9s", "9999999d", "-1s", "1_000s"} {
			f.Add(uint8(i), s)
		}
	}
	f.Fuzz(func(t *testing.T, i uint8, s string) {
		g := all[int(i)%len(all)]
		if d, err := g.parse(s, false); err == nil && d < 0 {
			t.Errorf("%s: %q gives %v", g.name, s, d)
		}
	})
}
