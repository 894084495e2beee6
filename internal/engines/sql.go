package engines

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite" // the embedded engine, as driver "sqlite"
)

const interrupt = syscall.SIGINT

// DB is a connection pool to a SQL engine.
type DB struct {
	*sql.DB
	Kind Kind
	DSN  string

	mu    sync.Mutex
	conns []net.Conn // open sockets, the newest last; none for SQLite
}

// OpenSQL opens a pool; nothing is sent yet.
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
		c.DialFunc = d.dial
		d.DB = stdlib.OpenDB(*c)
	case MySQL:
		c, err := mysqlConfig(dsn)
		if err != nil {
			return nil, err
		}
		c.DialFunc = d.dial
		connector, err := mysql.NewConnector(c)
		if err != nil {
			return nil, err
		}
		d.DB = sql.OpenDB(connector)
	case SQLite:
		path := strings.TrimPrefix(strings.TrimPrefix(dsn, "sqlite://"), "file:")
		if d.DB, err = sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)"); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("%s is no SQL engine", kind)
	}
	return d, nil
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
	c.Timeout = 5 * time.Second
	c.Logger = &mysql.NopLogger{}
	return c, nil
}

// dial connects and remembers the socket, so that Cut can end it without a
// goodbye.
func (d *DB) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err == nil {
		d.mu.Lock()
		d.conns = append(d.conns, c)
		d.mu.Unlock()
	}
	return c, err
}

// Cut closes every socket of the pool as a crash would: no rollback, no
// goodbye is sent. SQLite has no socket; its connections are closed.
func (d *DB) Cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.conns {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
	}
	d.conns = nil
}

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
