package retryconfig

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// Status is what became of a file. The zero value claims nothing was read.
type Status uint8

// Skipped: recognised, and nothing in it to read (or nothing that mentions retries).
// Read: hops were read. Unread: refused as a whole, with the reason.
const (
	Skipped Status = iota
	Read
	Unread
)

// String names the status as the normal form does: skip, ok or unread.
func (s Status) String() string { return [...]string{"skip", "ok", "unread"}[s] }

// File is the reading of one file.
type File struct {
	Path   string
	Status Status
	Reason string // of Unread and Skipped, with line and column where there is one
	Line   int    // place of the reason, 0 without one
	Column int
	Hops   []*Hop // in file order
	Facts  []Fact // what the readers saw and a rule reports
	Calls  []Call // edges, of a plan file
	Source []byte // the bytes that were read, for messages and suppressions

	istio    *istioObjects // what other files of the folder need
	settings []layer
}

// Fact is something that only the reader of a product can see: a key that is
// ignored, a number that is raised, a list that stays wider than written. The lint
// rule of the same name turns it into a finding.
type Fact struct {
	Rule    string // name of the rule, such as "shadowed-config"
	Line    int
	Column  int
	Hop     *Hop // nil when it belongs to no hop
	Message string
	Value   string // the number or text that was found, "" when none
	Limit   string // what it is compared with, "" when none
	Mild    bool   // the milder of the two severities of the rule
}

// doc is one document of a file with what Kubernetes objects have in common.
type doc struct {
	root      *tree.Node
	index     int
	group     string // of apiVersion, without the version
	version   string
	kind      string
	namespace string
	name      string
	claimed   bool
}

// input is what a reader gets, and where it puts what it reads.
type input struct {
	file *File
	docs []*doc        // of the whole file
	flat [][]tree.Prop // of the whole file, for flat files and Spring
	text []tree.Line   // of text formats
	syn  syntax

	scope        string  // what a bad value takes down beyond its own object, such as "the producer does not start"
	named        bool    // asked for by name: the cheap look does not decide
	under        []layer // the settings below those of the file, when it is one of a profile
	underHops    []*Hop  // what they read as
	layered      []layer // the documents of settings with their profiles, once they were asked for
	profiles     [][]string
	combinations []reading // of profiles, under which the settings are read
	settled      string    // why nothing is read, when a reader knows better than that no reader does
	known        bool      // a reader claims something in it, or it holds an object that never retries
}

// hop adds a hop.
func (in *input) hop(kind, name string, at tree.Pos) *Hop {
	h := &Hop{File: in.file.Path, Kind: kind, Name: name, Line: max(at.Line, 1), Column: max(at.Col, 1)}
	in.file.Hops = append(in.file.Hops, h)
	return h
}

// fact records what the rule of that name reports.
func (in *input) fact(rule string, at tree.Pos, h *Hop, format string, args ...any) *Fact {
	if at.Line == 0 && h != nil {
		at = tree.Pos{Line: h.Line, Col: h.Column}
	}
	in.file.Facts = append(in.file.Facts, Fact{Rule: rule, Line: max(at.Line, 1), Column: max(at.Col, 1), Hop: h, Message: fmt.Sprintf(format, args...)})
	return &in.file.Facts[len(in.file.Facts)-1]
}

// refuse marks the hop as refused by the product, once, and records why.
func (in *input) refuse(h *Hop, at tree.Pos, format string, args ...any) {
	msg := fmt.Sprintf(format, args...)
	if h.Refused == "" {
		h.Refused = msg
	}
	in.fact("invalid-policy-rejected", at, h, "%s", msg)
}

// refuseDuration is refuse for a duration that the reader of the product cannot take. It
// is one finding, and a second one where more than the object is refused for it.
func (in *input) refuseDuration(h *Hop, key string, n *tree.Node, err error) {
	in.fact("invalid-duration", n.At(), h, "%s: %v", key, err)
	if in.scope != "" {
		in.fact("invalid-policy-rejected", n.At(), h, "%s cannot be read: %s", key, in.scope)
	}
	if h.Refused == "" {
		h.Refused = fmt.Sprintf("%s: %v", key, err)
	}
}

// undecided marks a hop whose numbers stand outside the file.
func (in *input) undecided(h *Hop, at tree.Pos, why string) {
	if h.Undecided == "" {
		h.Undecided = why
	}
	h.Notes = append(h.Notes, why)
	in.fact("unmodelled-mechanism", at, h, "%s", why)
}

// duration reads a setting of a hop; a bad one refuses the hop. nil when absent.
func (in *input) duration(h *Hop, key string, n *tree.Node, g grammar) *time.Duration {
	if in.outside(h, key, n) {
		return nil
	}
	d, present, err := g.read(n)
	if err != nil {
		in.refuseDuration(h, key, n, err)
		return nil
	}
	if !present {
		return nil
	}
	h.given = append(h.given, &d)
	return &d
}

// outside sees a value that is filled in later (${NAME}, {{ name }}, $(name)).
func (in *input) outside(h *Hop, key string, n *tree.Node) bool {
	if n.Is(tree.Map) && isIntrinsic(n) || isPlaceholder(n.Str()) || strings.HasPrefix(tagOf(n), "!") {
		in.undecided(h, n.At(), key+": the value is filled in outside the file")
		h.timesOpen = true
		return true
	}
	return false
}

func isPlaceholder(s string) bool {
	return strings.Contains(s, "${") || strings.Contains(s, "{{") || strings.HasPrefix(s, "$(") || strings.HasPrefix(s, "#{")
}

func tagOf(n *tree.Node) string {
	if n == nil {
		return ""
	}
	return n.Tag
}

// isIntrinsic sees a CloudFormation function in its long form.
func isIntrinsic(n *tree.Node) bool {
	return len(n.Map()) == 1 && (n.Entries[0].Key == "Ref" || strings.HasPrefix(n.Entries[0].Key, "Fn::"))
}

// ofRunning are rules about a policy in force: they say nothing of one that is refused.
var ofRunning = []string{"implicit-default-retry", "version-dependent-default", "wildcard-retry-on", "backoff-setting-ignored"}

// done completes a file: numbers, order, status.
func (f *File) done() {
	for _, h := range f.Hops {
		h.finish()
	}
	f.Facts = slices.DeleteFunc(f.Facts, func(x Fact) bool {
		return x.Hop != nil && x.Hop.Refused != "" && slices.Contains(ofRunning, x.Rule)
	})
	slices.SortStableFunc(f.Hops, func(a, b *Hop) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	f.sortFacts()
	if len(f.Hops) > 0 && f.Status == Skipped {
		f.Status, f.Reason = Read, ""
	}
}

func (f *File) sortFacts() {
	slices.SortStableFunc(f.Facts, func(a, b Fact) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Rule, b.Rule))
	})
}

// unread refuses the whole file.
func (f *File) unread(at tree.Pos, format string, args ...any) {
	f.Status, f.Line, f.Column = Unread, at.Line, at.Col
	f.Reason = fmt.Sprintf(format, args...)
	if at.Line > 0 {
		f.Reason = fmt.Sprintf("line %d, column %d: %s", at.Line, max(at.Col, 1), f.Reason)
	}
	f.Hops = nil
}
