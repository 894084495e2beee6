package anomaly

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/relplan/relplan/internal/engines"
)

// Cell is what one engine did with one case under one profile.
type Cell struct {
	Without  string   `json:"without,omitempty"` // why it was not asked
	Happened bool     `json:"happened"`
	Waits    bool     `json:"waits,omitempty"`
	Refused  bool     `json:"refused,omitempty"` // by another error than a duplicate key
	Codes    []string `json:"codes,omitempty"`   // of the engine, in the order of the schedule
	Events   []Event  `json:"events,omitempty"`
}

// Event is what a schedule met: a session that waits, or is refused.
type Event struct {
	Session string `json:"session,omitempty"` // "" for a deadlock, whose victim may be either
	What    string `json:"what"`              // "waits", or the engine's code
	At      string `json:"at,omitempty"`      // the statement
}

// Engine is what was measured once per engine. It differs between machines.
type Engine struct {
	Version string `json:"version"`
	// Facts are observations besides the cells: who is the victim of a deadlock.
	Facts []string `json:"facts,omitempty"`
}

// Table holds the cells by case and profile and the model's answers by case and
// level.
type Table struct {
	Engines map[engines.Kind]Engine           `json:"engines"`
	Cells   map[string]map[string]Cell        `json:"cells"`
	Model   map[string]map[string]ModelAnswer `json:"model"`
}

//go:embed measured.json
var measured []byte

// Recorded is the table as it was measured when this program was built.
func Recorded() (*Table, error) {
	t := NewTable()
	return t, json.Unmarshal(measured, t)
}

// NewTable is a table without cells.
func NewTable() *Table {
	return &Table{Engines: map[engines.Kind]Engine{}, Cells: map[string]map[string]Cell{}, Model: map[string]map[string]ModelAnswer{}}
}

// Cell gives a cell; ok is false if it was not measured.
func (t *Table) Cell(c *Case, p Profile) (cell Cell, ok bool) {
	cell, ok = t.Cells[c.Name][p.ID]
	return cell, ok
}

// ModelOf gives the model's answer for a profile, nil where the language has no
// such level.
func (t *Table) ModelOf(c *Case, p Profile) *ModelAnswer {
	if p.Model == nil {
		return nil
	}
	if a, ok := t.Model[c.Name][p.Model.String()]; ok {
		return &a
	}
	return nil
}

// AskModel fills in what the model says, for every level of a profile.
func (t *Table) AskModel(ctx context.Context) error {
	cases, err := Catalog()
	if err != nil {
		return err
	}
	for _, c := range cases {
		t.Model[c.Name] = map[string]ModelAnswer{}
		for _, p := range Profiles {
			if p.Model == nil || t.ModelOf(c, p) != nil {
				continue
			}
			a, err := Ask(ctx, c, *p.Model)
			if err != nil {
				return err
			}
			t.Model[c.Name][p.Model.String()] = *a
		}
	}
	return nil
}

// Measure plays every case under every profile of an engine, on a database of
// its own that it makes on the server at dsn and drops afterwards.
func (t *Table) Measure(ctx context.Context, dsn string) (err error) {
	kind, err := engines.KindOf(dsn)
	if err != nil {
		return err
	}
	if len(ProfilesOf(kind)) == 0 {
		return &engines.Unavailable{Kind: kind, Reason: "it has no transactions of several statements"}
	}
	cases, err := Catalog()
	if err != nil {
		return err
	}
	var e Engine
	for _, p := range ProfilesOf(kind) {
		err := onOwn(ctx, dsn, p, func(db *engines.DB) error {
			if e.Version, err = db.Version(ctx); err != nil {
				return err
			}
			if p.Default {
				if e.Facts, err = facts(ctx, db, p, cases); err != nil {
					return err
				}
			}
			for _, c := range cases {
				if err := t.measure(ctx, db, p, c); err != nil {
					return fmt.Errorf("%s: %w", p.ID, err)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	t.Engines[kind] = e
	return nil
}

// onOwn runs do with a database of its own.
func onOwn(ctx context.Context, dsn string, p Profile, do func(db *engines.DB) error) (err error) {
	own, err := engines.CreateOwn(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, own.Drop(ctx)) }()
	at := own.DSN
	if p.journal != "" {
		at += "?journal_mode=" + p.journal
	}
	db, err := engines.OpenSQL(at)
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxIdleConns(8) // every case has up to five connections
	return do(db)
}

func (t *Table) measure(ctx context.Context, db *engines.DB, p Profile, c *Case) error {
	if t.Cells[c.Name] == nil {
		t.Cells[c.Name] = map[string]Cell{}
	}
	if why, no := c.unaskable(p); no {
		t.Cells[c.Name][p.ID] = Cell{Without: why}
		return nil
	}
	o, err := Run(ctx, db, p, c)
	if err != nil {
		return err
	}
	t.Cells[c.Name][p.ID] = cellOf(o)
	return nil
}

// cellOf sums up a run, in the order of the schedule. Which of the transactions
// of a deadlock is the victim is left out, and who of them was still seen
// waiting: PostgreSQL leaves it to whose timer ends first.
func cellOf(o *Observation) Cell {
	c := Cell{Happened: o.Happened}
	results := append([]Result{}, o.Results...)
	sort.SliceStable(results, func(i, j int) bool { return results[i].Line < results[j].Line })
	deadlock := ""
	for _, r := range results {
		if r.Failure == engines.Deadlock {
			deadlock = r.Code
		}
	}
	for _, r := range results {
		c.Waits = c.Waits || r.Waited
		if r.Waited && deadlock == "" {
			c.Events = append(c.Events, Event{r.Session, "waits", r.Text})
		}
		if r.Err == nil {
			continue
		}
		c.Codes = append(c.Codes, r.Code)
		c.Refused = c.Refused || r.Failure != engines.Duplicate
		if r.Failure != engines.Deadlock {
			c.Events = append(c.Events, Event{r.Session, r.Code, r.Text})
		}
	}
	if deadlock != "" {
		c.Events = append(c.Events, Event{What: deadlock})
	}
	return c
}

// rounds is how often the deadlock is played to see who is the victim.
const rounds = 5

// facts are what a page says besides the cells.
func facts(ctx context.Context, db *engines.DB, p Profile, cases []*Case) ([]string, error) {
	var out []string
	if db.Kind == engines.MySQL {
		var on int
		if err := db.QueryRowContext(ctx, "select @@global.innodb_snapshot_isolation").Scan(&on); err != nil {
			return nil, err
		}
		out = append(out, "innodb_snapshot_isolation is "+map[int]string{0: "off", 1: "on"}[on]+" by default")
	}
	for _, c := range cases {
		if c.Name != "deadlock" {
			continue
		}
		victims := map[string]int{}
		for range rounds {
			o, err := Run(ctx, db, p, c)
			if err != nil {
				return nil, err
			}
			for _, r := range o.Results {
				if r.Failure == engines.Deadlock {
					victims[r.Session]++
				}
			}
		}
		if len(victims) > 0 {
			out = append(out, fmt.Sprintf("victims of %d deadlocks in which A waits first and B closes the circle: %d times A, %d times B", rounds, victims["A"], victims["B"]))
		}
	}
	return out, nil
}

// Short is the cell in a word or two: "yes", "no", "waits", "waits, 40001".
func (c Cell) Short() string {
	switch {
	case c.Without != "":
		return "n/a"
	case c.Happened:
		return "**yes**"
	}
	how := c.Codes
	if c.Waits {
		how = append([]string{"waits"}, how...)
	}
	if len(how) == 0 {
		return "no"
	}
	return strings.Join(how, ", ")
}
