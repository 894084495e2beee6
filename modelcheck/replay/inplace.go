package replay

import (
	"context"
	"fmt"
	"strings"

	"github.com/relplan/relplan/internal/engines"
)

// inPlace uses the database that a DSN names. It is refused unless it is empty,
// and is left empty.
func (st *stage) inPlace(ctx context.Context, dsn string) error {
	db, err := engines.OpenSQL(dsn)
	if err != nil {
		return err
	}
	st.undo = append(st.undo, func(context.Context) error { return db.Close() })
	names, err := tables(ctx, db)
	if err != nil {
		return err
	}
	if len(names) > 0 {
		return &NotEmptyError{Tables: names}
	}
	st.undo = append(st.undo, func(ctx context.Context) error { return dropTables(ctx, db) })
	return nil
}

// NotEmptyError: the database that a replay was to use has tables in it.
type NotEmptyError struct{ Tables []string }

func (e *NotEmptyError) Error() string {
	return fmt.Sprintf("the database is not empty: it has %d tables (%s ...); name an empty one, or let relplan make its own", len(e.Tables), e.Tables[0])
}

// tables lists the tables of the database.
func tables(ctx context.Context, db *engines.DB) ([]string, error) {
	query := map[engines.Kind]string{
		engines.Postgres: "select table_name from information_schema.tables where table_schema = current_schema() order by 1",
		engines.MySQL:    "select table_name from information_schema.tables where table_schema = database() order by 1",
		engines.SQLite:   "select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by 1",
	}[db.Kind]
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var n string
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, rows.Err()
}

func dropTables(ctx context.Context, db *engines.DB) error {
	names, err := tables(ctx, db)
	if err != nil || len(names) == 0 {
		return err
	}
	d := dialect{db.Kind}
	for i, n := range names {
		names[i] = d.quote(n)
	}
	if db.Kind != engines.SQLite {
		_, err = db.ExecContext(ctx, "drop table "+strings.Join(names, ", "))
		return err
	}
	for _, n := range names {
		if _, err := db.ExecContext(ctx, "drop table "+n); err != nil {
			return err
		}
	}
	return nil
}
