package plan

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/relplan/relplan/capacity"
	"github.com/relplan/relplan/internal/quantity"
	"github.com/relplan/relplan/reports"
)

// CrossCheckDoc is an inequality between two calculators. Left must be at least
// Right; null means no end.
type CrossCheckDoc struct {
	Name     string        `json:"name"`
	Subject  string        `json:"subject"`
	LeftNS   *int64        `json:"left_ns"`
	RightNS  *int64        `json:"right_ns"`
	Holds    bool          `json:"holds"`
	Text     string        `json:"text"`
	Protocol *ProtocolDoc  `json:"protocol"`
	Basis    reports.Basis `json:"basis"`

	advice string
	blocks []reports.Block // the protocol's history, if there is one
}

// horizonSources are the retry horizons of the call tree as sources of every
// dedupe window: the longest one, and the first that has no end.
func (r *retriesResult) horizonSources() []capacity.Source {
	var out []capacity.Source
	longest := -1
	for i, h := range r.horizons {
		switch {
		case !h.Known:
			return []capacity.Source{{Name: horizonName(h.Path), Kind: capacity.Retry, Unlimited: true}}
		case h.Horizon > 0 && (longest < 0 || h.Horizon > r.horizons[longest].Horizon):
			longest = i
		}
	}
	if longest >= 0 {
		h := r.horizons[longest]
		out = append(out, capacity.Source{Name: horizonName(h.Path), Kind: capacity.Retry, Keeps: h.Horizon})
	}
	return out
}

func horizonName(path []string) string { return "attempts along " + strings.Join(path, " -> ") }

// check compares what no single calculator sees.
func (a *answers) check(ctx context.Context) ([]CrossCheckDoc, error) {
	out := []CrossCheckDoc{}
	for i, w := range a.capacity.windows {
		c := retentionCheck(w)
		if !c.Holds {
			p, err := a.expiryHistory(ctx, a.capacity.stores[i])
			if err != nil {
				return nil, err
			}
			if p != nil {
				c.Protocol, c.blocks = &p.doc, p.blocks
			}
		}
		out = append(out, c)
		out = append(out, a.horizonCheck(w)...)
	}
	for _, s := range a.file.Sources {
		if s.Kind.V == "provider" && s.RetriedFor.Set {
			c, err := a.file.providerCheck(ctx, s)
			if err != nil {
				return nil, err
			}
			out = append(out, c)
		}
	}
	return append(out, a.lookupCheck()...), nil
}

func retentionCheck(w capacity.Window) CrossCheckDoc {
	d := windowDoc(w)
	return CrossCheckDoc{Name: "retention-below-replay", Subject: w.Store, LeftNS: d.RetainNS, RightNS: d.RequiredNS, Holds: w.Covered,
		Text: w.Formula, Basis: reports.Arithmetic("retention >= longest source of a second delivery + slack")}
}

// horizonCheck holds the longest attempt sequence against a dedupe window.
func (a *answers) horizonCheck(w capacity.Window) []CrossCheckDoc {
	var out []CrossCheckDoc
	for _, s := range a.retries.horizonSources() {
		c := CrossCheckDoc{Name: "retry-horizon-exceeds-window", Subject: w.Store, LeftNS: windowDoc(w).RetainNS, Basis: reports.Arithmetic("retention >= sum over calls of (attempts - 1) x (per try + largest backoff)")}
		switch {
		case s.Unlimited:
			c.Holds = w.Forever
			c.Text = fmt.Sprintf("%s have no end: a call has no per-try limit or no limit on attempts", s.Name)
			c.advice = fmt.Sprintf("give every call on the path a per-try limit: %s, so no finite window of `%s` is safe", c.Text, w.Store)
		default:
			c.RightNS = ns(s.Keeps)
			c.Holds = w.Forever || w.Retain >= s.Keeps
			c.Text = fmt.Sprintf("%s can arrive for %s, %s held", s.Name, quantity.FormatDuration(s.Keeps), held(w))
		}
		out = append(out, c)
	}
	return out
}

func held(w capacity.Window) string {
	if w.Forever {
		return "for ever"
	}
	return quantity.FormatDuration(w.Retain)
}

func (f *File) providerCheck(ctx context.Context, s *Source) (CrossCheckDoc, error) {
	k, err := capacity.CheckKeys(s.capacitySource(), capacity.Slack{})
	if err != nil {
		return CrossCheckDoc{}, err
	}
	c := CrossCheckDoc{Name: "provider-keys-too-short", Subject: s.Name, LeftNS: ns(k.Keeps), RightNS: ns(k.Needed), Holds: k.Holds, Text: k.Formula, Basis: reports.Arithmetic(k.Source)}
	if s.Unlimited {
		c.LeftNS = nil
	}
	if !k.Holds {
		c.advice = fmt.Sprintf("stop retrying `%s` after %s, or ask the provider by another key: it forgets a key after %s, and a retry %s later is charged again",
			s.Name, quantity.FormatDuration(k.Keeps), quantity.FormatDuration(k.Keeps), quantity.FormatDuration(k.ShortBy))
		p, err := f.lateCharge(ctx, s)
		if err != nil {
			return c, err
		}
		if p != nil {
			c.Protocol, c.blocks = &p.doc, p.blocks
		}
	}
	return c, nil
}

// lookupCheck says what attempts and duplicates do to the look-ups of a dedupe
// store: every arriving attempt asks it once.
func (a *answers) lookupCheck() []CrossCheckDoc {
	var out []CrossCheckDoc
	factor := a.retries.top.Float64()
	for _, s := range a.capacity.stores {
		w := a.file.workload(s.Dedupes.V)
		if w == nil || factor <= 1 && w.Duplicates.V == 0 {
			continue
		}
		rate := w.rate().Float()
		usual, storm := rate*(1+w.Duplicates.V), rate*factor
		out = append(out, CrossCheckDoc{Name: "amplified-lookups", Subject: s.Name, Holds: true,
			Text:  fmt.Sprintf("%.6g look-ups a second with %s duplicates; up to %.6g while every attempt fails (%s attempts)", usual, quantity.FormatRatio(w.Duplicates.V), storm, a.retries.top),
			Basis: reports.Arithmetic("look-ups = rate x (1 + duplicates); at worst rate x attempts")})
	}
	return out
}

func crossCheckBlocks(cs []CrossCheckDoc) []reports.Block {
	if len(cs) == 0 {
		return nil
	}
	t := reports.Table{Columns: []reports.Column{{Name: "cross-check"}, {Name: "of"}, {Name: "verdict"}, {Name: "because"}}}
	var after []reports.Block
	for _, c := range cs {
		verdict := "holds"
		if !c.Holds {
			verdict = "FAILS"
		}
		t.Rows = append(t.Rows, []string{c.Name, c.Subject, verdict, c.Text})
		after = append(after, c.blocks...)
	}
	return append([]reports.Block{reports.Heading{Level: 2, Text: "Cross-checks"}, t}, after...)
}

// expiryHistory checks the protocol of a store whose rows may be gone before
// the last delivery: the plan's protocol with a table or key space of the
// store's name, with one row allowed to expire.
func (a *answers) expiryHistory(ctx context.Context, s *Store) (*protocolResult, error) {
	for _, p := range a.protocols {
		if p.spec == nil || !p.asExpected() || !p.keeps(s.Name) {
			continue
		}
		return a.file.checkExpiry(ctx, p, s.Name)
	}
	return nil, nil
}

// longer than any time a person waits for a plan.
const protocolTime = 2 * time.Minute
