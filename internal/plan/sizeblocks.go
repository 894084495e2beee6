package plan

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"

	"github.com/relplan/relplan/internal/quantity"
	"github.com/relplan/relplan/reports"
)

// Units says how sizes are printed: "decimal" (GB = 10^9, the default), "binary"
// (GiB = 2^30) or "both". The two are never mixed without their names.
type Units string

func (u Units) text(n int64) string { return u.big(big.NewInt(n)) }

// float prints bytes that are held as a float.
func (u Units) float(v float64) string {
	if !(math.Abs(v) <= math.MaxFloat64) {
		return "more than 10^308 B"
	}
	n, _ := big.NewFloat(math.Round(v)).Int(nil)
	return u.big(n)
}

func (u Units) big(n *big.Int) string {
	switch u {
	case "binary":
		return quantity.FormatBinaryBytes(n)
	case "both":
		return quantity.FormatBytes(n) + " (" + quantity.FormatBinaryBytes(n) + ")"
	default:
		return quantity.FormatBytes(n)
	}
}

// sizeBlocks shows what the stores take in their engines.
func (r *capacityResult) sizeBlocks() []reports.Block {
	u := r.units
	t := reports.Table{Caption: "Bytes in the engine, one copy, at the end of the window", Columns: []reports.Column{
		{Name: "store"}, {Name: "B/row", Right: true}, {Name: "table", Right: true}, {Name: "indexes", Right: true},
		{Name: "total", Right: true}, {Name: "range"}, {Name: "all copies", Right: true}, {Name: "for the needed window", Right: true}, {Name: "log a day", Right: true}}}
	var out []reports.Block
	for i := range r.doc.Stores {
		d := &r.doc.Stores[i]
		if d.TotalBytes == nil {
			continue
		}
		t.Rows = append(t.Rows, []string{d.Name, fmt.Sprintf("%.1f", *d.BytesPerRow), u.text(*d.TableBytes), u.text(*d.IndexBytes),
			u.text(*d.TotalBytes), rangeText(u, *d.LowBytes, *d.HighBytes), u.text(*d.CopiesBytes), optionalBytes(u, d.RequiredTotalBytes), logText(u, d)})
	}
	if len(t.Rows) > 0 {
		out = append(out, t)
	}
	for i := range r.doc.Stores {
		out = append(out, r.doc.Stores[i].details(u)...)
	}
	return out
}

func rangeText(u Units, low, high int64) string {
	if low == high {
		return "exact"
	}
	return u.text(low) + " to " + u.text(high)
}

func optionalBytes(u Units, n *int64) string {
	if n == nil {
		return "-"
	}
	return u.text(*n)
}

func logText(u Units, d *StoreDoc) string {
	s := optionalBytes(u, d.WALBytesPerDay)
	if d.BinlogBytesPerDay != nil {
		s += " + " + u.text(*d.BinlogBytesPerDay) + " binlog"
	}
	return s
}

// details are growth, interval, terms and notes of one store.
func (d *StoreDoc) details(u Units) []reports.Block {
	var out []reports.Block
	var items []string
	if len(d.Growth) > 0 && d.TotalBytes != nil {
		var pts []string
		for _, g := range d.Growth {
			pts = append(pts, fmt.Sprintf("%s after %s", u.text(g.Bytes), quantity.FormatDuration(time.Duration(g.TNS))))
		}
		items = append(items, "growth: "+strings.Join(pts, ", "))
	}
	if len(d.Interval) == 3 {
		items = append(items, fmt.Sprintf("interval: %s in the middle, 90 %% between %s and %s",
			u.float(d.Interval[1]), u.float(d.Interval[0]), u.float(d.Interval[2])))
		for _, x := range d.Drivers {
			items = append(items, fmt.Sprintf("driven to %.0f %% by %s (%s to %s)", 100*x.Share, x.Input, u.float(x.LowBytes), u.float(x.HighBytes)))
		}
	}
	items = append(items, d.Notes...)
	if len(items) > 0 {
		out = append(out, reports.Paragraph{Text: d.Name + ":"}, reports.List{Items: items})
	}
	if len(d.Terms) > 0 {
		t := reports.Table{Caption: "Terms of " + d.Name, Columns: []reports.Column{{Name: "term"}, {Name: "value", Right: true}, {Name: "unit"}, {Name: "source"}}}
		for _, x := range d.Terms {
			t.Rows = append(t.Rows, []string{x.Name, numberText(x.Value), x.Unit, x.Source})
		}
		out = append(out, t)
	}
	return out
}

// numberText prints a term: whole numbers grouped, others with four digits.
func numberText(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e18 {
		return quantity.FormatInt(big.NewInt(int64(v)))
	}
	return fmt.Sprintf("%.4g", v)
}
