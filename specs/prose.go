package specs

import (
	"fmt"
	"strings"

	"github.com/relplan/relplan/internal/quantity"
	"github.com/relplan/relplan/reports"
	"github.com/relplan/relplan/specs/ast"
)

// Prose tells a variant in English: what is there, who does what, what may go
// wrong and what must hold. It is written from the resolved tree, so it says
// what will be checked, not what the file looks like.
func Prose(tree *ast.Spec) []reports.Block {
	title := tree.System
	if tree.Variant != "" {
		title += ", variant " + tree.Variant
	}
	out := []reports.Block{reports.Heading{Level: 2, Text: title}}
	if tree.About != "" {
		out = append(out, reports.Paragraph{Text: tree.About})
	}
	if tree.VariantAbout != "" {
		out = append(out, reports.Paragraph{Text: tree.VariantAbout})
	}
	section := func(title string, items []string) {
		if len(items) > 0 {
			out = append(out, reports.Heading{Level: 3, Text: title}, reports.List{Items: items})
		}
	}
	section("What there is", proseThings(tree))
	for _, p := range tree.Processes {
		w := proser{p: p}
		out = append(out, reports.Heading{Level: 3, Text: p.Name}, reports.Paragraph{Text: w.opening()})
		if steps := w.list(p.Steps, ""); len(steps) > 0 {
			out = append(out, reports.Code{Text: strings.Join(steps, "\n") + "\n"})
		}
		if c := w.closing(); c != "" {
			out = append(out, reports.Paragraph{Text: c})
		}
	}
	section("What may go wrong", proseFaults(tree))
	var promises []string
	for _, p := range tree.Promises {
		promises = append(promises, p.Name+": "+p.Text)
	}
	section("What must hold", promises)
	var possible []string
	for _, p := range tree.MustBePossible {
		possible = append(possible, p.Text)
	}
	section("What must be possible", possible)
	return out
}

func times(n int, what string) string {
	if n == 1 {
		return "one " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func proseThings(tree *ast.Spec) []string {
	var out []string
	for _, o := range tree.Operations {
		s := times(o.Count, o.Name)
		for _, f := range o.Fields {
			s += ", " + proseField(f)
		}
		out = append(out, s+": promises are counted per "+o.Name)
	}
	used := usedIn(tree)
	for _, r := range tree.Resources {
		if used.resources[r] {
			out = append(out, proseResource(r, used)...)
		}
	}
	for _, row := range tree.Initially {
		if row.Table != nil && !used.tables[row.Table] || row.Resource != nil && !used.resources[row.Resource] {
			continue
		}
		where := ""
		if row.Table != nil {
			where = "a row of " + row.Table.Name
		} else {
			where = "something in " + row.Resource.Name
		}
		out = append(out, fmt.Sprintf("before the first step: %s, %s", where, ast.CellsString(row.Cells)))
	}
	return out
}

func proseField(f *ast.OpField) string {
	switch f.Kind {
	case ast.FieldSame:
		return "all with the same " + f.Name
	case ast.FieldDistinct:
		return "each with its own " + f.Name
	}
	var vs []string
	for _, v := range f.Values {
		vs = append(vs, v.String())
	}
	if f.Kind == ast.FieldAny {
		return f.Name + " any of " + strings.Join(vs, ", ")
	}
	return f.Name + " " + strings.Join(vs, ", ") + " in turn"
}

func proseResource(r *ast.Resource, used *usedThings) []string {
	switch r.Kind {
	case ast.SQLKind:
		out := []string{fmt.Sprintf("%s: a database with isolation %s%s", r.Name, strings.ReplaceAll(r.SQL.Isolation.String(), "_", " "), proseSQL(r))}
		for _, t := range r.SQL.Tables {
			if used.tables[t] {
				out = append(out, proseTable(t))
			}
		}
		return out
	case ast.KVKind:
		s := r.Name + ": a key-value store"
		if used.timed[r] {
			s += "; a key with a ttl ends at any moment once nobody holds it"
		}
		return []string{s + proseRetry(r)}
	case ast.MemoryKind:
		if r.KV.Scope == ast.PerProcess {
			return []string{r.Name + ": memory of one process, lost when any of its instances crashes"}
		}
		return []string{r.Name + ": memory of each instance, lost at its crash"}
	case ast.QueueKind:
		return []string{proseQueue(r) + proseRetry(r)}
	case ast.LogKind:
		return []string{fmt.Sprintf("%s: a log with %s, read from committed offsets%s", r.Name, times(r.Queue.Partitions, "partition"), proseStart(r.Queue))}
	case ast.ProviderKind:
		return proseProvider(r)
	}
	return []string{r.Name + ": a clock"}
}

func proseRetry(r *ast.Resource) string {
	if r.HiddenRetry == 0 {
		return ""
	}
	return fmt.Sprintf("; the layer below repeats a request up to %s by itself", times(r.HiddenRetry, "time"))
}

func proseSQL(r *ast.Resource) string {
	s := ""
	if r.SQL.Replica {
		s += fmt.Sprintf(", with a replica up to %s behind", times(r.SQL.ReplicaLag, "commit"))
	}
	if r.SQL.SessionPooled {
		s += ", sessions pooled"
	}
	return s + proseRetry(r)
}

func proseTable(t *ast.Table) string {
	s := "table " + t.Name + " of " + t.Resource.Name
	for _, u := range t.Unique {
		var cols []string
		for _, c := range u.Columns {
			cols = append(cols, c.Name)
		}
		s += ", unique " + strings.Join(cols, " with ")
		for _, c := range u.Scope {
			s += " within one " + c.Name
		}
		if u.Where != nil {
			s += " where " + u.Where.String()
		}
	}
	if t.Sequence != nil {
		s += ", " + t.Sequence.Name + " given at the insert, before the commit"
	}
	if t.Lease != nil {
		who := "somebody sweeps"
		if t.Lease.Ends == ast.EndsAtClaim {
			who = "the next claimer looks at the time"
		}
		s += fmt.Sprintf(", leased while %s: when it ends (%s), %s", ast.CellsString(t.Lease.While), who, ast.CellsString(t.Lease.Then))
	}
	if t.Keeps != nil {
		s += ", rows kept " + t.Keeps.Name
	}
	if t.Token != nil {
		s += ", fencing token " + t.Token.Name
	}
	return s
}

func proseStart(q *ast.Queue) string {
	if q.StartsWith == nil {
		return ""
	}
	s := fmt.Sprintf(", starts with %s per %s", times(q.StartsWith.Count, "message"), q.StartsWith.Per.Name)
	if q.StartsWith.Copies > 1 {
		s += fmt.Sprintf(" in %d copies", q.StartsWith.Copies)
	}
	return s
}

func proseQueue(r *ast.Resource) string {
	q := r.Queue
	s := r.Name + ": a queue, delivered " + strings.ReplaceAll(q.Delivery, "_", " ") + proseStart(q)
	switch {
	case q.Ordered:
		s += ", in order"
	case q.OrderBy != nil:
		s += ", in order per " + q.OrderBy.Name
	}
	if q.Visibility != nil {
		s += ", a held message comes back after " + q.Visibility.Name
		if q.Renewed {
			s += " unless its holder renews, and it does"
		}
	}
	if q.MaxDeliveries > 0 {
		s += fmt.Sprintf(", at most %s", times(q.MaxDeliveries, "delivery"))
		if q.DeadLetter != nil {
			s += ", then to " + q.DeadLetter.Name
		}
	}
	if q.DedupBy != nil {
		s += ", a second send with the same " + q.DedupBy.Name + " is dropped"
		if q.DedupWindow != nil {
			s += " while " + q.DedupWindow.Name + " lasts"
		}
	}
	if q.ReplayTo != nil {
		s += ", an operator may send a message back to " + q.ReplayTo.Name
		if q.ReplayWithin != nil {
			s += " within " + q.ReplayWithin.Name + " of its first send"
		}
	}
	return strings.Replace(s, "deliverys", "deliveries", 1)
}

func proseProvider(r *ast.Resource) []string {
	s := r.Name + ": a provider with its own ledger"
	if r.Provider.CanArriveLate {
		s += "; a request whose answer was lost may be executed later"
	}
	out := []string{s + proseRetry(r)}
	for _, m := range r.Provider.Methods {
		t := r.Name + "." + m.Name + ": "
		switch m.Kind {
		case ast.Find:
			t += "looks up what " + m.Of.Name + " did, by " + m.By.Name
			if m.Lag {
				t += ", not at once visible"
			}
			if m.NotFoundFinal {
				t += "; not found is final: the key is refused from then on"
			} else {
				t += "; not found is not final"
			}
		case ast.Cancel:
			t += "takes back " + m.Undo.Name
		default:
			if m.Effect != nil {
				t += "effect " + m.Effect.Name + ", "
			}
			if m.DedupBy == nil {
				t += "every request counts"
			} else {
				t += "repeats with the same " + m.DedupBy.Name + " are recognised"
				if m.Keeps != nil {
					t += " while " + m.Keeps.Name + " lasts"
				}
			}
		}
		out = append(out, t)
	}
	return out
}

func proseFaults(tree *ast.Spec) []string {
	var out []string
	for _, f := range tree.Faults {
		s := faultText(map[string]int{f.Name: f.Max})
		var of []string
		for _, p := range f.Processes {
			of = append(of, p.Name)
		}
		for _, r := range f.Resources {
			of = append(of, r.Name)
		}
		for _, t := range f.Tables {
			of = append(of, t.Name)
		}
		if len(of) > 0 {
			s += " of " + strings.Join(of, " or ")
		}
		out = append(out, "at most "+s)
	}
	if len(out) == 0 {
		out = append(out, "no fault is considered")
	}
	for _, a := range tree.Assume {
		s := "assumed: " + a.Text
		if a.Kind == ast.AssumeText {
			s += " (text only: it removes no history)"
		}
		out = append(out, s)
	}
	for _, d := range tree.Durations {
		if !d.Inline && d.Length > 0 {
			out = append(out, d.Name+" is "+quantity.FormatDuration(d.Length))
		}
	}
	return out
}
