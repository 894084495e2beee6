package engines

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-sql-driver/mysql"
)

// OwnPrefix starts the name of everything that relplan makes on a server; the
// number of the process that owns it follows.
const OwnPrefix = "relplan_"

// ProcessPrefix starts the names of what this process makes.
func ProcessPrefix() string { return fmt.Sprintf("%s%d_", OwnPrefix, os.Getpid()) }

// NewName is a name for a database, or the beginning of names, that no other run
// uses.
func NewName() string { return ProcessPrefix() + randomHex(4) }

// Own is a database (or, for SQLite, a file) made for one run.
type Own struct {
	Name string
	DSN  string // of the new database
	Kind Kind
	from string // of the server
}

// CreateOwn makes a database of its own on the server, after dropping those of
// runs on this machine that were killed.
func CreateOwn(ctx context.Context, dsn string) (*Own, error) {
	kind, err := KindOf(dsn)
	if err != nil {
		return nil, err
	}
	o := &Own{Name: NewName(), Kind: kind, from: dsn}
	if kind == SQLite {
		dir, err := os.MkdirTemp("", dirPrefix+"file-")
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, "owner.pid"), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
			return nil, err
		}
		o.DSN = "sqlite://" + filepath.Join(dir, "own.db")
		return o, nil
	}
	db, err := OpenSQL(dsn)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	if err := dropOrphans(ctx, db); err != nil {
		return nil, err
	}
	if _, err := db.ExecContext(ctx, "create database "+o.Name); err != nil {
		return nil, fmt.Errorf("cannot create a database of its own on %s: %w", redact(dsn), err)
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, err
	}
	u.Path = "/" + o.Name
	o.DSN = u.String()
	return o, nil
}

// Drop removes the database and everybody who is still connected to it.
func (o *Own) Drop(ctx context.Context) error {
	if o.Kind == SQLite {
		return os.RemoveAll(filepath.Dir(strings.TrimPrefix(o.DSN, "sqlite://")))
	}
	db, err := OpenSQL(o.from)
	if err != nil {
		return err
	}
	defer db.Close()
	return drop(ctx, db, o.Name)
}

func drop(ctx context.Context, db *DB, name string) error {
	text := "drop database if exists " + name
	if db.Kind == Postgres {
		text += " with (force)"
	} else if err := disconnect(ctx, db, name); err != nil {
		return err
	}
	_, err := db.ExecContext(ctx, text)
	return err
}

// disconnect ends the sessions in a MySQL database: their open transactions
// would keep it from being dropped.
func disconnect(ctx context.Context, db *DB, name string) error {
	rows, err := db.QueryContext(ctx, "select id from information_schema.processlist where db = ?", name)
	if err != nil {
		return err
	}
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return err
		}
		ids = append(ids, id)
	}
	for _, id := range ids {
		var gone *mysql.MySQLError
		if _, err := db.ExecContext(ctx, fmt.Sprintf("kill %d", id)); err != nil && !(errors.As(err, &gone) && gone.Number == 1094) {
			return err
		}
	}
	return rows.Err()
}

// Remaining lists the databases (for SQLite, the folders of files) of this
// process that are still there.
func Remaining(ctx context.Context, dsn string) ([]string, error) {
	if kind, err := KindOf(dsn); err != nil || kind == SQLite {
		return remainingFiles(), err
	}
	db, err := OpenSQL(dsn)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	names, err := owned(ctx, db)
	if err != nil {
		return nil, err
	}
	var mine []string
	for _, n := range names {
		if strings.HasPrefix(n, ProcessPrefix()) {
			mine = append(mine, n)
		}
	}
	return mine, nil
}

func remainingFiles() []string {
	var mine []string
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), dirPrefix+"file-*"))
	for _, d := range dirs {
		if pid, err := os.ReadFile(filepath.Join(d, "owner.pid")); err == nil && string(pid) == strconv.Itoa(os.Getpid()) {
			mine = append(mine, d)
		}
	}
	return mine
}

// owned lists the databases whose names have our form.
func owned(ctx context.Context, db *DB) ([]string, error) {
	query := map[Kind]string{Postgres: "select datname from pg_database", MySQL: "select schema_name from information_schema.schemata"}[db.Kind]
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var n string
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		if _, ok := ownerOf(n); ok {
			all = append(all, n)
		}
	}
	return all, rows.Err()
}

// ownerOf reads the process number from a name of our form.
func ownerOf(name string) (pid int, ok bool) {
	rest, ok := strings.CutPrefix(name, OwnPrefix)
	num, tag, cut := strings.Cut(rest, "_")
	pid, err := strconv.Atoi(num)
	return pid, ok && cut && err == nil && len(tag) == 8
}

// Abandoned says whether a database or key was made by a process of this machine
// that is gone.
func Abandoned(name string) bool {
	rest, ok := strings.CutPrefix(name, OwnPrefix)
	num, _, cut := strings.Cut(rest, "_")
	pid, err := strconv.Atoi(num)
	return ok && cut && err == nil && syscall.Kill(pid, 0) == syscall.ESRCH
}

// OnThisMachine says whether the server of an address runs here, so that the
// numbers of processes in names mean something.
func OnThisMachine(dsn string) bool {
	u, err := url.Parse(dsn)
	return err == nil && isLoopback(u.Hostname())
}

// dropOrphans drops databases made by processes of this machine that are gone.
// A server on another machine is left alone: process numbers mean nothing there.
func dropOrphans(ctx context.Context, db *DB) error {
	if !OnThisMachine(db.DSN) {
		return nil
	}
	names, err := owned(ctx, db)
	if err != nil {
		return err
	}
	var errs []error
	for _, n := range names {
		if Abandoned(n) {
			errs = append(errs, drop(ctx, db, n))
		}
	}
	return errors.Join(errs...)
}

func isLoopback(host string) bool {
	return host == "localhost" || host == "::1" || strings.HasPrefix(host, "127.")
}
