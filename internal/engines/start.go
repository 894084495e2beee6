package engines

import (
	"context"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

func startSQLite(_ context.Context, l *launch) (*Server, error) {
	return &Server{Kind: SQLite, Version: sqliteVersion(), DSN: "sqlite://" + l.path("own.db")}, nil
}

func startPostgres(ctx context.Context, l *launch) (*Server, error) {
	initdb, err := find(Postgres, []string{"initdb"}, "/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin")
	if err != nil {
		return nil, err
	}
	postgres, err := find(Postgres, []string{"postgres"}, filepath.Dir(initdb), "/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin")
	if err != nil {
		return nil, err
	}
	pw, err := l.writeFile("password", l.password)
	if err != nil {
		return nil, err
	}
	if err := l.run(ctx, initdb, "-D", l.path("data"), "-U", "relplan", "-A", "scram-sha-256", "--pwfile", pw, "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"); err != nil {
		return nil, err
	}
	dsn := fmt.Sprintf("postgres://relplan:%s@127.0.0.1:%d/postgres?sslmode=disable", l.password, l.port)
	l.stopFunc = func() { // TERM waits for sessions, INT does not
		if l.proc != nil {
			_ = l.proc.cmd.Process.Signal(interrupt)
		}
	}
	err = l.serve(ctx, ping(dsn), postgres, "-D", l.path("data"), "-p", strconv.Itoa(l.port), "-k", l.dir,
		"-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "max_connections=200", "-c", "deadlock_timeout=50ms")
	if err != nil {
		return nil, err
	}
	v, err := versionOf(ctx, dsn)
	return &Server{Kind: Postgres, Version: v, DSN: dsn}, err
}

func startMariaDB(ctx context.Context, l *launch) (*Server, error) {
	install, err := find(MySQL, []string{"mariadb-install-db", "mysql_install_db"}, "/usr/bin", "/opt/homebrew/bin")
	if err != nil {
		return nil, err
	}
	daemon, err := find(MySQL, []string{"mariadbd", "mysqld"}, "/usr/sbin", "/usr/libexec", "/opt/homebrew/bin")
	if err != nil {
		return nil, err
	}
	if err := l.run(ctx, install, "--no-defaults", "--datadir="+l.path("data"), "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"); err != nil {
		return nil, err
	}
	grants, err := l.writeFile("init.sql", fmt.Sprintf(
		"CREATE USER IF NOT EXISTS relplan@'127.0.0.1' IDENTIFIED BY '%[1]s';\nGRANT ALL ON *.* TO relplan@'127.0.0.1' WITH GRANT OPTION;\nALTER USER root@localhost IDENTIFIED BY '%[1]s';\n", l.password))
	if err != nil {
		return nil, err
	}
	dsn := fmt.Sprintf("mysql://relplan:%s@127.0.0.1:%d/", l.password, l.port)
	err = l.serve(ctx, ping(dsn), daemon, "--no-defaults", "--datadir="+l.path("data"), "--socket="+l.path("s"), "--pid-file="+l.path("pid"),
		"--port="+strconv.Itoa(l.port), "--bind-address=127.0.0.1", "--init-file="+grants, "--skip-name-resolve", "--tmpdir="+l.dir,
		"--innodb-flush-log-at-trx-commit=0", "--sync-binlog=0", "--innodb-flush-method=nosync", "--innodb-buffer-pool-size=256M", "--max-connections=200", "--character-set-server=utf8mb4")
	if err != nil {
		return nil, err
	}
	v, err := versionOf(ctx, dsn)
	return &Server{Kind: MySQL, Version: v, DSN: dsn}, err
}

func startRedis(ctx context.Context, l *launch) (*Server, error) {
	redis, err := find(Redis, []string{"redis-server", "valkey-server"}, "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin")
	if err != nil {
		return nil, err
	}
	conf, err := l.writeFile("redis.conf", fmt.Sprintf("requirepass %s\nsave \"\"\nappendonly no\n", l.password))
	if err != nil {
		return nil, err
	}
	dsn := fmt.Sprintf("redis://:%s@127.0.0.1:%d/0", l.password, l.port)
	err = l.serve(ctx, ping(dsn), redis, conf, "--port", strconv.Itoa(l.port), "--bind", "127.0.0.1", "--dir", l.dir, "--daemonize", "no")
	if err != nil {
		return nil, err
	}
	v, err := versionOf(ctx, dsn)
	return &Server{Kind: Redis, Version: v, DSN: dsn}, err
}

// ping gives a function that succeeds once the server answers.
func ping(dsn string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := versionOf(ctx, dsn)
		return err
	}
}

// Reach says whether a server answers at an address; the error is an
// *Unavailable.
func Reach(ctx context.Context, dsn string) error {
	kind, err := KindOf(dsn)
	if err != nil {
		return err
	}
	if _, err := versionOf(ctx, dsn); err != nil {
		return &Unavailable{kind, fmt.Sprintf("%s: %v", redact(dsn), err)}
	}
	return nil
}

// Installed tells, without starting anything, whether a server of the kind can
// be started here and what its program says of its version.
func Installed(kind Kind) (version string, err error) {
	switch kind {
	case SQLite:
		return sqliteVersion(), nil
	case NATS:
		return natsVersion, nil
	}
	names := map[Kind][]string{Postgres: {"postgres"}, MySQL: {"mariadbd", "mysqld"}, Redis: {"redis-server", "valkey-server"}}[kind]
	p, err := find(kind, names, "/usr/lib/postgresql/*/bin", "/usr/sbin", "/usr/bin", "/usr/local/bin")
	if err != nil {
		return "", err
	}
	out, err := exec.Command(p, "--version").Output()
	if err != nil {
		return "", &Unavailable{kind, err.Error()}
	}
	for _, w := range strings.Fields(string(out)) {
		w = strings.TrimPrefix(w, "v=")
		if len(w) > 0 && w[0] >= '0' && w[0] <= '9' {
			return strings.TrimSuffix(w, ","), nil
		}
	}
	return strings.TrimSpace(string(out)), nil
}

// KindOf reads the engine from the scheme of a DSN.
func KindOf(dsn string) (Kind, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return "", fmt.Errorf("%q is no address such as postgres://user@host/db: %w", redact(dsn), err)
	}
	switch u.Scheme {
	case "postgres", "postgresql":
		return Postgres, nil
	case "mysql", "mariadb":
		return MySQL, nil
	case "sqlite", "file":
		return SQLite, nil
	case "redis", "rediss", "unix":
		return Redis, nil
	case "nats", "tls":
		return NATS, nil
	}
	return "", fmt.Errorf("%q names no known engine, expected postgres://, mysql://, sqlite://, redis:// or nats://", redact(dsn))
}

// redact hides the password of an address for messages.
func redact(dsn string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		return "the address"
	}
	return u.Redacted()
}
