package plan

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/relplan/relplan/capacity"
	"github.com/relplan/relplan/capacity/storage"
	"github.com/relplan/relplan/internal/diag"
	"github.com/relplan/relplan/internal/quantity"
	"github.com/relplan/relplan/reports"
)

// growth fills the growth curve of one copy and the day its disk is full.
func (f *File) growth(s *Store, w *Workload, size, loaded storage.Size, life storage.Life, doc *StoreDoc) error {
	switch {
	case s.Rows.Set:
		return nil
	case doc.Rows == 0:
		if s.Options.Disk.Set {
			doc.Notes = append(doc.Notes, "disk: never full: no rows arrive")
		}
		return nil
	}
	g := s.growthOf(w, size, loaded, life)
	basis := reports.Arithmetic("integral of rate x (1 + growth)^t over what is held x bytes of a row")
	doc.GrowthBasis = &basis
	for _, t := range growthTimes(g) {
		_, b := g.At(t)
		if !(b < math.MaxInt64) {
			doc.Notes = append(doc.Notes, "growth: more than 9.2 EB after "+quantity.FormatDuration(t))
			break
		}
		doc.Growth = append(doc.Growth, GrowthDoc{TNS: int64(t), Bytes: int64(b)})
	}
	if !s.Options.Disk.Set {
		return nil
	}
	full, err := g.FullAt(float64(s.Options.Disk.V), s.Options.Headroom.V)
	if err != nil {
		return diag.New(s.Options.Disk.Pos, "%v", err)
	}
	if !full.Never {
		doc.DiskFullNS = int64p(int64(full.At))
		basis := reports.Arithmetic(full.Source)
		doc.DiskBasis = &basis
	}
	doc.Notes = append(doc.Notes, "disk: "+f.fullText(g, full, s))
	return nil
}

// growthOf is the growth of one copy: rows are written at the fresh size, and
// what deletion leaves behind builds up over the turnovers of the plateau.
func (s *Store) growthOf(w *Workload, size, loaded storage.Size, life storage.Life) capacity.Growth {
	g := capacity.Growth{Rate: s.rowRate(w), PerYear: w.Growth.V, Retain: s.Retain.V, Forever: s.Forever || s.Delete.Never,
		BytesPerRecord: float64(size.Total) / math.Max(1, float64(size.Held))}
	if g.Forever {
		return g
	}
	switch life.Delete {
	case storage.DeletePartition:
		g.Lag = s.Delete.Partition.V
	case storage.DeleteSweep:
		retain := float64(s.Retain.V)
		g.Lag = capSpan(life.VacuumShare * retain)
		g.Settle = capSpan(storage.DefaultTurnovers * retain)
		g.FreshBytesPerRecord = float64(loaded.Total) / math.Max(1, float64(loaded.Rows))
	}
	return g
}

// capSpan is a length of time in nanoseconds, at most 100 years: nothing beyond
// them is asked.
func capSpan(ns float64) time.Duration {
	return time.Duration(math.Min(ns, float64(100*capacity.Year)))
}

// addSpans adds two lengths of time; fits is false when the sum has more than 292
// years, and the sum is then the longest duration.
func addSpans(a, b time.Duration) (sum time.Duration, fits bool) {
	if a > math.MaxInt64-b {
		return math.MaxInt64, false
	}
	return a + b, true
}

// growthTimes are the times of the curve: days to years, the end of the window
// and, under deletion, when the plateau is reached.
func growthTimes(g capacity.Growth) []time.Duration {
	day := 24 * time.Hour
	at := []time.Duration{day, 7 * day, 30 * day, capacity.Year}
	end := time.Duration(math.MaxInt64)
	if !g.Forever {
		end, _ = addSpans(g.Retain, max(g.Lag, g.Settle))
		at = append(at, g.Retain, end)
	}
	if g.PerYear != 0 || g.Forever {
		at = append(at, 2*capacity.Year, 3*capacity.Year)
		end = math.MaxInt64
	}
	slices.Sort(at)
	at = slices.Compact(at)
	return slices.DeleteFunc(at, func(t time.Duration) bool { return t > end })
}

// fullText says when the disk is full, or that it never is, and why.
func (f *File) fullText(g capacity.Growth, full capacity.Full, s *Store) string {
	usable := int64(float64(s.Options.Disk.V) * (1 - s.Options.Headroom.V))
	limit := f.Units.text(usable) + " usable"
	switch {
	case full.Never && (g.Forever || g.PerYear > 0 || g.Retain > 50*capacity.Year):
		return fmt.Sprintf("not full within 100 years: at most %s of %s", f.Units.float(full.Highest), limit)
	case full.Never:
		return fmt.Sprintf("never full: at most %s of %s", f.Units.float(full.Highest), limit)
	case full.At == 0:
		return "full from the start: " + limit
	}
	return fmt.Sprintf("full after %s: %s", quantity.FormatDuration(full.At.Round(roundTo(full.At))), limit)
}

// roundTo is the precision in which a time of that length is told.
func roundTo(d time.Duration) time.Duration {
	switch {
	case d > 48*time.Hour:
		return time.Hour
	case d > time.Hour:
		return time.Minute
	}
	return time.Second
}
