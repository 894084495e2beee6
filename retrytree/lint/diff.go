package lint

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/retrytree/retryconfig"
)

// HopChange is a hop that differs between two states of the files. Old or New is nil
// for a hop that came or went.
type HopChange struct {
	Hop      string
	Old, New *retryconfig.Hop
	Attempts string // "12 -> 36"
	Worst    string // "2.2s -> 6s", "" when the same
	Grew     bool   // more attempts, or a longer worst time
}

// PathChange is a path whose product of attempts differs.
type PathChange struct {
	Path     string
	Old, New int64            // 0: the path is not there
	Hop      *retryconfig.Hop // the last call of the path in the new state, nil without one
}

// Diff is what a change does.
type Diff struct {
	Hops  []HopChange
	Paths []PathChange
	New   []Finding // not there before
	Gone  []Finding
}

// Worse reports whether attempts or a worst time grew, or an error or warning is new.
func (d Diff) Worse() bool {
	for _, h := range d.Hops {
		if h.Grew {
			return true
		}
	}
	for _, p := range d.Paths {
		if p.New > p.Old {
			return true
		}
	}
	for _, f := range d.New {
		if f.Severity <= diag.Warning {
			return true
		}
	}
	return false
}

// Compare compares two states. Hops are the same when the path below the argument, the
// kind and the name are; two single files are compared whatever their names.
func Compare(old, now []*retryconfig.File, oldRoot, newRoot string, o Options) Diff {
	single := len(old) == 1 && len(now) == 1
	key := func(h *retryconfig.Hop, root string) string {
		file := h.File
		if rel, err := filepath.Rel(root, h.File); err == nil {
			file = rel
		}
		if single {
			file = ""
		}
		return strings.Join([]string{filepath.ToSlash(file), h.Name}, "\x00")
	}
	var d Diff
	before, after := index(old, oldRoot, key), index(now, newRoot, key)
	for _, k := range order(before.keys, after.keys) {
		if c, changed := change(before.hops[k], after.hops[k]); changed {
			d.Hops = append(d.Hops, c)
		}
	}
	d.Paths = comparePaths(edges(old), edges(now))
	d.New, d.Gone = compareFindings(Run(old, o), Run(now, o), oldRoot, newRoot, single)
	return d
}

type hopIndex struct {
	keys []string
	hops map[string]*retryconfig.Hop
}

func index(files []*retryconfig.File, root string, key func(*retryconfig.Hop, string) string) hopIndex {
	x := hopIndex{hops: map[string]*retryconfig.Hop{}}
	eachHop(files, func(h *retryconfig.Hop) {
		k := key(h, root)
		for n := 2; x.hops[k] != nil; n++ {
			k = fmt.Sprintf("%s\x00%d", key(h, root), n)
		}
		x.keys, x.hops[k] = append(x.keys, k), h
	})
	return x
}

// order is the new order with what went at the end.
func order(old, now []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, k := range append(append([]string{}, now...), old...) {
		if !seen[k] {
			seen[k] = true
			out = append(out, k)
		}
	}
	return out
}

func change(a, b *retryconfig.Hop) (HopChange, bool) {
	c := HopChange{Old: a, New: b, Attempts: text(a) + " -> " + text(b)}
	switch {
	case a == nil:
		c.Hop, c.Grew = b.Name, b.Retries()
		return c, true
	case b == nil:
		c.Hop = a.Name
		return c, true
	}
	c.Hop = b.Name
	c.Grew = grew(a, b)
	if worst(a) != worst(b) {
		c.Worst = worst(a) + " -> " + worst(b)
		c.Grew = c.Grew || longer(a, b)
	}
	same := text(a) == text(b) && c.Worst == "" && fmt.Sprint(deref(a.Slow), deref(a.PerTry), deref(a.Overall)) == fmt.Sprint(deref(b.Slow), deref(b.PerTry), deref(b.Overall))
	return c, !same
}

func deref[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

func text(h *retryconfig.Hop) string {
	if h == nil {
		return "none"
	}
	return h.AttemptsText()
}

func worst(h *retryconfig.Hop) string {
	if h.Worst == nil {
		if h.Refused != "" {
			return "refused"
		}
		if h.Undecided != "" || h.Waits.Open && h.PerTry != nil {
			return "open"
		}
		return "unbounded"
	}
	return h.Worst.String()
}

func grew(a, b *retryconfig.Hop) bool {
	x, okX := most(a)
	y, okY := most(b)
	switch {
	case a.Unbounded || b.Refused != "":
		return false
	case b.Unbounded:
		return true
	case a.Refused != "":
		return b.Retries()
	}
	return okX && okY && y > x
}

// most is the largest count that the file leaves open.
func most(h *retryconfig.Hop) (int64, bool) {
	if n, ok := h.AttemptCount(); ok {
		return n, true
	}
	if h.AttemptsHigh != nil {
		return *h.AttemptsHigh, true
	}
	return 0, false
}

func longer(a, b *retryconfig.Hop) bool {
	switch {
	case b.Refused != "" || worst(b) == "open":
		return false
	case b.Worst == nil:
		return a.Worst != nil
	}
	return a.Worst != nil && *b.Worst > *a.Worst || a.Refused != ""
}

// comparePaths compares the products along whole paths: those that nothing extends.
func comparePaths(old, now []Edge) []PathChange {
	last := map[string]*retryconfig.Hop{}
	ends := func(es []Edge) (map[string]int64, []string) {
		out, names := map[string]int64{}, []string{}
		clear(last)
		from := map[string]bool{}
		for _, e := range es {
			from[e.From] = true
		}
		for _, p := range paths(es) {
			if len(p.edges) > 1 && !from[p.last().To] {
				out[p.names()] = max(out[p.names()], p.attempts) // routes beside each other are alternatives
				names = append(names, p.names())
				last[p.names()] = p.last().Hop
			}
		}
		return out, names
	}
	a, an := ends(old)
	b, bn := ends(now)
	var out []PathChange
	for _, name := range order(an, bn) {
		if a[name] != b[name] {
			out = append(out, PathChange{name, a[name], b[name], last[name]})
		}
	}
	return out
}

// compareFindings pairs findings by rule, file and hop; a number that changed within
// the same finding does not make it new.
func compareFindings(old, now []Finding, oldRoot, newRoot string, single bool) (added, gone []Finding) {
	key := func(f Finding, root string) string {
		file := f.File
		if rel, err := filepath.Rel(root, f.File); err == nil {
			file = rel
		}
		if single {
			file = ""
		}
		return strings.Join([]string{f.Rule, filepath.ToSlash(file), f.Hop}, "\x00")
	}
	count := map[string]int{}
	for _, f := range old {
		if f.Suppressed == nil {
			count[key(f, oldRoot)]++
		}
	}
	for _, f := range now {
		if f.Suppressed != nil {
			continue
		}
		if k := key(f, newRoot); count[k] > 0 {
			count[k]--
		} else {
			added = append(added, f)
		}
	}
	for i := len(old) - 1; i >= 0; i-- {
		f := old[i]
		if k := key(f, oldRoot); f.Suppressed == nil && count[k] > 0 {
			count[k]--
			gone = append([]Finding{f}, gone...)
		}
	}
	return added, gone
}
