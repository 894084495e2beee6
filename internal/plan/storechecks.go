package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/relplan/relplan/capacity/storage"
	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/quantity"
	"github.com/relplan/relplan/internal/yamlx"
)

// ParseNullShare reads the share of rows in which a column is NULL, 0 % to 100 %.
func ParseNullShare(text string) (float64, error) {
	return parseShare(text, "a share of the rows from 0% to 100%", func(v float64) bool { return v <= 1 })
}

// ParseHeadroom reads the share of a disk that stays free: below 100 %.
func ParseHeadroom(text string) (float64, error) {
	return parseShare(text, "a share of the disk from 0% to below 100%", func(v float64) bool { return v < 1 })
}

// ParseVacuumShare reads the rows that arrive between two vacuums as a share of
// the window: above 0 %, at most 1000 %.
func ParseVacuumShare(text string) (float64, error) {
	return parseShare(text, "a share of the window above 0%, such as 10%, at most 1000%", func(v float64) bool { return v > 0 && v <= 10 })
}

func parseShare(text, expected string, ok func(float64) bool) (float64, error) {
	v, err := quantity.ParseRatio(text)
	if err != nil {
		return 0, err
	}
	if !ok(v) {
		return 0, &quantity.SyntaxError{Text: text, Expected: expected}
	}
	return v, nil
}

// ParseSpan reads a length of time above zero.
func ParseSpan(text string) (time.Duration, error) {
	v, err := quantity.ParseDuration(text)
	if err == nil && v <= 0 {
		err = &quantity.SyntaxError{Text: text, Expected: "a duration above 0, such as 1d"}
	}
	return v, err
}

// checkNulls refuses NULL in columns that the table or a key forbids.
func (f *File) checkNulls(s *Store, t *storage.Table, l *diag.List) {
	pk := t.Primary()
	for _, c := range s.Columns {
		col := t.Column(c.Name)
		if col == nil || c.Null.V == 0 {
			continue
		}
		why := ""
		switch {
		case pk != nil && slices.Contains(pk.Columns, c.Name):
			why = "is part of the primary key"
		case s.DDL.Set && col.NotNull:
			why = "is declared NOT NULL"
		default:
			continue
		}
		pos := c.Null.Pos
		if pos.Line == 0 {
			pos = c.Pos
		}
		l.Add(diag.Diagnostic{Code: codeValue, Pos: pos, Message: fmt.Sprintf("column '%s' %s and cannot be NULL in %s of the rows", c.Name, why, quantity.FormatRatio(c.Null.V)),
			Found: quantity.FormatRatio(c.Null.V), Expected: "no NULL, or a column that allows it"})
	}
}

// entryColumns are the columns that engines without tables read, the needed ones
// first; words joined by | are the same.
var entryColumns = map[storage.Engine]struct{ needed, further []string }{
	storage.Redis:      {[]string{"key|field|member|id"}, []string{"value|payload"}},
	storage.NATSStream: {[]string{"subject|key", "payload|value"}, []string{"msg_id", "headers"}},
	storage.NATSKV:     {[]string{"key|subject", "value|payload"}, []string{"msg_id", "headers"}},
	storage.LSM:        {[]string{"key|id"}, []string{"value|payload"}},
	storage.Kafka:      {[]string{"value|payload"}, []string{"key|id", "headers"}},
}

// checkEntryColumns refuses columns that an engine without tables would not read,
// and the lack of one that it needs.
func (f *File) checkEntryColumns(s *Store, l *diag.List) {
	want, ok := entryColumns[storage.Engine(s.Engine.V)]
	if !ok {
		return
	}
	var known []string
	has := func(words string) bool {
		return slices.ContainsFunc(s.Columns, func(c Column) bool { return slices.Contains(strings.Split(words, "|"), c.Name) })
	}
	for _, words := range want.needed {
		known = append(known, strings.Split(words, "|")...)
		if !has(words) {
			name, _, _ := strings.Cut(words, "|")
			l.Add(diag.Diagnostic{Code: codeKey, Pos: s.Pos, Message: fmt.Sprintf("engine %s needs the length of a column '%s'", s.Engine.V, name),
				Expected: name, Hint: "columns: [{name: " + name + ", mean: 36B}], or --" + name + " 36B"})
		}
	}
	for _, words := range want.further {
		known = append(known, strings.Split(words, "|")...)
	}
	for _, c := range s.Columns {
		if c.Null.V != 0 || c.SD.Set || c.Distinct.Set || c.Order.Set {
			l.Add(diag.Diagnostic{Code: codeValue, Pos: c.Pos, Message: fmt.Sprintf("engine %s reads only the mean length of '%s', not null, sd, distinct or order", s.Engine.V, c.Name),
				Found: c.Name, Expected: "mean"})
		}
		if !slices.Contains(known, c.Name) {
			l.Add(diag.Diagnostic{Code: codeRef, Pos: c.Pos, Message: fmt.Sprintf("engine %s reads no column '%s'", s.Engine.V, c.Name),
				Found: c.Name, Expected: strings.Join(known, ", "), Hint: "known: " + strings.Join(known, ", ")})
		}
	}
}

// optionEngines are the engines that read an option; options that are not listed
// belong to every engine.
var optionEngines = map[string][]storage.Engine{
	"page_size":           {storage.SQLite, storage.InnoDB},
	"rows_per_commit":     {storage.Postgres, storage.InnoDB, storage.SQLite},
	"rows_per_checkpoint": {storage.Postgres},
	"wal_compression":     {storage.Postgres},
	"updates":             {storage.Postgres, storage.InnoDB},
	"updates_indexed":     {storage.Postgres, storage.InnoDB},
	"structure":           {storage.Redis},
	"per":                 {storage.Redis},
	"allocator":           {storage.Redis},
	"bucket":              {storage.NATSKV},
	"subjects":            {storage.NATSStream, storage.NATSKV},
	"prefix":              {storage.LSM},
	"hex":                 {storage.LSM},
	"compression":         {storage.LSM},
	"batch":               {storage.Kafka},
	"ratio":               {storage.Kafka},
	"partitions":          {storage.Kafka},
	"segment":             {storage.Kafka},
	"format":              {storage.Archive},
	"codec":               {storage.Archive},
	"table":               {storage.Postgres, storage.InnoDB, storage.SQLite, storage.Archive},
}

// OptionFor says why an option means nothing to an engine; "" if it does.
func OptionFor(option, engine string) string {
	engines, limited := optionEngines[option]
	if !limited || engine == "" || slices.Contains(engines, storage.Engine(engine)) {
		return ""
	}
	names := make([]string, len(engines))
	for i, e := range engines {
		names[i] = string(e)
	}
	return fmt.Sprintf("engine %s has no option '%s', it belongs to %s", engine, option, strings.Join(names, ", "))
}

// checkStore refuses what contradicts itself in a store.
func (d *decoder) checkStore(s *Store) {
	if s.Forever && (s.Delete.Partition.Set || s.Delete.Sweep.Set || s.Delete.VacuumEvery.Set) {
		d.l.Add(diag.Diagnostic{Code: codeValue, Pos: s.Delete.Pos, Message: "rows are kept for ever and deleted", Expected: "delete: never, or a retention", Hint: "retain: 90d"})
	}
	if s.Options.Headroom.Set && !s.Options.Disk.Set {
		d.l.Add(diag.Diagnostic{Code: codeKey, Pos: s.Options.Headroom.Pos, Message: "headroom needs the size of the disk", Expected: "disk", Hint: "options: {disk: 2TB, headroom: 20%}"})
	}
}

// optionsOf reads the options of a store and refuses those that its engine does
// not read.
func (d *decoder) optionsOf(s *Store) func(*yamlx.Node) {
	return func(n *yamlx.Node) {
		d.storeOptions(&s.Options)(n)
		if d.sketch != nil {
			return
		}
		for _, e := range n.Entries() {
			if why := OptionFor(e.Key.Value(), s.Engine.V); why != "" {
				d.l.Add(diag.Diagnostic{Code: codeKey, Pos: e.Key.Pos(), Message: why, Found: e.Key.Value()})
			}
		}
	}
}
