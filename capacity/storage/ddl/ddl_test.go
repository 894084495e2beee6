package ddl_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relplan/relplan/capacity/storage"
	"github.com/relplan/relplan/capacity/storage/ddl"
	"github.com/relplan/relplan/internal/diag"
)

func parse(d ddl.Dialect, src string) ([]*storage.Table, []diag.Diagnostic) {
	var l diag.List
	t := ddl.Parse("t.sql", []byte(src), d, &l)
	return t, l.Sorted()
}

// show prints a table in one line a column and index.
func show(t *storage.Table) string {
	var b strings.Builder
	for _, c := range t.Columns {
		fmt.Fprintf(&b, "%s %s", c.Name, c.Type)
		for _, a := range c.Args {
			fmt.Fprintf(&b, " %d", a)
		}
		if c.Values > 0 {
			fmt.Fprintf(&b, " values=%d", c.Values)
		}
		if c.NotNull {
			b.WriteString(" notnull")
		}
		if c.Charset != "" {
			b.WriteString(" " + c.Charset)
		}
		b.WriteString("\n")
	}
	for _, ix := range t.Indexes {
		fmt.Fprintf(&b, "%s: %s", ix.Name, strings.Join(ix.Columns, ","))
		if ix.Unique {
			b.WriteString(" unique")
		}
		if ix.FillFactor > 0 {
			fmt.Fprintf(&b, " fill=%d", ix.FillFactor)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		reason  string
		dialect ddl.Dialect
		src     string
		want    string
	}{
		{"PostgreSQL: multi-word types, defaults with casts, identity, foreign key, fill factors", ddl.PostgreSQL, `
			-- the inbox
			CREATE TABLE IF NOT EXISTS app."Inbox" (
			  id bigint GENERATED ALWAYS AS IDENTITY (START 1) PRIMARY KEY WITH (fillfactor=70),
			  name character varying(64) NOT NULL DEFAULT 'a''b'::varchar,
			  "When" timestamp(6) with time zone DEFAULT now() NOT NULL,
			  amount numeric(12,2) CHECK (amount > (0)),
			  ref int REFERENCES other(id) ON DELETE SET NULL,
			  p double precision,
			  CONSTRAINT u UNIQUE (name, "When"),
			  FOREIGN KEY (ref) REFERENCES other (id)
			) WITH (fillfactor = 90, autovacuum_enabled = false);
			CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS k ON app."Inbox" USING btree (name DESC NULLS LAST) WITH (fillfactor=50);`,
			`id bigint notnull
name character varying 64 notnull
When timestamp with time zone 6 notnull
amount numeric 12 2
ref int
p double precision
primary key: id unique fill=70
Inbox(name,When): name,When unique
k: name unique fill=50
`},
		{"MySQL: keys in the table, a column called key, character sets, enum, the index a foreign key needs", ddl.MySQL,
			"CREATE TABLE t (\n `key` varchar(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'it''s', # comment\n" +
				" id bigint unsigned NOT NULL AUTO_INCREMENT,\n s enum('a','b') DEFAULT \"a\",\n at timestamp(6) NULL ON UPDATE CURRENT_TIMESTAMP(6),\n" +
				" c bigint, d bigint, PRIMARY KEY (id), KEY k_at USING BTREE (at), UNIQUE u (`key`), KEY (c, d),\n" +
				" CONSTRAINT f FOREIGN KEY (d) REFERENCES o(id), FOREIGN KEY (c) REFERENCES o(id)\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COMMENT='x', ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4;",
			`key varchar 10 notnull ascii
id bigint notnull
s enum values=2
at timestamp 6
c bigint
d bigint
primary key: id unique
k_at: at
u: key unique
t(c,d): c,d
t(d): d
`},
		{"SQLite: any type words, none at all, brackets, WITHOUT ROWID", ddl.SQLite,
			`CREATE TABLE [my t](a UNSIGNED BIG INT, b, c TEXT(20) UNIQUE ON CONFLICT IGNORE, 'd' BLOB DEFAULT (1+2), PRIMARY KEY(a,b)) WITHOUT ROWID, STRICT`,
			"a unsigned big int\nb \nc text 20\nd blob\nprimary key: a,b unique\nmy t(c): c unique\n"},
	} {
		tabs, diags := parse(c.dialect, c.src)
		if len(diags) > 0 || len(tabs) != 1 {
			t.Errorf("%s: %v", c.reason, diags)
			continue
		}
		got := show(tabs[0])
		if c.dialect == ddl.SQLite { // primary key columns are not null
			got = strings.ReplaceAll(got, " notnull", "")
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s:\n%s", c.reason, d)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		reason  string
		dialect ddl.Dialect
		src     string
		want    []string // the first word is the position
	}{
		{"other statements, each with its place", ddl.PostgreSQL, "CREATE TABLE t (a int);\nDROP TABLE t;\n  ALTER TABLE t ADD b int;",
			[]string{`t.sql:2:1: only CREATE TABLE and CREATE INDEX are read, found "DROP"`, `t.sql:3:3: only CREATE TABLE and CREATE INDEX are read, found "ALTER"`}},
		{"columns count characters, not bytes", ddl.PostgreSQL, "CREATE TABLE t (ä int, ö int[]);",
			[]string{`t.sql:1:29: array columns are not sized, found "["`}},
		{"partial index", ddl.PostgreSQL, "CREATE TABLE t (a int); CREATE INDEX ON t(a) WHERE a > 1;",
			[]string{`t.sql:1:46: partial indexes are not sized, found "WHERE"`}},
		{"expression index", ddl.PostgreSQL, "CREATE TABLE t (a text); CREATE INDEX ON t(lower(a));",
			[]string{`t.sql:1:44: indexes on expressions are not sized, found "lower"`}},
		{"other index methods", ddl.PostgreSQL, "CREATE TABLE t (a int); CREATE INDEX ON t USING gin (a);",
			[]string{`t.sql:1:49: only B-tree indexes are sized, found "gin"`}},
		{"prefix index", ddl.MySQL, "CREATE TABLE t (a text, KEY (a(20)));",
			[]string{`t.sql:1:31: indexes on a prefix of a column are not sized, found "("`}},
		{"another engine", ddl.MySQL, "CREATE TABLE t (a int) ENGINE=MyISAM;",
			[]string{`t.sql:1:31: only ENGINE=InnoDB is sized, found "MyISAM"`}},
		{"unknown column with a near one", ddl.MySQL, "CREATE TABLE t (\n event_id int,\n KEY (evnt_id));",
			[]string{`t.sql:1:14: table t has no column "evnt_id"`}},
		{"index before its table", ddl.SQLite, "CREATE INDEX k ON t(a); CREATE TABLE t(a int);",
			[]string{`t.sql:1:19: index on a table that is not defined above, found "t"`}},
		{"AS SELECT", ddl.SQLite, "CREATE TABLE t AS SELECT 1;",
			[]string{`t.sql:1:16: the columns must stand in the statement, found "AS"`}},
		{"unclosed text", ddl.PostgreSQL, "CREATE TABLE t (a text DEFAULT 'x);", nil},
		{"empty file", ddl.PostgreSQL, " -- nothing\n", []string{"t.sql:2:1: no CREATE TABLE statement found"}},
		{"duplicate column", ddl.PostgreSQL, "CREATE TABLE t (a int, A int);", []string{`t.sql:1:24: column is defined twice, found "A"`}},
		{"virtual column", ddl.MySQL, "CREATE TABLE t (a int, b int AS (a+1) VIRTUAL);", []string{`t.sql:1:30: virtual columns are not sized, found "AS"`}},
		{"fill factor", ddl.PostgreSQL, "CREATE TABLE t (a int) WITH (fillfactor=5);", []string{`t.sql:1:41: fill factor is out of range, expected a number from 10 to 100, found "5"`}},
	} {
		_, diags := parse(c.dialect, c.src)
		if len(diags) == 0 {
			t.Errorf("%s: accepted", c.reason)
			continue
		}
		var got []string
		for _, d := range diags {
			got = append(got, d.Pos.String()+": "+d.Text())
		}
		if c.want != nil {
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("%s:\n%s", c.reason, d)
			}
		}
	}
}

func TestTooLarge(t *testing.T) {
	if _, d := parse(ddl.MySQL, strings.Repeat("-", 1<<20+1)); len(d) != 1 {
		t.Errorf("a file beyond the limit: %v", d)
	}
	if _, d := parse(ddl.PostgreSQL, "CREATE TABLE t (a int DEFAULT "+strings.Repeat("(", 200_000)); len(d) == 0 {
		t.Error("deep nesting accepted")
	}
}

// The statements that the measurements were made with parse in their dialect.
func TestTruthSchemas(t *testing.T) {
	for dir, d := range map[string]ddl.Dialect{"postgres": ddl.PostgreSQL, "innodb": ddl.MySQL, "sqlite": ddl.SQLite} {
		files, _ := filepath.Glob("../testdata/truth/" + dir + "/*.sql")
		if len(files) < 9 {
			t.Fatalf("%s: %d files", dir, len(files))
		}
		for _, f := range files {
			src, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if tabs, diags := parse(d, string(src)); len(tabs) != 1 || len(diags) > 0 {
				t.Errorf("%s: %v", f, diags)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("../testdata/truth/*/*.sql")
	for _, p := range files {
		if src, err := os.ReadFile(p); err == nil {
			f.Add(string(src))
		}
	}
	f.Add("CREATE TABLE t (a int, PRIMARY KEY (a)) PARTITION BY RANGE (a) (PARTITION p VALUES LESS THAN (1));")
	f.Add("CREATE TABLE t (a numeric(3,-2) DEFAULT $x$1$x$, b enum('a'))")
	f.Fuzz(func(t *testing.T, src string) {
		for _, d := range []ddl.Dialect{ddl.PostgreSQL, ddl.MySQL, ddl.SQLite} {
			tabs, diags := parse(d, src)
			if len(tabs) == 0 && len(diags) == 0 {
				t.Fatalf("%v: nothing read and nothing said", d)
			}
			for _, x := range diags {
				if x.Pos.Line < 1 || x.Pos.Column < 1 || x.Message == "" {
					t.Fatalf("%v: diagnostic without a place: %+v", d, x)
				}
			}
			for _, tab := range tabs {
				for _, ix := range tab.Indexes {
					for _, c := range ix.Columns {
						if tab.Column(c) == nil {
							t.Fatalf("%v: index on unknown column %q", d, c)
						}
					}
				}
			}
		}
	})
}
