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
	{"stale-read-only", []string{"sqlite-wal", "postgres-ser"},
		"The model's serializable orders transactions as they commit. PostgreSQL, and SQLite in WAL mode, let a transaction that only reads end on its snapshot although newer values are committed: it counts as earlier. " +
			"What such a transaction has read is one consistent moment, but perhaps not the present one."},
	{"stale-read-write", []string{"postgres-ser"},
		"The same order, with a write: PostgreSQL refuses only what closes a circle. A decision that must still hold when it is committed has to lock the row it read (`select lock: true`), or change it."},
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
