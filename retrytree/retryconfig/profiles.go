package retryconfig

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// layer is one document of settings with the profiles under which it holds. Later
// layers win over earlier ones, as in Spring Boot and Quarkus.
type layer struct {
	set  props
	when condition // nil: always
}

// condition answers whether a document holds while the given profiles are active.
type condition func(active map[string]bool) bool

// reading is one combination of active profiles under which a file is read.
type reading struct {
	label  string // "" for the first one
	active map[string]bool
}

// Bounds of the combinations of profiles that are read of one file: their number, and the
// settings that are read in all of them together.
const (
	maxReadings = 16
	maxSettings = 1_000_000
)

// eachReading calls read with the settings that are in force: those of all documents
// that hold without a further profile, laid over each other in order, and then those
// under each profile that a document names. Of the later readings only hops that differ
// from the first are kept; they carry the profile in their name.
// Source: Spring Boot reference, Externalized Configuration, Working With Multi-Document
// Files; Quarkus configuration reference, Profiles.
func (in *input) eachReading(read func(d props)) {
	layers, more := in.layers()
	if in.combinations == nil {
		in.combinations = in.readings(layers, more)
	}
	var first []*Hop
	for i, r := range in.combinations {
		set := overlay(layers, r.active)
		hops, facts := len(in.file.Hops), len(in.file.Facts)
		if len(set) > 0 {
			read(set)
		}
		if i > 0 || in.under != nil {
			in.keepDifferent(append(in.underHops, first...), hops, facts, r.label)
		}
		if i == 0 {
			first = in.file.Hops[hops:len(in.file.Hops):len(in.file.Hops)]
			in.baseNote(first)
		}
	}
}

// layers gives the documents in order, those of the file underneath first, and the sets
// of profiles under which a document holds that does not hold without.
func (in *input) layers() (out []layer, more [][]string) {
	if in.layered != nil {
		return in.layered, in.profiles
	}
	defer func() { in.layered, in.profiles = out, more }()
	out = append(out, in.under...)
	add := func(set props, expression string) {
		if len(set) == 0 {
			return
		}
		if expression == "" {
			out = append(out, layer{set: set})
			return
		}
		when, sets, err := parseProfiles(expression)
		if err != nil {
			in.fact("unmodelled-mechanism", set.at(), nil, "the profile expression %q cannot be read (%v): the settings of this document are left out", expression, err)
			return
		}
		out = append(out, layer{set, when})
		more = append(more, sets...)
	}
	for _, d := range in.propDocs() {
		plain, byProfile, order := splitQuarkus(d)
		add(plain, activation(plain))
		for _, p := range order {
			add(byProfile[p], p)
		}
	}
	return out, more
}

// activation is the profile expression of a document; several are joined by "|".
func activation(d props) string {
	var all []string
	for _, key := range []string{"spring.config.activate.on-profile", "spring.profiles"} {
		if l := d.list(key); len(l) > 0 {
			all = append(all, "("+strings.Join(l, ")|(")+")")
		}
	}
	for _, p := range d.list("spring.config.activate.on-cloud-platform") {
		all = append(all, "cloud:"+strings.ToLower(p))
	}
	if len(all) == 0 {
		return ""
	}
	return "(" + strings.Join(all, ")&(") + ")"
}

// splitQuarkus takes the keys of Quarkus profiles (%dev.key, %{dev,test}.key) apart.
func splitQuarkus(d props) (plain props, byProfile map[string]props, order []string) {
	for _, x := range d {
		name, ok := strings.CutPrefix(x.Path[0], "%")
		if !ok || len(x.Path) < 2 {
			plain = append(plain, x)
			continue
		}
		name = strings.ReplaceAll(strings.Trim(name, "{}"), ",", "|")
		if byProfile == nil {
			byProfile = map[string]props{}
		}
		if byProfile[name] == nil {
			order = append(order, name)
		}
		byProfile[name] = append(byProfile[name], tree.Prop{Path: x.Path[1:], Value: x.Value})
	}
	return plain, byProfile, order
}

// readings lists the combinations of profiles to read: what the files switch on
// themselves, and the least that makes each further document hold.
func (in *input) readings(layers []layer, more [][]string) []reading {
	base := map[string]bool{}
	if p := profileOfName(in.file.Path); p != "" {
		base[p] = true
	}
	for _, l := range layers {
		if l.when == nil {
			for _, p := range append(l.set.list("spring.profiles.active"), l.set.list("spring.profiles.include")...) {
				switchOn(base, layers, p)
			}
		}
	}
	if len(base) == 0 {
		base["default"] = true
	}
	out := []reading{{active: base}}
	settings := 0
	for _, l := range layers {
		settings += len(l.set)
	}
	most := max(1, min(maxReadings, maxSettings/max(settings, 1)))
	for _, names := range more {
		if len(names) == 0 {
			continue
		}
		r := reading{label: strings.Join(names, ", "), active: map[string]bool{}}
		for p := range base {
			r.active[p] = p != "default"
		}
		for _, n := range names {
			switchOn(r.active, layers, n)
		}
		switch {
		case slices.ContainsFunc(out, func(o reading) bool { return o.label == r.label }):
		case len(out) == most:
			in.fact("unmodelled-mechanism", tree.Pos{Line: 1, Col: 1}, nil, "more than %d combinations of profiles: the others are not read", most)
			return out
		default:
			out = append(out, r)
		}
	}
	return out
}

// switchOn activates a profile and what its group holds.
func switchOn(active map[string]bool, layers []layer, profile string) {
	if active[profile] || isPlaceholder(profile) {
		return
	}
	active[profile] = true
	for _, l := range layers {
		if l.when == nil {
			for _, p := range l.set.list("spring.profiles.group." + profile) {
				switchOn(active, layers, p)
			}
		}
	}
}

// overlay lays the documents that hold over each other. A list replaces a list as a
// whole, as it does in Spring.
func overlay(layers []layer, active map[string]bool) props {
	var holding []int
	for i, l := range layers {
		if l.when == nil || l.when(active) {
			holding = append(holding, i)
		}
	}
	if len(holding) == 1 {
		return layers[holding[0]].set
	}
	later := map[string]bool{} // lists and values of later documents
	parts := make([]props, len(holding))
	for k := len(holding) - 1; k >= 0; k-- {
		set := layers[holding[k]].set
		for _, x := range set {
			if !hidden(x.Path, later) {
				parts[k] = append(parts[k], tree.Prop{Path: x.Path, Value: x.Value, Doc: holding[k]})
			}
		}
		for _, x := range set {
			for i, seg := range x.Path {
				if isIndex(seg) {
					later[canonPath(x.Path[:i])] = true
				}
			}
			later[canonPath(x.Path)] = true // a text with commas is a list, too
		}
	}
	return slices.Concat(parts...)
}

// hidden reports whether later documents write the setting again, or the list it is in.
func hidden(path []string, later map[string]bool) bool {
	for i, seg := range path {
		if isIndex(seg) && later[canonPath(path[:i])] {
			return true
		}
	}
	return later[canonPath(path)]
}

func isIndex(segment string) bool { return strings.Trim(segment, "0123456789") == "" && segment != "" }

func canonPath(p []string) string { return canon(strings.Join(p, ".")) }

// keepDifferent removes from the hops and facts after the given positions those that
// the first reading has, too, and names the others by their profile.
func (in *input) keepDifferent(first []*Hop, hops, facts int, label string) {
	dropped := map[*Hop]bool{}
	kept := in.file.Hops[:hops:hops]
	for _, h := range in.file.Hops[hops:] {
		h.finish()
		same := slices.IndexFunc(first, func(o *Hop) bool { return o.Kind == h.Kind && o.Name == h.Name })
		if same >= 0 && first[same].signature() == h.signature() {
			dropped[h] = true
			continue
		}
		if label != "" {
			if same >= 0 {
				h.Name += " (profile " + label + ")"
			}
			h.note("with profile %s", label)
		}
		kept = append(kept, h)
	}
	in.file.Hops = kept
	before := in.file.Facts[:facts:facts]
	for _, x := range in.file.Facts[facts:] {
		known := x.Hop == nil && slices.ContainsFunc(before, func(o Fact) bool { return o.Rule == x.Rule && o.Line == x.Line && o.Message == x.Message })
		if !known && (x.Hop == nil || !dropped[x.Hop]) {
			before = append(before, x)
		}
	}
	in.file.Facts = before
}

// signature is everything that two readings of one hop may differ in.
func (h *Hop) signature() string {
	h.finish()
	w := h.Waits
	w.Line = 0
	return fmt.Sprint(h.numbers(), h.Written, h.Methods, w, h.Default, h.StopsOnly, h.TimeoutRetried, h.To)
}

// baseNote says whether a file of one profile was read over the file below it.
func (in *input) baseNote(hops []*Hop) {
	p := profileOfName(in.file.Path)
	for _, h := range hops {
		switch {
		case in.under != nil:
			h.note("read over the application file below it in the same folder")
		case p != "":
			h.note("settings of profile %s alone: those of the application file below it are not seen", p)
		}
	}
}

var profileFile = regexp.MustCompile(`^(application|bootstrap)-([^.]+)\.(ya?ml|properties)$`)

// profileOfName gives the profile in application-PROFILE.yml, or "".
func profileOfName(name string) string {
	if m := profileFile.FindStringSubmatch(path.Base(strings.ReplaceAll(name, `\`, "/"))); m != nil {
		return m[2]
	}
	return ""
}

// parseProfiles reads a profile expression with ! & | and parentheses. sets are the least
// sets of profiles that make it hold: none when it holds without any, single names, or
// all names together.
func parseProfiles(s string) (c condition, sets [][]string, err error) {
	if len(s) > 1000 {
		return nil, nil, errors.New("too long")
	}
	p := profileParser{rest: s}
	c = p.or()
	if p.bad || strings.TrimSpace(p.rest) != "" {
		return nil, nil, errors.New("expected names with !, &, | and parentheses")
	}
	slices.Sort(p.names)
	p.names = slices.Compact(p.names)
	if c(map[string]bool{"default": true}) {
		return c, nil, nil
	}
	for _, n := range p.names {
		if c(map[string]bool{n: true}) {
			sets = append(sets, []string{n})
		}
	}
	if len(sets) > 0 {
		return c, sets, nil
	}
	all := map[string]bool{}
	for _, n := range p.names {
		all[n] = true
	}
	if !c(all) {
		return nil, nil, errors.New("no single set of profiles was found under which it holds")
	}
	return c, [][]string{p.names}, nil
}

type profileParser struct {
	rest  string
	names []string
	depth int
	bad   bool
}

func (p *profileParser) eat(c byte) bool {
	p.rest = strings.TrimLeft(p.rest, " \t")
	if p.rest != "" && p.rest[0] == c {
		p.rest = p.rest[1:]
		return true
	}
	return false
}

func (p *profileParser) or() condition {
	c := p.and()
	for p.eat('|') {
		a, b := c, p.and()
		c = func(on map[string]bool) bool { return a(on) || b(on) }
	}
	return c
}

func (p *profileParser) and() condition {
	c := p.not()
	for p.eat('&') {
		a, b := c, p.not()
		c = func(on map[string]bool) bool { return a(on) && b(on) }
	}
	return c
}

func (p *profileParser) not() condition {
	if p.depth++; p.depth > 1000 {
		p.bad = true
		return func(map[string]bool) bool { return false }
	}
	switch {
	case p.eat('!'):
		c := p.not()
		return func(on map[string]bool) bool { return !c(on) }
	case p.eat('('):
		c := p.or()
		p.bad = p.bad || !p.eat(')')
		return c
	}
	end := strings.IndexAny(p.rest, "&|!()")
	if end < 0 {
		end = len(p.rest)
	}
	name := strings.TrimSpace(p.rest[:end])
	p.rest = p.rest[end:]
	p.bad = p.bad || name == "" || isPlaceholder(name)
	p.names = append(p.names, name)
	return func(on map[string]bool) bool { return on[name] }
}
