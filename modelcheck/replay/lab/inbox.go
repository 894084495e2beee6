package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/relplan/relplan/modelcheck/replay"
)

// inboxCase is one case of the inbox lab.
type inboxCase struct {
	name, label    string // several labels make up one case
	spec, variant  string
	process        string
	schedule       string
	counterexample bool
	statuses       []string
	looks          []look
}

// look is a query whose answer must be as wanted, on files that were closed and
// opened again.
type look struct {
	name, store, query string
	want               int
}

// Case is what one case has shown.
type Case struct {
	Case string `json:"case"`
	// Label tells the parts of a case apart, "" for a case in one part.
	Label string `json:"label"`
	// Counterexample: what the case shows is the damage of a wrong protocol.
	Counterexample bool `json:"counterexample"`
	// Statuses of the deliveries, in their order.
	Statuses  []string `json:"statuses"`
	Balance   *int     `json:"balance"`
	InboxRows *int     `json:"inbox_rows"`
	Effects   *int     `json:"effects"`
	Version   *int     `json:"version"`
	Requests  *int     `json:"requests"` // that the provider has received
	Charges   *int     `json:"charges"`  // that the provider has executed
	// Replay says whether the engine has followed the model.
	Replay replay.Answer `json:"replay"`
	Pass   bool          `json:"pass"`
	Reason string        `json:"reason"`
}

// value is where a value of the case stands.
func (c *Case) value(name string) **int {
	return map[string]**int{"balance": &c.Balance, "inbox_rows": &c.InboxRows, "effects": &c.Effects,
		"version": &c.Version, "requests": &c.Requests, "charges": &c.Charges}[name]
}

// InboxCases lists the cases by name.
func InboxCases() []string {
	var names []string
	for _, c := range inboxCases {
		if !slices.Contains(names, c.name) {
			names = append(names, c.name)
		}
	}
	return names
}

// Inbox runs the case of that name, or all, on SQLite files of their own. A
// cancelled context leaves the rest out, and the boundary says so.
func Inbox(ctx context.Context, name string, servers replay.Servers) ([]Case, replay.Boundary, error) {
	out, boundary := []Case{}, emptyBoundary()
	for _, c := range inboxCases {
		if name != "all" && c.name != name {
			continue
		}
		if ctx.Err() != nil {
			boundary.NotRun = append(boundary.NotRun, fmt.Sprintf("%s: stopped before it began", c.name))
			continue
		}
		got, run, err := c.run(ctx, servers)
		switch {
		case err != nil && ctx.Err() != nil:
			boundary.NotRun = append(boundary.NotRun, c.name+": stopped")
			continue
		case err != nil:
			return out, boundary, err
		}
		out = append(out, *got)
		join(&boundary, boundaryOf(run))
	}
	boundary.Modelled = append(boundary.Modelled, "the order of the steps: one worker at a time, as the schedule says", "loss of power: the files are closed and opened again, the machine stays on")
	if name == "all" || name == "credit" {
		boundary.Modelled = append(boundary.Modelled, "amounts of the case credit: the spec counts hundreds of cents, the report multiplies by 100")
	}
	return out, boundary, nil
}

// run acts the case out, closes the files, opens them again and looks.
func (c *inboxCase) run(ctx context.Context, servers replay.Servers) (got *Case, run *replay.Run, err error) {
	spec, err := variant(c.spec, c.variant)
	if err != nil {
		return nil, nil, err
	}
	b, err := replay.OpenBench(ctx, spec, nil, servers)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	if run, err = act(ctx, b, schedule{c.name, c.schedule}, nil); err != nil {
		return nil, nil, err
	}
	if err := b.Disconnect(ctx); err != nil {
		return nil, nil, err
	}
	f := &findings{}
	f.confirmed(run)
	got = &Case{Case: c.name, Label: c.label, Counterexample: c.counterexample, Statuses: statuses(run, c.process), Replay: run.Answer}
	f.is("statuses", got.Statuses, c.statuses)
	for _, l := range c.looks {
		n, err := ask(ctx, b, l.store, l.query)
		if err != nil {
			return nil, nil, err
		}
		f.is(l.name, n, l.want)
		*got.value(l.name) = &n
	}
	got.Pass, got.Reason = len(f.wrong) == 0, strings.Join(f.wrong, "; ")
	return got, run, nil
}
