package lab_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/internal/engines/enginetest"
	"github.com/relplan/relplan/modelcheck/replay"
	"github.com/relplan/relplan/modelcheck/replay/lab"
)

// addresses of the servers that a child process runs the recovery lab on.
const (
	childSQL   = "RELPLAN_LAB_TEST_SQL"
	childRedis = "RELPLAN_LAB_TEST_REDIS"
)

// runChild is the recovery lab in a process of its own, which tells what begins.
func runChild(t *testing.T) {
	sql, err := replay.ParseChoice(os.Getenv(childSQL))
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = lab.Recovery(context.Background(), lab.Where{
		SQL: []replay.Choice{sql}, Redis: replay.Choice{Kind: engines.Redis, DSN: os.Getenv(childRedis)}, Servers: servers(t),
		Progress: func(text string) { fmt.Println("begins:", text) },
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A run that is killed leaves databases and keys; the next one removes them.
func TestKilledRunLeavesNothing(t *testing.T) {
	if os.Getenv(childSQL) != "" {
		runChild(t)
		return
	}
	redis := enginetest.Need(t, engines.Redis)
	for kind, at := range map[engines.Kind]string{engines.Postgres: "midFailureRollback", engines.MySQL: "cacheWatermark"} {
		t.Run(string(kind)+" "+at, func(t *testing.T) {
			server := enginetest.Need(t, kind)
			pid := killAt(t, at, server.DSN, redis.DSN)
			if at == "midFailureRollback" && databases(t, server.DSN, pid) == 0 {
				t.Fatal("the run was killed before it had a database: the test shows nothing")
			}
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
			defer cancel()
			if _, _, err := lab.Recovery(ctx, lab.Where{
				SQL: []replay.Choice{{Kind: kind, DSN: server.DSN}}, Redis: replay.Choice{Kind: engines.Redis, DSN: redis.DSN}, Servers: servers(t),
			}); err != nil {
				t.Fatal(err)
			}
			if n := databases(t, server.DSN, pid); n != 0 {
				t.Errorf("%d databases of the killed run are left", n)
			}
			if n := keysOf(t, redis, pid); n != 0 {
				t.Errorf("%d keys of the killed run are left", n)
			}
		})
	}
}

// killAt kills a run with SIGKILL shortly after an observation has begun.
func killAt(t *testing.T, observation, sql, redis string) (pid int) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestKilledRunLeavesNothing$", "-test.v")
	cmd.Env = append(os.Environ(), childSQL+"="+sql, childRedis+"="+redis)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "begins: "+observation) {
			break
		}
	}
	for wait := time.Now().Add(10 * time.Second); time.Now().Before(wait); time.Sleep(5 * time.Millisecond) {
		if observation != "midFailureRollback" || databases(t, sql, cmd.Process.Pid) > 0 {
			break
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	return cmd.Process.Pid
}

func databases(t *testing.T, dsn string, pid int) int {
	t.Helper()
	db, err := engines.OpenSQL(dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	query := "select count(*) from pg_database where datname like 'relplan\\_%d\\_%%'"
	if db.Kind == engines.MySQL {
		query = "select count(*) from information_schema.schemata where schema_name like 'relplan\\_%d\\_%%'"
	}
	var n int
	if err := db.QueryRow(fmt.Sprintf(query, pid)).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func keysOf(t *testing.T, redis *engines.Server, pid int) int {
	t.Helper()
	c, err := engines.OpenRedis(redis.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	keys, err := c.Keys(context.Background(), fmt.Sprintf("relplan_%d_*", pid)).Result()
	if err != nil {
		t.Fatal(err)
	}
	return len(keys)
}
