// Package measure loads rows into a real engine, measures what they take and
// compares it with what capacity/storage predicts.
//
// It works in a database of its own that it drops afterwards, on a server that
// the user names or on a private one that it starts. Values have the lengths,
// NULLs, distinct values and arrival order that the prediction is told.
package measure

import (
	"context"
	"fmt"
	"strings"

	"github.com/relplan/relplan/capacity/storage"
	"github.com/relplan/relplan/capacity/storage/ddl"
	"github.com/relplan/relplan/internal/engines"
)

// Case is one table, key space or stream to load.
type Case struct {
	Name string
	// Input is what the prediction gets; its Rows are loaded.
	Input storage.Input
	// DDL is the CREATE TABLE text of a relational engine.
	DDL string
}

// Result compares one case.
type Result struct {
	Name      string
	Order     string
	Rows      int64
	Predicted int64
	Low, High int64
	Basis     storage.Basis // of the prediction
	Measured  int64
	// Parts are table and index bytes, predicted and measured; measured 0 where
	// the engine does not tell them apart.
	PredictedTable, MeasuredTable int64
}

// Error is predicted / measured - 1.
func (r Result) Error() float64 {
	if r.Measured == 0 {
		return 0
	}
	return float64(r.Predicted)/float64(r.Measured) - 1
}

// Within says that the measurement is met: within tol, or inside the range the
// prediction gives and no further than 12 % from it.
func (r Result) Within(tol float64) bool {
	e := r.Error()
	if e < 0 {
		e = -e
	}
	return e <= tol || (r.Measured >= r.Low && r.Measured <= r.High && e <= 0.12)
}

// batchRows and batchBytes bound one INSERT statement.
const (
	batchRows  = 1000
	batchBytes = 512 << 10
)

// SQL loads a case into a database of its own on the server of dsn.
func SQL(ctx context.Context, dsn string, c Case, progress func(rows int64)) (r Result, err error) {
	own, err := engines.CreateOwn(ctx, dsn)
	if err != nil {
		return r, err
	}
	defer func() {
		if e := own.Drop(context.WithoutCancel(ctx)); err == nil {
			err = e
		}
	}()
	db, err := engines.OpenSQL(own.DSN)
	if err != nil {
		return r, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	l := &loader{ctx: ctx, db: db, c: c, own: own.Name, progress: progress}
	if err := l.create(); err != nil {
		return r, err
	}
	if err := l.fill(); err != nil {
		return r, err
	}
	return l.compare()
}

type loader struct {
	ctx      context.Context
	db       *engines.DB
	c        Case
	own      string
	table    string // as the engine spells it
	progress func(int64)
}

func (l *loader) dialect() ddl.Dialect {
	d, _ := ddl.Of(l.c.Input.Engine)
	return d
}

func (l *loader) exec(text string) error {
	_, err := l.db.ExecContext(l.ctx, text)
	return err
}

// create runs the statements of the table and finds its name.
func (l *loader) create() error {
	if l.db.Kind == engines.MySQL {
		for _, s := range []string{"SET foreign_key_checks=0", "SET sql_mode=''"} {
			if err := l.exec(s); err != nil {
				return err
			}
		}
	}
	for _, s := range ddl.Split(l.c.DDL, l.dialect()) {
		if err := l.exec(s); err != nil {
			return fmt.Errorf("the engine refuses %q: %w", firstLine(s), err)
		}
	}
	l.table = l.c.Input.Table.Name
	if l.db.Kind == engines.MySQL {
		if err := l.db.QueryRowContext(l.ctx, "SELECT table_name FROM information_schema.tables WHERE table_schema=DATABASE() AND LOWER(table_name)=LOWER(?)", l.table).Scan(&l.table); err != nil {
			return err
		}
	}
	if l.db.Kind == engines.Postgres {
		return l.exec("ALTER TABLE " + l.quote(l.table) + " SET (autovacuum_enabled=false)")
	}
	return nil
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

func (l *loader) quote(name string) string {
	if l.db.Kind == engines.MySQL {
		return "`" + strings.ReplaceAll(name, "`", "``") + "`"
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// fill inserts the rows in arrival order, in one transaction a batch of 100,000.
func (l *loader) fill() error {
	in := l.c.Input
	g := newRowGen(in.Table, l.dialect(), in.Order, in.Rows)
	var cols []string
	for _, c := range in.Table.Columns {
		cols = append(cols, l.quote(c.Name))
	}
	head := "INSERT INTO " + l.quote(l.table) + " (" + strings.Join(cols, ",") + ")"
	if l.db.Kind == engines.Postgres {
		head += " OVERRIDING SYSTEM VALUE"
	}
	head += " VALUES "
	buf := make([]byte, 0, batchBytes+4096)
	inTx := false
	for r := uint64(0); r < uint64(in.Rows); {
		if !inTx {
			if err := l.exec("BEGIN"); err != nil {
				return err
			}
			inTx = true
		}
		buf = append(buf[:0], head...)
		for n := 0; n < batchRows && len(buf) < batchBytes && r < uint64(in.Rows); n++ {
			if n > 0 {
				buf = append(buf, ',')
			}
			buf = g.row(buf, r)
			r++
		}
		if err := l.exec(string(buf)); err != nil {
			return fmt.Errorf("loading row %d: %w", r, err)
		}
		if r%100_000 < batchRows || r == uint64(in.Rows) {
			if err := l.exec("COMMIT"); err != nil {
				return err
			}
			inTx = false
			if l.progress != nil {
				l.progress(int64(r))
			}
		}
	}
	if inTx {
		return l.exec("COMMIT")
	}
	return nil
}

// compare measures and predicts.
func (l *loader) compare() (Result, error) {
	in := l.c.Input
	r := Result{Name: l.c.Name, Order: in.Order.String(), Rows: in.Rows}
	var err error
	switch l.db.Kind {
	case engines.Postgres:
		in.State = storage.Vacuumed
		err = l.postgres(&r)
	case engines.MySQL:
		err = l.mysql(&r)
	case engines.SQLite:
		err = l.sqlite(&r)
	}
	if err != nil {
		return r, err
	}
	s, err := storage.Estimate(in)
	if err != nil {
		return r, err
	}
	r.Predicted, r.Low, r.High, r.PredictedTable, r.Basis = s.Total, s.Low, s.High, s.Table, s.Basis
	return r, nil
}

func (l *loader) postgres(r *Result) error {
	if err := l.exec("VACUUM " + l.quote(l.table)); err != nil {
		return err
	}
	name := l.quote(l.table)
	return l.db.QueryRowContext(l.ctx, "SELECT pg_total_relation_size($1::regclass), pg_table_size($1::regclass)", name).Scan(&r.Measured, &r.MeasuredTable)
}

func (l *loader) mysql(r *Result) error {
	if err := l.exec("ANALYZE TABLE " + l.quote(l.table)); err != nil {
		return err
	}
	full := l.own + "/" + l.table
	var err error
	for _, view := range []string{"INNODB_SYS_TABLESPACES", "INNODB_TABLESPACES"} { // MariaDB, MySQL 8
		err = l.db.QueryRowContext(l.ctx, "SELECT FILE_SIZE FROM information_schema."+view+" WHERE NAME=?", full).Scan(&r.Measured)
		if err == nil {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("cannot read the size of the tablespace (it needs the PROCESS privilege): %w", err)
	}
	_ = l.db.QueryRowContext(l.ctx, "SELECT stat_value*@@innodb_page_size FROM mysql.innodb_index_stats WHERE database_name=DATABASE() AND table_name=? AND stat_name='size' AND index_name IN ('PRIMARY','GEN_CLUST_INDEX')", l.table).Scan(&r.MeasuredTable)
	return nil
}

func (l *loader) sqlite(r *Result) error {
	if err := l.exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		return err
	}
	var pages, size int64
	if err := l.db.QueryRowContext(l.ctx, "PRAGMA page_count").Scan(&pages); err != nil {
		return err
	}
	if err := l.db.QueryRowContext(l.ctx, "PRAGMA page_size").Scan(&size); err != nil {
		return err
	}
	r.Measured = pages * size
	return nil
}
