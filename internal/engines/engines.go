// Package engines starts private database servers, opens connections to them
// and to servers the user names, and gives each run a database of its own that
// is dropped afterwards. It is the only package with database drivers.
//
// A server started here lives in a folder of its own under the temporary
// directory, listens on a free port of the loopback address with a random
// password, runs as an unprivileged user when this process is root, and dies
// with this process. No server that was not started here is ever touched unless
// its address is given.
package engines

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Kind of an engine.
type Kind string

// The engines.
const (
	SQLite   Kind = "sqlite"
	Postgres Kind = "postgres"
	MySQL    Kind = "mysql" // MariaDB where this package starts it
	Redis    Kind = "redis"
	NATS     Kind = "nats"
)

// Kinds lists the engines in the order reports print them.
var Kinds = []Kind{SQLite, Postgres, MySQL, Redis, NATS}

// Unavailable says why an engine cannot be used here. A test or run that needs
// it is NOT_RUN, never passed.
type Unavailable struct {
	Kind   Kind
	Reason string
}

// Error gives the reason with the engine's name.
func (e *Unavailable) Error() string { return fmt.Sprintf("%s is not available: %s", e.Kind, e.Reason) }

// Server is a server that this process started.
type Server struct {
	Kind    Kind
	Version string // as the engine prints it, "15.18" or "10.11.19-MariaDB"
	DSN     string // with the password; for Open
	Dir     string // everything it writes
	stop    func() error
}

// Start starts a private server and waits until it answers. The error is an
// *Unavailable when the engine is not installed or was declined by
// RELPLAN_ENGINES=embedded.
func Start(ctx context.Context, kind Kind, extra ...string) (*Server, error) {
	if os.Getenv("RELPLAN_ENGINES") == "embedded" && kind != SQLite && kind != NATS {
		return nil, &Unavailable{kind, "declined by RELPLAN_ENGINES=embedded"}
	}
	start, ok := map[Kind]func(context.Context, *launch) (*Server, error){
		SQLite: startSQLite, Postgres: startPostgres, MySQL: startMariaDB, Redis: startRedis, NATS: startNATS,
	}[kind]
	if !ok {
		return nil, &Unavailable{kind, "no such engine"}
	}
	sweep()
	l, err := newLaunch(kind, extra)
	if err != nil {
		return nil, err
	}
	s, err := start(ctx, l)
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	s.Dir, s.stop = l.dir, l.close
	return s, nil
}

// Stop ends the server and removes its folder.
func (s *Server) Stop() error { return s.stop() }

// launch is a server that is being started.
type launch struct {
	kind     Kind
	dir      string
	port     int
	password string
	extra    []string // further arguments of the server
	cred     *syscall.Credential
	proc     *process
	stopFunc func()
}

const dirPrefix = "relplan-engine-"

func newLaunch(kind Kind, extra []string) (*launch, error) {
	l := &launch{kind: kind, extra: extra, password: randomHex(16)}
	var err error
	if l.cred, err = unprivileged(); err != nil {
		return nil, &Unavailable{kind, err.Error()}
	}
	if l.dir, err = os.MkdirTemp("", dirPrefix+string(kind)+"-"); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(l.dir, "owner.pid"), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return nil, err
	}
	if l.cred != nil {
		if err := os.Chown(l.dir, int(l.cred.Uid), int(l.cred.Gid)); err != nil {
			return nil, err
		}
	}
	l.port, err = freePort()
	return l, err
}

// unprivileged is the user to run servers as: nobody when this process is root,
// else nil for the own user.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("nobody")
	if err != nil {
		return nil, fmt.Errorf("running as root and there is no user nobody to run the server as: %w", err)
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(err1, err2)
}

func freePort() (int, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port, nil
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

// path is a name inside the server's folder.
func (l *launch) path(name string) string { return filepath.Join(l.dir, name) }

// writeFile writes a file that the server's user can read and nobody else.
func (l *launch) writeFile(name, text string) (string, error) {
	p := l.path(name)
	if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
		return "", err
	}
	if l.cred != nil {
		return p, os.Chown(p, int(l.cred.Uid), int(l.cred.Gid))
	}
	return p, nil
}

// run runs a tool of the engine to its end, as the server's user.
func (l *launch) run(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	l.prepare(cmd)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return &Unavailable{l.kind, fmt.Sprintf("%s: %v: %s", filepath.Base(name), err, tail(out))}
	}
	return nil
}

func (l *launch) prepare(cmd *exec.Cmd) {
	cmd.Dir = l.dir
	cmd.Env = []string{"HOME=" + l.dir, "TMPDIR=" + l.dir, "PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"}
	cmd.SysProcAttr = dieWithParent(l.cred)
}

// serve starts the server process and calls ready until it succeeds.
func (l *launch) serve(ctx context.Context, ready func(context.Context) error, name string, args ...string) error {
	log, err := os.Create(l.path("server.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(name, append(args, l.extra...)...)
	l.prepare(cmd)
	cmd.Stdout, cmd.Stderr = log, log
	if l.proc, err = startProcess(cmd); err != nil {
		return &Unavailable{l.kind, err.Error()}
	}
	deadline := time.Now().Add(60 * time.Second)
	for {
		try, cancel := context.WithTimeout(ctx, 2*time.Second)
		err = ready(try)
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-l.proc.done:
			out, _ := os.ReadFile(log.Name())
			return &Unavailable{l.kind, "the server ended at once: " + tail(out)}
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return &Unavailable{l.kind, fmt.Sprintf("no answer within a minute: %v", err)}
		}
	}
}

func (l *launch) close() error {
	if l.stopFunc != nil {
		l.stopFunc()
	}
	if l.proc != nil {
		l.proc.end()
	}
	return os.RemoveAll(l.dir)
}

func tail(out []byte) string {
	s := strings.TrimSpace(string(out))
	if len(s) > 600 {
		s = "..." + s[len(s)-600:]
	}
	return s
}

// sweep removes the folders of servers whose process was killed before it
// could clean up; the servers themselves died with it.
func sweep() {
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), dirPrefix+"*"))
	for _, d := range dirs {
		b, err := os.ReadFile(filepath.Join(d, "owner.pid"))
		if err != nil {
			continue
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
		if err == nil && syscall.Kill(pid, 0) == syscall.ESRCH {
			_ = os.RemoveAll(d)
		}
	}
}

// find looks for a program on PATH and in the given folders (globs), the
// newest version last.
func find(kind Kind, names []string, folders ...string) (string, error) {
	for _, n := range names {
		if p, err := exec.LookPath(n); err == nil {
			return p, nil
		}
		for _, f := range folders {
			if hits, _ := filepath.Glob(filepath.Join(f, n)); len(hits) > 0 {
				return hits[len(hits)-1], nil
			}
		}
	}
	return "", &Unavailable{kind, names[0] + " is not installed"}
}
