package lab

import (
	"context"
	"errors"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/relplan/relplan/deadline"
	"github.com/relplan/relplan/retrytree"
)

// Times of the loopback server and its client.
const (
	serverDelay   = 800 * time.Millisecond
	clientTimeout = 300 * time.Millisecond
)

// loopback is what this observation runs on.
const loopback = "net/http"

// retryBudget: retries of three layers multiply, an attempt that does not fit is
// not admitted, and a client that gives up does not stop the server.
func (l *lab) retryBudget(ctx context.Context) {
	if ctx.Err() != nil {
		l.notRun("retryBudget", loopback, "", "stopped before it began")
		return
	}
	l.progress("retryBudget")
	f := &findings{}
	if err := errors.Join(amplification(f), admission(f), givesUp(ctx, f)); err != nil {
		l.notRun("retryBudget", loopback, runtime.Version(), err.Error())
		return
	}
	l.add("retryBudget", loopback, runtime.Version(), f)
	l.boundary.Ran = append(l.boundary.Ran, "a server and a client of net/http on the loopback address, "+runtime.Version())
	l.boundary.Injected = append(l.boundary.Injected, "retryBudget: the server waits 800ms before it does its work, the client gives up after 300ms")
	l.boundary.Modelled = append(l.boundary.Modelled, "retryBudget: 2x3x2 attempts and the admission are arithmetic")
}

// amplification is the worst case of a call tree with 2, 3 and 2 attempts.
func amplification(f *findings) error {
	g, err := retrytree.Build([]retrytree.Node{
		{Name: "gateway", Calls: []retrytree.Call{retrytree.To("orders", 2)}},
		{Name: "orders", Calls: []retrytree.Call{retrytree.To("payments", 3)}},
		{Name: "payments", Calls: []retrytree.Call{retrytree.To("bank", 2)}},
		{Name: "bank"},
	})
	if err != nil {
		return err
	}
	w := g.Worst()
	n, _ := w.Nodes[w.Top].Attempts.Int64()
	f.is("attempts2x3x2", n, int64(12))
	return nil
}

// admission asks whether one more attempt fits the budget.
func admission(f *findings) error {
	a, err := deadline.Admit(deadline.Request{
		Budget: 300 * time.Millisecond, Spent: 150 * time.Millisecond, Backoff: 80 * time.Millisecond, Attempt: 150 * time.Millisecond,
	})
	f.is("admitted", a.Admit, false)
	f.is("shortByMillis", a.ShortBy.Milliseconds(), int64(80))
	return err
}

// givesUp sends one request to a slow server and gives up; the work is done all
// the same.
func givesUp(ctx context.Context, f *findings) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var hits atomic.Int64
	worked := make(chan struct{}, 1)
	server := &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		time.Sleep(serverDelay) // as a server that does not ask whether anybody still listens
		hits.Add(1)
		worked <- struct{}{}
	})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(ln) // ends with Close
	}()
	defer func() {
		_ = server.Close()
		<-ended
	}()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+ln.Addr().String()+"/charge", strings.NewReader("100"))
	if err != nil {
		return err
	}
	client := &http.Client{Timeout: clientTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(r)
	if err == nil {
		_ = res.Body.Close()
	}
	var n net.Error
	f.is("clientTimedOut", errors.As(err, &n) && n.Timeout(), true)
	select {
	case <-worked:
	case <-time.After(10 * serverDelay):
	case <-ctx.Done():
		return ctx.Err()
	}
	f.is("serverHitsAfterTheTimeout", hits.Load(), int64(1))
	return nil
}
