package faultproxy_test

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/internal/engines/enginetest"
	"github.com/relplan/relplan/modelcheck/replay/faultproxy"
)

func openRedis(t *testing.T, dsn string) *engines.RedisClient {
	t.Helper()
	c, err := engines.OpenRedis(dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// linkTo starts a proxy for a replica of the server, and gives the server's
// address.
func linkTo(t *testing.T, dsn string) (*faultproxy.Replication, *url.URL) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	link, err := faultproxy.ListenReplication("127.0.0.1", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = link.Close() })
	return link, u
}

func offset(t *testing.T, c *engines.RedisClient) int64 {
	t.Helper()
	info, err := c.Info(t.Context(), "replication").Result()
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(info, "master_repl_offset:")
	text, _, _ := strings.Cut(rest, "\r\n")
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// becomes waits for the value of a key; "" is none.
func becomes(t *testing.T, c *engines.RedisClient, key, want string) {
	t.Helper()
	var got string
	for range 500 {
		if got, _ = c.Get(t.Context(), key).Result(); got == want {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s is %q, want %q", key, got, want)
}

func TestReplicaIsKeptBehind(t *testing.T) {
	ctx := context.Background()
	primary := enginetest.Need(t, engines.Redis)
	second, err := engines.Start(ctx, engines.Redis)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = second.Stop() })
	link, u := linkTo(t, primary.DSN)
	p, r := openRedis(t, primary.DSN), openRedis(t, second.DSN)
	set := func(key, value string) {
		t.Helper()
		if err := p.Set(ctx, key, value, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	set("copied", strings.Repeat("x", 50_000))
	password, _ := u.User.Password()
	for _, words := range [][]any{{"config", "set", "masterauth", password}, {"replicaof", "127.0.0.1", strconv.Itoa(link.Port())}} {
		if err := r.Do(ctx, words...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	becomes(t, r, "copied", strings.Repeat("x", 50_000))

	set("k", "1")
	becomes(t, r, "k", "1")
	link.Limit(offset(t, p))
	set("k", "2")
	between := offset(t, p)
	set("k", "3")
	time.Sleep(50 * time.Millisecond)
	becomes(t, r, "k", "1")
	link.Limit(between)
	becomes(t, r, "k", "2")
	time.Sleep(50 * time.Millisecond)
	becomes(t, r, "k", "2")
	link.Unlimited()
	becomes(t, r, "k", "3")

	if err := link.Err(); err != nil {
		t.Error(err)
	}
	if err := link.Close(); err != nil {
		t.Fatal(err)
	}
	set("k", "4")
	time.Sleep(50 * time.Millisecond)
	becomes(t, r, "k", "3")
	if link.Err() == nil {
		t.Error("a link that was cut is in order")
	}
}

// A proxy that has been used gives nobody else a copy: it would hold what is to
// be lost.
func TestReplicationServesOneReplica(t *testing.T) {
	primary := enginetest.Need(t, engines.Redis)
	link, u := linkTo(t, primary.DSN)
	through := *u
	through.Host = "127.0.0.1:" + strconv.Itoa(link.Port())
	first := openRedis(t, through.String())
	if err := first.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if err := openRedis(t, through.String()).Ping(t.Context()).Err(); err == nil {
		t.Error("a second client was served")
	}
}
