package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/relplan/relplan/deadline"
)

// transport retries requests as long as another attempt fits the deadline of
// the request's context. An attempt that does not fit is never sent.
type transport struct {
	base   http.RoundTripper
	policy deadline.Policy
}

// refused says why no further attempt was made, and what the last one answered.
type refused struct {
	deadline.Admission
	attempt int64
	last    string
}

func (r *refused) Error() string {
	return fmt.Sprintf("attempt %d not sent: it needs %v and does not fit the deadline; last answer: %s", r.attempt, r.Needed, r.last)
}

func (r *refused) Unwrap() error { return deadline.ErrDoesNotFit }

// RoundTrip implements http.RoundTripper for requests without a body.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	budget := deadline.FromContext(ctx, nil)
	last := "none"
	for k := int64(1); ; k++ {
		var wait time.Duration
		if k > 1 {
			_, wait = t.policy.Waits.Wait(k - 1)
		}
		if a := budget.Check(ctx, wait, t.policy.PerTry); !a.Admit { // before the wait, not after it
			return nil, &refused{Admission: a, attempt: k, last: last}
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		res, err := t.attempt(req, budget)
		switch {
		case err == nil && res.StatusCode < 500:
			return res, nil
		case k >= t.policy.Attempts:
			return res, err
		case err != nil:
			last = "error"
		default:
			last = res.Status
			io.Copy(io.Discard, io.LimitReader(res.Body, 1<<16))
			res.Body.Close()
		}
	}
}

// attempt gives one attempt its own limit; the limit ends with the body.
func (t *transport) attempt(req *http.Request, b deadline.Budget) (*http.Response, error) {
	ctx, cancel := b.Child(t.policy.PerTry, 0).Context(req.Context())
	res, err := t.base.RoundTrip(req.Clone(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	res.Body = &cancelBody{res.Body, cancel}
	return res, nil
}

type cancelBody struct {
	io.ReadCloser
	cancel func()
}

func (b *cancelBody) Close() error { return errors.Join(b.ReadCloser.Close(), closed(b.cancel)) }

func closed(cancel func()) error { cancel(); return nil }
