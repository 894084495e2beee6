package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relplan/relplan/deadline"
)

func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(&out); err != nil {
		t.Fatal(err)
	}
	want := `asks first:    1 hit,  attempt 2 refused before it was sent (it needs 230ms)
does not ask:  2 hits, the second answer came after the deadline, for nobody
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// TestTransport: with time enough, attempts are made until one works, and a
// refusal never reaches the server.
func TestTransport(t *testing.T) {
	var hits atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hits.Add(1) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	get := func(total, perTry time.Duration) (*http.Response, error) {
		ctx, cancel := context.WithTimeout(context.Background(), total)
		defer cancel()
		c := &http.Client{Transport: &transport{base: http.DefaultTransport, policy: deadline.Policy{Attempts: 5, PerTry: perTry, Waits: deadline.Backoff{Base: time.Millisecond}}}}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		return c.Do(req)
	}
	if _, err := get(time.Minute, time.Hour); !errors.Is(err, deadline.ErrDoesNotFit) || hits.Load() != 0 {
		t.Errorf("an attempt of an hour in a minute: %v, %d hits; want a refusal and none", err, hits.Load())
	}
	res, err := get(time.Minute, 10*time.Second)
	if err != nil || res.StatusCode != http.StatusOK || hits.Load() != 3 {
		t.Fatalf("%v, %v, %d hits; want 200 at the third", res, err, hits.Load())
	}
	res.Body.Close()
}
