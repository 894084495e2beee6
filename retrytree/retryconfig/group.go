package retryconfig

import (
	"fmt"
	"strings"
)

// alikeRoutes is from how many routes alike of one object a report shows one line.
const alikeRoutes = 50

// Group is a hop with the number of routes of the same object that are like it.
type Group struct {
	*Hop
	Name  string // "object#*" for a group
	Count int
}

// Grouped lists the hops of a file; of an object with more than fifty routes alike, the
// largest such set becomes one entry named object#*.
func (f *File) Grouped() []Group {
	type set struct {
		first *Hop
		count int
	}
	sets := map[string]map[string]*set{}
	for _, h := range f.Hops {
		object, _, ok := strings.Cut(h.Name, "#")
		if !ok {
			continue
		}
		if sets[object] == nil {
			sets[object] = map[string]*set{}
		}
		k := h.numbers()
		if s := sets[object][k]; s != nil {
			s.count++
		} else {
			sets[object][k] = &set{h, 1}
		}
	}
	most := map[string]string{}
	for object, byKey := range sets {
		best := alikeRoutes
		for k, s := range byKey {
			if s.count > best || s.count == best && best > alikeRoutes && k < most[object] {
				most[object], best = k, s.count
			}
		}
	}
	var out []Group
	for _, h := range f.Hops {
		object, _, _ := strings.Cut(h.Name, "#")
		k, grouped := most[object]
		switch {
		case !grouped || h.numbers() != k:
			out = append(out, Group{h, h.Name, 1})
		case sets[object][k].first == h:
			out = append(out, Group{h, object + "#*", sets[object][k].count})
		}
	}
	return out
}

// numbers is what makes two routes alike.
func (h *Hop) numbers() string {
	return fmt.Sprint(h.Kind, h.AttemptsText(), textOr(h.Slow), textOr(h.PerTry), textOr(h.Overall), textOr(h.Worst), h.Conditions, h.Refused)
}

func textOr[T any](p *T) string {
	if p == nil {
		return "-"
	}
	return fmt.Sprint(*p)
}

// Hop gives the hop with the name, or nil; "" is the only hop of the file.
func (f *File) Hop(name string) *Hop {
	for _, h := range f.Hops {
		if h.Name == name || name == "" && len(f.Hops) == 1 {
			return h
		}
	}
	return nil
}
