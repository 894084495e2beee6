package anomaly

import (
	"embed"
	"fmt"
)

//go:embed catalog
var files embed.FS

// groups orders the catalog.
var groups = []struct {
	title string
	names []string
}{
	{"What a transaction reads", []string{"own-writes", "dirty-read", "fuzzy-read", "read-skew", "phantom", "stale-read-only", "read-while-written"}},
	{"What two writers do to a row", []string{"dirty-write", "lost-update", "lost-update-locked", "increment", "compare-and-set", "newer-than-snapshot", "newer-unseen", "two-rows", "moving-predicate", "deadlock"}},
	{"What is decided on what was read", []string{"write-skew", "check-then-insert", "lock-then-read", "stale-read-write"}},
	{"Keys", []string{"unique-twice", "insert-after-rollback", "insert-refused", "do-nothing", "unseen-duplicate", "upsert"}},
	{"Rows as a queue", []string{"skip-locked", "nowait", "claim-first", "sequence-gap"}},
}

// Catalog gives the cases in the order of the table.
func Catalog() ([]*Case, error) {
	var out []*Case
	for _, g := range groups {
		for _, name := range g.names {
			text, err := files.ReadFile("catalog/" + name + ".schedule")
			if err != nil {
				return nil, err
			}
			c, err := parseCase(name+".schedule", string(text))
			if err != nil {
				return nil, err
			}
			c.Name, c.Group = name, g.title
			if c.spec, err = files.ReadFile("catalog/" + name + ".yaml"); err != nil {
				return nil, fmt.Errorf("%s has no spec: %w", name, err)
			}
			out = append(out, c)
		}
	}
	return out, nil
}
