package anomaly

import (
	"context"
	"fmt"
	"time"
)

// SQLite cannot be asked who waits: it answers BUSY, and a busy timeout means
// that the library tries again for that long. It does not try again where that
// could never help: with BUSY_SNAPSHOT, or when the other side waits for this
// one. So a statement that is BUSY is sent once more with a short timeout. An
// answer that comes sooner is a refusal; one that comes with the end of the
// timeout is a wait, and the statement is tried again after every step of
// another session, as the library does.

const patience = 20 * time.Millisecond

// attempt tries the statement of a session.
func (r *run) attempt(ctx context.Context, s *session) error {
	b := s.busy
	query := isQuery(b.text)
	res := r.execute(ctx, s, b.text, query)
	if res.Code != "BUSY" {
		return r.ended(ctx, s, res)
	}
	if b.waited {
		return nil
	}
	for range 3 { // a machine under load can delay an answer past the timeout, never hasten it
		start := time.Now()
		patient, err := r.patiently(ctx, s, b.text, query)
		if err != nil {
			return err
		}
		if patient.Code != "BUSY" || time.Since(start) < patience {
			return r.ended(ctx, s, patient)
		}
	}
	b.waited = true
	return nil
}

// patiently executes a statement with a busy timeout.
func (r *run) patiently(ctx context.Context, s *session, text string, query bool) (Result, error) {
	set := func(d time.Duration) error {
		_, err := s.conn.ExecContext(ctx, fmt.Sprintf("pragma busy_timeout = %d", d.Milliseconds()))
		return err
	}
	if err := set(patience); err != nil {
		return Result{}, err
	}
	res := r.execute(ctx, s, text, query)
	return res, set(0)
}

// endOfPatience ends the wait of the first session that waits.
func (r *run) endOfPatience(ctx context.Context) error {
	for _, s := range r.sessions {
		if b := s.busy; b != nil {
			return r.ended(ctx, s, r.execute(ctx, s, b.text, isQuery(b.text)))
		}
	}
	return nil
}
