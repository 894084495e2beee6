package engines_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/internal/engines/enginetest"
)

func TestMain(m *testing.M) {
	if os.Getenv("RELPLAN_TEST_START") != "" {
		startAndWait()
		return
	}
	enginetest.Main(m)
}

var sqlKinds = []engines.Kind{engines.SQLite, engines.Postgres, engines.MySQL}

func TestOwnDatabaseIsMadeAndDropped(t *testing.T) {
	ctx := context.Background()
	for _, kind := range sqlKinds {
		t.Run(string(kind), func(t *testing.T) {
			s := enginetest.Need(t, kind)
			own, err := engines.CreateOwn(ctx, s.DSN)
			if err != nil {
				t.Fatal(err)
			}
			db, err := engines.OpenSQL(own.DSN)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.ExecContext(ctx, "create table t (a int primary key)"); err != nil {
				t.Fatal(err)
			}
			if err := own.Drop(ctx); err != nil {
				t.Fatal(err)
			}
			db.Close()
			if kind == engines.SQLite {
				return
			}
			if left, err := engines.Remaining(ctx, s.DSN); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

func TestCutRollsBackAnOpenTransaction(t *testing.T) {
	ctx := context.Background()
	for _, kind := range []engines.Kind{engines.Postgres, engines.MySQL} {
		t.Run(string(kind), func(t *testing.T) {
			own, err := engines.CreateOwn(ctx, enginetest.Need(t, kind).DSN)
			if err != nil {
				t.Fatal(err)
			}
			defer own.Drop(ctx)
			watch, err := engines.OpenSQL(own.DSN)
			if err != nil {
				t.Fatal(err)
			}
			defer watch.Close()
			if _, err := watch.ExecContext(ctx, "create table t (a int primary key)"); err != nil {
				t.Fatal(err)
			}
			worker, err := engines.OpenSQL(own.DSN)
			if err != nil {
				t.Fatal(err)
			}
			tx, err := worker.BeginTx(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.ExecContext(ctx, "insert into t values (1)"); err != nil {
				t.Fatal(err)
			}
			worker.Cut()
			if err := tx.Commit(); err == nil {
				t.Error("commit succeeded over a cut connection")
			}
			// the insert below waits until the engine has rolled the dead session back
			if _, err := watch.ExecContext(ctx, "insert into t values (1)"); err != nil {
				t.Errorf("the dead worker's row is still there: %v", err)
			}
		})
	}
}

func TestRedisAndNATSAnswer(t *testing.T) {
	ctx := context.Background()
	c, err := engines.OpenRedis(enginetest.Need(t, engines.Redis).DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if ok, err := c.SetNX(ctx, "k", "v", time.Minute).Result(); err != nil || !ok {
		t.Errorf("SETNX = %v, %v", ok, err)
	}
	nc, err := engines.OpenNATS(enginetest.Need(t, engines.NATS).DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if err := nc.FlushTimeout(5 * time.Second); err != nil {
		t.Error(err)
	}
}

func TestServersRunUnprivilegedAndOnLoopback(t *testing.T) {
	s := enginetest.Need(t, engines.Redis)
	info, err := os.Stat(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 && info.Mode().Perm()&0o077 != 0 {
		t.Errorf("folder %s has mode %v, expected none for others", s.Dir, info.Mode())
	}
	if !strings.Contains(s.DSN, "@127.0.0.1:") {
		t.Errorf("address %s, expected the loopback address with a password", s.DSN)
	}
}

func TestDeclinedEngineIsUnavailableWithTheReason(t *testing.T) {
	t.Setenv("RELPLAN_ENGINES", "embedded")
	_, err := engines.Start(context.Background(), engines.Postgres)
	if err == nil || !strings.Contains(err.Error(), "declined by RELPLAN_ENGINES") {
		t.Errorf("got %v", err)
	}
}

// TestKilledProcessLeavesNothing kills a process that started a server and
// looks for the server and its folder.
func TestKilledProcessLeavesNothing(t *testing.T) {
	enginetest.Need(t, engines.Redis)
	cmd := exec.Command(os.Args[0])
	dir := t.TempDir()
	cmd.Env = append(os.Environ(), "RELPLAN_TEST_START="+filepath.Join(dir, "ready"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var folder string
	for i := 0; i < 500 && folder == ""; i++ {
		time.Sleep(20 * time.Millisecond)
		b, _ := os.ReadFile(filepath.Join(dir, "ready"))
		folder = string(b)
	}
	if folder == "" {
		_ = cmd.Process.Kill()
		t.Fatal("the helper process did not start its server")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	s, err := engines.Start(context.Background(), engines.SQLite) // any start sweeps
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", folder, err)
	}
	for i := 0; i < 100; i++ {
		if out, _ := exec.Command("pgrep", "-f", folder).Output(); len(strings.TrimSpace(string(out))) == 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("a server of the killed process %s still runs", strconv.Itoa(cmd.Process.Pid))
}

func startAndWait() {
	s, err := engines.Start(context.Background(), engines.Redis)
	if err != nil {
		os.Exit(1)
	}
	tmp := os.Getenv("RELPLAN_TEST_START")
	if os.WriteFile(tmp+".part", []byte(s.Dir), 0o600) != nil || os.Rename(tmp+".part", tmp) != nil {
		os.Exit(1)
	}
	time.Sleep(time.Minute)
}
