package anomaly

// known lists the places where an engine allows what the model says is
// impossible. Each is told on the page; one that is not listed fails the tests,
// and so does one that no longer occurs.
var known = []struct {
	name     string   // of the case
	profiles []string // where it occurs
	why      string
}{
	{"moving-predicate", []string{"postgres-ru", "postgres-rc"},
		"Under read committed a statement of PostgreSQL that has waited looks again only at the rows that it had found before. A row that has come to match meanwhile is not found; in the model, as in InnoDB, it is. " +
			"Do not select rows by a value that others change, or repeat the statement until it finds nothing without having waited."},
	{"stale-read-write", []string{"postgres-ser"},
		"The model's serializable orders transactions that write as they commit. PostgreSQL promises only that some order explains what was seen: it lets a transaction write and commit although what it has read is no longer so, as long as that closes no circle. " +
			"A decision that must still hold when it is committed has to lock the row it read (`select lock: true`), or change it."},
	{"newer-unseen", []string{"postgres-ser"},
		"In the model a serializable transaction that contains a write is refused at its commit if what it has read is no longer so, even if the write has found nothing. PostgreSQL lets it count as before the other one; see the decision on an overtaken read."},
}

// Excuse is the explanation of a WEAKER cell that is known.
func Excuse(c *Case, p Profile) (why string, ok bool) {
	for _, k := range known {
		for _, id := range k.profiles {
			if k.name == c.Name && id == p.ID {
				return k.why, true
			}
		}
	}
	return "", false
}
