package engines

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite" // the embedded engine, as driver "sqlite"
)

const interrupt = syscall.SIGINT

// DB is a connection pool to a SQL engine.
type DB struct {
	*sql.DB
	Kind Kind
	DSN  string

	sockets Sockets // none for SQLite
}

// OpenSQL opens a pool; nothing is sent yet. An address of SQLite may end in
// ?journal_mode=delete for the rollback journal; without it the file is in WAL
// mode.
func OpenSQL(dsn string) (*DB, error) {
	kind, err := KindOf(dsn)
	if err != nil {
		return nil, err
	}
	d := &DB{Kind: kind, DSN: dsn}
	switch kind {
	case Postgres:
		c, err := pgx.ParseConfig(dsn)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", redact(dsn), err)
		}
		c.DialFunc = d.sockets.Dial
		d.DB = stdlib.OpenDB(*c)
	case MySQL:
		c, err := mysqlConfig(dsn)
		if err != nil {
			return nil, err
		}
		c.DialFunc = d.sockets.Dial
		connector, err := mysql.NewConnector(c)
		if err != nil {
			return nil, err
		}
		d.DB = sql.OpenDB(connector)
	case SQLite:
		if d.DB, err = sql.Open("sqlite", sqliteName(dsn)); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("%s is no SQL engine", kind)
	}
	return d, nil
}

// sqliteName is the address as the driver wants it.
func sqliteName(dsn string) string {
	path, query, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(dsn, "sqlite://"), "file:"), "?")
	mode := "WAL"
	if v, err := url.ParseQuery(query); err == nil && v.Get("journal_mode") == "delete" {
		mode = "DELETE"
	}
	return "file:" + path + "?_pragma=journal_mode(" + mode + ")&_pragma=synchronous(OFF)"
}

func mysqlConfig(dsn string) (*mysql.Config, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", redact(dsn), err)
	}
	c := mysql.NewConfig()
	c.Net, c.Addr, c.DBName = "tcp", u.Host, strings.TrimPrefix(u.Path, "/")
	if u.Port() == "" {
		c.Addr = net.JoinHostPort(u.Hostname(), "3306")
	}
	if socket := u.Query().Get("socket"); socket != "" {
		c.Net, c.Addr = "unix", socket
	}
	c.User = u.User.Username()
	c.Passwd, _ = u.User.Password()
	c.ParseTime, c.InterpolateParams, c.MultiStatements = true, true, false
	// found_rows: an update of a row to the values it has counts, as on other
	// engines.
	c.ClientFoundRows = u.Query().Get("found_rows") != ""
	c.Timeout = 5 * time.Second
	c.Logger = &mysql.NopLogger{}
	return c, nil
}

// Cut closes every socket of the pool as a crash would: no rollback, no
// goodbye is sent. SQLite has no socket; its connections are closed.
func (d *DB) Cut() { d.sockets.Cut() }

// versionOf connects, asks for the version and disconnects.
func versionOf(ctx context.Context, dsn string) (string, error) {
	kind, err := KindOf(dsn)
	if err != nil {
		return "", err
	}
	switch kind {
	case Redis:
		return redisVersion(ctx, dsn)
	case NATS:
		return natsVersion, nil
	}
	d, err := OpenSQL(dsn)
	if err != nil {
		return "", err
	}
	defer d.Close()
	return d.Version(ctx)
}

// Version asks the engine what it is: "15.18", "10.11.19-MariaDB", "3.50.4".
func (d *DB) Version(ctx context.Context) (string, error) {
	query := map[Kind]string{Postgres: "show server_version", MySQL: "select version()", SQLite: "select sqlite_version()"}[d.Kind]
	var v string
	if err := d.QueryRowContext(ctx, query).Scan(&v); err != nil {
		return "", err
	}
	v, _, _ = strings.Cut(v, " ")
	if i := strings.Index(v, "-MariaDB"); i >= 0 {
		v = v[:i+len("-MariaDB")]
	}
	return v, nil
}

func sqliteVersion() string {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return ""
	}
	defer db.Close()
	var v string
	_ = db.QueryRow("select sqlite_version()").Scan(&v)
	return v
}

// Failure classifies an error of a statement.
type Failure uint8

// Failures. Lost means that the connection ended before the answer: the
// statement may or may not have run.
const (
	OtherFailure  Failure = iota
	Duplicate             // a unique key is taken
	Deadlock              // chosen as the victim of a cycle of waits
	Serialization         // the isolation level refuses
	LockTimeout           // waited too long for a lock, or would have to wait
	Lost
)

// String names the failure as reports do.
func (f Failure) String() string {
	return [...]string{"error", "duplicate key", "deadlock", "serialization failure", "lock wait", "connection lost"}[f]
}

// Classify says what kind of failure err is.
//
// Source: PostgreSQL appendix A (SQLSTATE), MySQL server error reference,
// SQLite result codes.
func Classify(err error) Failure {
	var pg *pgconn.PgError
	var my *mysql.MySQLError
	var lite *sqlite.Error
	switch {
	case errors.As(err, &pg):
		return map[string]Failure{"23505": Duplicate, "40P01": Deadlock, "40001": Serialization, "55P03": LockTimeout, "57P01": Lost}[pg.Code]
	case errors.As(err, &my):
		return map[uint16]Failure{1062: Duplicate, 1586: Duplicate, 1213: Deadlock, 1020: Serialization, 1205: LockTimeout, 3572: LockTimeout}[my.Number]
	case errors.As(err, &lite):
		switch code := lite.Code(); {
		case code == 517: // SQLITE_BUSY_SNAPSHOT: another connection has written since this one has read
			return Serialization
		case code == 2067 || code == 1555: // SQLITE_CONSTRAINT_UNIQUE, _PRIMARYKEY
			return Duplicate
		case code&0xff == 5 || code&0xff == 6: // SQLITE_BUSY, SQLITE_LOCKED
			return LockTimeout
		}
		return OtherFailure
	}
	var n net.Error
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNRESET) || errors.As(err, &n) {
		return Lost
	}
	return OtherFailure
}
