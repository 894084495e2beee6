// Command http shows a client that does not send the attempt which does not
// fit. The server counts its hits: one from the client that asks first, two
// from the client that does not, whose second answer comes after the deadline.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"time"

	"github.com/relplan/relplan/deadline"
)

// The numbers of `relplan deadline admit --budget 300ms --spent 150ms --backoff
// 80ms --attempt 150ms`: the server takes 150 ms to fail, so the second attempt
// would end at 380 ms.
const (
	budget  = 300 * time.Millisecond
	service = 150 * time.Millisecond
	backoff = 80 * time.Millisecond
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(w io.Writer) error {
	var hits atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		time.Sleep(service)
		http.Error(w, "down", http.StatusServiceUnavailable)
	}))
	defer server.Close()

	ctx, cancel := context.WithTimeout(context.Background(), budget)
	defer cancel()
	asks := &http.Client{Transport: &transport{base: http.DefaultTransport,
		policy: deadline.Policy{Attempts: 3, PerTry: service, Waits: deadline.Backoff{Base: backoff}}}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	if err != nil {
		return err
	}
	_, err = asks.Do(req)
	if !errors.Is(err, deadline.ErrDoesNotFit) {
		return fmt.Errorf("expected a refusal, got %v", err)
	}
	var why *refused
	errors.As(err, &why)
	fmt.Fprintf(w, "asks first:    %d hit,  attempt %d refused before it was sent (it needs %v)\n", hits.Load(), why.attempt, why.Needed)

	hits.Store(0)
	start := time.Now()
	for k := range 2 {
		if k > 0 {
			time.Sleep(backoff)
		}
		res, err := http.Get(server.URL)
		if err != nil {
			return err
		}
		res.Body.Close()
	}
	late := "in time"
	if time.Since(start) > budget {
		late = "after the deadline, for nobody"
	}
	fmt.Fprintf(w, "does not ask:  %d hits, the second answer came %s\n", hits.Load(), late)
	return nil
}
