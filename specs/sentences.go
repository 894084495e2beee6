package specs

import (
	"fmt"
	"sort"
	"strings"
	"sync"

	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/yamlx"
)

// phrase is one part of a form.
type phrase struct {
	words []string // a fixed phrase, or
	slot  string   // the kind of a slot
	arg   string   // and its argument
}

var formsOnce sync.Once

// prepare splits the texts of the forms once.
func prepare() {
	formsOnce.Do(func() {
		for _, list := range [][]*form{promiseForms, possibleForms} {
			for _, f := range list {
				for _, p := range strings.Split(f.text, "|") {
					if strings.HasPrefix(p, "{") {
						kind, arg, _ := strings.Cut(strings.Trim(p, "{}"), ":")
						f.phrases = append(f.phrases, phrase{slot: kind, arg: arg})
					} else {
						f.phrases = append(f.phrases, phrase{words: strings.Fields(p)})
					}
				}
			}
		}
	})
}

// fixedSlots are slots that match one of a few words and carry nothing.
var fixedSlots = map[string][]string{"be": {"is", "are"}, "work": {"works", "work"}, "message": {"message", "messages"}}

func (p phrase) String() string {
	if p.words != nil {
		return "'" + strings.Join(p.words, " ") + "'"
	}
	switch p.slot {
	case "be", "work", "message":
		return "'" + fixedSlots[p.slot][1] + "'"
	case "op":
		return "an operation"
	case "effect":
		return "an effect"
	case "table", "queue", "state", "label", "fault":
		return "a " + p.slot
	case "proc":
		return "a process"
	case "n":
		return "a number"
	case "atmost":
		return "" // named by its neighbours
	case "often":
		return "'twice' or a number of times"
	case "class":
		return "ok, refused or another answer"
	case "outcome":
		return "if_exists or another branch"
	case "expr":
		return "a condition"
	}
	return "a name"
}

// arg is what a slot matched: words i to j of the sentence.
type match struct {
	text string
	pos  diag.Pos
	at   int // character offset in the scalar
	src  *yamlx.Node
}

// sentence is a scalar split into words.
type sentence struct {
	src   *yamlx.Node
	words []string
	start []int
	end   []int
}

func split(n *yamlx.Node) sentence {
	s := sentence{src: n}
	r := []rune(n.Value())
	for i := 0; i < len(r); {
		if r[i] == ' ' || r[i] == '\n' || r[i] == '\t' {
			i++
			continue
		}
		j := i
		for j < len(r) && r[j] != ' ' && r[j] != '\n' && r[j] != '\t' {
			j++
		}
		s.words = append(s.words, string(r[i:j]))
		s.start, s.end = append(s.start, i), append(s.end, j)
		i = j
	}
	return s
}

func (s sentence) span(i, j int) diag.Pos { return span(s.src, s.start[i], s.end[j-1]) }

func (s sentence) text(i, j int) string { return strings.Join(s.words[i:j], " ") }

func (s sentence) hasPhrase(i int, words []string) bool {
	if i+len(words) > len(s.words) {
		return false
	}
	for k, w := range words {
		if s.words[i+k] != w {
			return false
		}
	}
	return true
}

// try matches f. It gives the arguments, or how far it came: the number of
// phrases matched and the word at which the next one failed.
func (s sentence) try(f *form) (got map[string]match, phrases, word int, ok bool) {
	got = map[string]match{}
	i := 0
	for k, p := range f.phrases {
		switch {
		case p.words != nil:
			if !s.hasPhrase(i, p.words) {
				return got, k, i, false
			}
			i += len(p.words)
		case fixedSlots[p.slot] != nil:
			if i >= len(s.words) || !contains(fixedSlots[p.slot], s.words[i]) {
				return got, k, i, false
			}
			i++
		default:
			j := s.slotEnd(f, k, i)
			if j <= i {
				return got, k, i, false
			}
			m := match{text: s.text(i, j), pos: s.span(i, j), at: s.start[i], src: s.src}
			if p.slot == "atmost" {
				m.text, m.pos = s.words[i+2], s.span(i+2, i+3)
			}
			if !slotTakes(p.slot, m.text) {
				return got, k, i, false
			}
			got[p.arg] = m
			i = j
		}
	}
	return got, len(f.phrases), i, i == len(s.words)
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// slotEnd is the word behind the slot k of f that starts at word i.
func (s sentence) slotEnd(f *form, k, i int) int {
	if i >= len(s.words) {
		return i
	}
	switch f.phrases[k].slot {
	case "atmost":
		if i+4 <= len(s.words) && s.words[i] == "at" && s.words[i+1] == "most" && s.words[i+3] == "times" {
			return i + 4
		}
		return i
	case "expr":
	default:
		return i + 1
	}
	if k+1 == len(f.phrases) {
		return len(s.words)
	}
	for j := i + 1; j < len(s.words); j++ {
		if s.hasPhrase(j, f.phrases[k+1].words) {
			return j
		}
	}
	return i
}

// slotTakes says whether a word can fill the slot at all; whether the name
// exists is asked later.
func slotTakes(slot, w string) bool {
	switch slot {
	case "n", "atmost":
		_, ok := countWord(w)
		return ok
	case "often":
		n, ok := countWords[w]
		return ok && strings.HasSuffix(w, "ce") && n > 0
	case "expr":
		return true
	case "word":
		return nameForm.MatchString(strings.ReplaceAll(w, ".", "_"))
	}
	return nameForm.MatchString(w)
}

// parse finds the form of the sentence n among forms, or reports what is wrong.
func (d *decoder) parse(n *yamlx.Node, forms []*form, code string) (*form, map[string]match) {
	prepare()
	s := split(n)
	if len(s.words) == 0 {
		d.wanted(n, n.Pos(), code, "a sentence", "")
		return nil, nil
	}
	type near struct {
		f             *form
		got           map[string]match
		phrases, word int
	}
	var best []near
	for _, f := range forms {
		got, k, w, ok := s.try(f)
		if ok && d.fits(f, got) {
			return f, got
		}
		if ok {
			w++ // a whole sentence, with a name that does not exist
		}
		if len(best) == 0 || w > best[0].word {
			best = best[:0]
		}
		if len(best) == 0 || w == best[0].word {
			best = append(best, near{f, got, k, w})
		}
	}
	for _, b := range best { // matched as a sentence, with a name that does not exist
		if b.word > len(s.words) {
			return b.f, b.got
		}
	}
	d.sentenceError(s, code, best[0].word, func(yield func(f *form, got map[string]match, phrases int)) {
		for _, b := range best {
			yield(b.f, b.got, b.phrases)
		}
	})
	return nil, nil
}

// fits prefers, among sentences with the same words, the one whose names exist:
// "every row of .." against an operation called row.
func (d *decoder) fits(f *form, got map[string]match) bool {
	for _, p := range f.phrases {
		m := got[p.arg]
		switch p.slot {
		case "op":
			if d.ops[m.text] == nil && d.ops[strings.TrimSuffix(m.text, "s")] == nil {
				return false
			}
		case "proc":
			if d.procs[m.text] == nil && d.procs[strings.TrimSuffix(m.text, "s")] == nil && !d.declared[m.text] {
				return false
			}
		}
	}
	return true
}

func (d *decoder) sentenceError(s sentence, code string, word int, each func(func(*form, map[string]match, int))) {
	var expected []string
	var first *form
	var firstGot map[string]match
	var firstPhrases int
	each(func(f *form, got map[string]match, phrases int) {
		if first == nil {
			first, firstGot, firstPhrases = f, got, phrases
		}
		what := "the end of the sentence"
		if phrases < len(f.phrases) {
			what = f.phrases[phrases].String()
		}
		if what != "" && !contains(expected, what) {
			expected = append(expected, what)
		}
	})
	if len(expected) == 0 {
		expected = []string{"'at most N times'"}
	}
	if word == 0 || word == 1 && first.phrases[0].words == nil {
		d.l.Add(diag.Diagnostic{Code: "RP030", Pos: s.span(0, len(s.words)), Message: "unknown sentence '" + s.text(0, len(s.words)) + "'",
			Found: "'" + s.text(0, len(s.words)) + "'", Hint: d.unknownSentence(s, code)})
		return
	}
	if len(expected) > 4 {
		expected = expected[:4]
	}
	want := strings.Join(expected, ", ")
	if i := strings.LastIndex(want, ", "); i >= 0 {
		want = want[:i] + " or " + want[i+2:]
	}
	dg := diag.Diagnostic{Code: code, Expected: want}
	if word >= len(s.words) {
		dg.Pos = s.span(len(s.words)-1, len(s.words))
		dg.Found = "the end of the sentence"
	} else {
		end := s.resume(first, firstPhrases, word)
		dg.Pos = s.span(word, end)
		dg.Found = "'" + s.text(word, end) + "'"
	}
	dg.Message = fmt.Sprintf("expected %s, found %s", want, dg.Found)
	dg.Hint = "did you mean: " + d.complete(s, first, firstGot, firstPhrases, word)
	d.l.Add(dg)
}

// unknownSentence is the hint for a sentence that no form starts like.
func (d *decoder) unknownSentence(s sentence, code string) string {
	forms := promiseForms
	if code == "RP033" {
		forms = possibleForms
	}
	var best *form
	most := -1
	for _, f := range forms {
		n, total := 0, 0
		for _, p := range f.phrases {
			for _, w := range p.words {
				total++
				if contains(s.words, w) {
					n++
				}
			}
		}
		if n > 2 && 2*n-total > most {
			best, most = f, 2*n-total
		}
	}
	if best != nil {
		return "did you mean: " + d.complete(s, best, nil, 0, 0)
	}
	return "sentences start with: " + starts(promiseForms, possibleForms, code)
}

// resume is the word at which a later fixed phrase of f goes on, else the end.
func (s sentence) resume(f *form, phrases, word int) int {
	for j := word + 1; j < len(s.words); j++ {
		for _, p := range f.phrases[min(phrases+1, len(f.phrases)):] {
			if p.words != nil && s.hasPhrase(j, p.words) {
				return j
			}
		}
	}
	return len(s.words)
}

// complete writes the sentence that was probably meant: what matched, then the
// rest of the form with the names that the sentence or the spec has for it.
func (d *decoder) complete(s sentence, f *form, got map[string]match, phrases, word int) string {
	var out []string
	for _, p := range f.phrases {
		switch {
		case p.words != nil:
			out = append(out, p.words...)
		case fixedSlots[p.slot] != nil:
			w := fixedSlots[p.slot][1]
			for _, alt := range fixedSlots[p.slot] {
				if contains(s.words, alt) {
					w = alt
				}
			}
			out = append(out, w)
		default:
			if m, ok := got[p.arg]; ok {
				t := m.text
				if p.slot == "atmost" {
					t = "at most " + t + " times"
				}
				out = append(out, t)
				continue
			}
			out = append(out, d.guess(s, p.slot, word))
		}
	}
	return strings.Join(out, " ")
}

func (d *decoder) guess(s sentence, slot string, word int) string {
	var known []string
	switch slot {
	case "op":
		known = sortedKeys(d.ops)
	case "effect":
		known = sortedKeys(d.effects)
	case "table":
		known = sortedKeys(d.tables)
	case "proc":
		known = sortedKeys(d.procs)
	case "queue":
		for _, r := range d.spec.Resources {
			if r.Queue != nil {
				known = append(known, r.Name)
			}
		}
	case "class":
		return "ok"
	case "n":
		return "1"
	case "atmost":
		return "at most 1 times"
	case "often":
		return "twice"
	}
	for _, w := range s.words[min(word, len(s.words)):] {
		if contains(known, w) {
			return w
		}
	}
	if len(known) == 1 {
		return known[0]
	}
	placeholder := map[string]string{"op": "OP", "effect": "E", "table": "T", "queue": "Q", "proc": "P", "state": "STATE", "label": "LABEL", "expr": "EXPR"}
	if p, ok := placeholder[slot]; ok {
		return p
	}
	return "NAME"
}

func starts(promises, possible []*form, code string) string {
	forms := promises
	if code == "RP033" {
		forms = possible
	}
	seen := map[string]bool{}
	var out []string
	for _, f := range forms {
		w := strings.SplitN(f.text, "|", 2)[0]
		if strings.HasPrefix(w, "{") {
			w = strings.NewReplacer("{", "", "}", "", "word:", "", "proc:", "", "queue:", "").Replace(w)
			w = strings.ToUpper(w)
		}
		if !seen[w] {
			seen[w] = true
			out = append(out, w)
		}
	}
	sort.Strings(out)
	return strings.Join(out, ", ")
}

// sentenceOf writes the sentence of a form from its arguments.
func sentenceOf(f *form, arg func(name string) string) string {
	prepare()
	var out []string
	n := ""
	for _, p := range f.phrases {
		switch {
		case p.words != nil:
			out = append(out, p.words...)
		case fixedSlots[p.slot] != nil:
			i := 1
			if n == "1" {
				i = 0
			}
			out = append(out, fixedSlots[p.slot][i])
		default:
			v := arg(p.arg)
			if p.slot == "n" {
				n = v
				if f.key == "carries" {
					v = numberWord(v)
				}
			}
			if p.slot == "atmost" {
				v = "at most " + v + " times"
			}
			if p.slot == "often" {
				v = map[string]string{"1": "once", "2": "twice", "3": "thrice"}[v]
			}
			out = append(out, v)
		}
	}
	return strings.Join(out, " ")
}

// numberWord writes small numbers out, as prose does.
func numberWord(v string) string {
	switch v {
	case "1":
		return "one"
	case "2":
		return "two"
	case "3":
		return "three"
	case "4":
		return "four"
	}
	return v
}
