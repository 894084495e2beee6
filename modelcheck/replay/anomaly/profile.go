package anomaly

import (
	"github.com/relplan/relplan/internal/engines"
)

// Profile is an engine under one isolation level with its settings.
type Profile struct {
	ID        string // "postgres-rr"
	Kind      engines.Kind
	Engine    string // "PostgreSQL"
	Isolation string // "repeatable read"
	Default   bool   // what the engine does if nothing is said
	// Model is how a spec says it; nil if the language has no such level.
	Model *Model

	journal string   // of SQLite
	session []string // sent once per session
	begin   string
}

// Model is an isolation level of the language: `isolation:` and `engine:` of a
// sql resource.
type Model struct{ Isolation, Engine string }

// String is the level as the table prints it; the engine is named where it
// makes a difference.
func (m Model) String() string { return m.Isolation + ", " + m.Engine }

// maria is what a session of MariaDB is told at its start. The setting that
// makes repeatable read refuse stale writes is named in both directions: its
// default has changed between versions.
func maria(level, snapshotIsolation string) []string {
	return []string{"set session transaction isolation level " + level, "set session innodb_snapshot_isolation = " + snapshotIsolation}
}

// Profiles lists what is measured, in the order of the table.
var Profiles = []Profile{
	{ID: "sqlite-rollback", Kind: engines.SQLite, Engine: "SQLite", Isolation: "rollback journal", Default: true,
		Model: &Model{"serializable", "sqlite"}, journal: "delete", begin: "begin"},
	{ID: "sqlite-wal", Kind: engines.SQLite, Engine: "SQLite", Isolation: "WAL",
		Model: &Model{"serializable", "sqlite"}, begin: "begin"},
	{ID: "sqlite-immediate", Kind: engines.SQLite, Engine: "SQLite", Isolation: "WAL, begin immediate",
		Model: &Model{"serializable", "sqlite"}, begin: "begin immediate"},
	{ID: "postgres-ru", Kind: engines.Postgres, Engine: "PostgreSQL", Isolation: "read uncommitted",
		Model: &Model{"read_committed", "postgres"}, begin: "begin isolation level read uncommitted"},
	{ID: "postgres-rc", Kind: engines.Postgres, Engine: "PostgreSQL", Isolation: "read committed", Default: true,
		Model: &Model{"read_committed", "postgres"}, begin: "begin isolation level read committed"},
	{ID: "postgres-rr", Kind: engines.Postgres, Engine: "PostgreSQL", Isolation: "repeatable read",
		Model: &Model{"repeatable_read", "postgres"}, begin: "begin isolation level repeatable read"},
	{ID: "postgres-ser", Kind: engines.Postgres, Engine: "PostgreSQL", Isolation: "serializable",
		Model: &Model{"serializable", "postgres"}, begin: "begin isolation level serializable"},
	{ID: "mariadb-ru", Kind: engines.MySQL, Engine: "MariaDB", Isolation: "read uncommitted",
		session: maria("read uncommitted", "off"), begin: "start transaction"},
	{ID: "mariadb-rc", Kind: engines.MySQL, Engine: "MariaDB", Isolation: "read committed",
		Model: &Model{"read_committed", "mysql"}, session: maria("read committed", "off"), begin: "start transaction"},
	{ID: "mariadb-rr", Kind: engines.MySQL, Engine: "MariaDB", Isolation: "repeatable read", Default: true,
		Model: &Model{"repeatable_read", "mysql"}, session: maria("repeatable read", "off"), begin: "start transaction"},
	{ID: "mariadb-snapshot", Kind: engines.MySQL, Engine: "MariaDB", Isolation: "repeatable read, innodb_snapshot_isolation",
		Model: &Model{"repeatable_read", "postgres"}, session: maria("repeatable read", "on"), begin: "start transaction"},
	{ID: "mariadb-ser", Kind: engines.MySQL, Engine: "MariaDB", Isolation: "serializable",
		Model: &Model{"serializable", "mysql"}, session: maria("serializable", "off"), begin: "start transaction"},
}

// is says whether a name in brackets of a schedule means the profile.
func (p Profile) is(name string) bool { return name == p.ID || name == string(p.Kind) }

// ProfilesOf lists the profiles of an engine.
func ProfilesOf(kind engines.Kind) []Profile {
	var out []Profile
	for _, p := range Profiles {
		if p.Kind == kind {
			out = append(out, p)
		}
	}
	return out
}
