package anomaly

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/relplan/relplan/internal/engines"
)

// Result is what became of one statement of a schedule.
type Result struct {
	Session string
	Line    int    // of the schedule
	Text    string // as it was sent
	Skipped bool   // the transaction was over already
	Waited  bool   // the engine said that it waits for another session
	Rows    int64  // affected
	Value   any    // the first column of the first row, nil if there is none
	Failure engines.Failure
	Code    string // of the engine; "" if it succeeded
	Err     error
}

// Observation is one run of a schedule.
type Observation struct {
	Happened bool
	Results  []Result // in the order in which they ended
}

// deadline ends a statement that the engine neither answers nor reports as
// waiting, and a wait that the engine never ends.
const deadline = 20 * time.Second

// answer is a value that a statement gave.
type answer struct {
	value any
	tx    int // of the session; 0 outside a transaction
}

// session is one connection.
type session struct {
	name    string
	conn    *sql.Conn
	id      int64
	tx      int  // number of its transaction
	open    bool // in a transaction
	skip    bool // its transaction failed: what follows until the next begin is left out
	doomed  bool // its transaction can only be rolled back, whatever COMMIT answers
	busy    *pending
	backlog []line
	kept    map[int]bool // transactions that committed
	waited  bool
	refused bool
}

// pending is a statement that has been sent.
type pending struct {
	line   line
	text   string
	waited bool
	done   chan Result
}

type run struct {
	c        *Case
	p        Profile
	db       *engines.DB
	watch    *sql.Conn // asks who waits
	observer *sql.Conn
	sessions []*session
	answers  map[string]answer
	from     map[string]*session
	results  []Result
}

// Run plays the schedule of a case on the database, which it fills with tables
// of its own. The connections go back to the pool; after an error they may have
// open transactions, and the pool should be closed.
func Run(ctx context.Context, db *engines.DB, p Profile, c *Case) (*Observation, error) {
	setup, steps := c.steps(p)
	return play(ctx, db, p, c, setup, steps)
}

func play(ctx context.Context, db *engines.DB, p Profile, c *Case, setup, steps []line) (obs *Observation, err error) {
	r := &run{c: c, p: p, db: db, answers: map[string]answer{}, from: map[string]*session{}}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.open(ctx, steps); err != nil {
		return nil, err
	}
	if err := r.setUp(ctx, setup); err != nil {
		return nil, err
	}
	for _, l := range steps {
		if err := r.turn(ctx, l); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", c.Name, l.no, err)
		}
	}
	if err := r.drain(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", c.Name, err)
	}
	happened, err := r.ask(ctx)
	return &Observation{happened, r.results}, err
}

// open connects the observer and a connection per session.
func (r *run) open(ctx context.Context, steps []line) (err error) {
	if r.observer, err = r.db.Conn(ctx); err != nil {
		return err
	}
	if r.watch, err = r.db.Conn(ctx); err != nil {
		return err
	}
	for _, l := range steps {
		if r.session(l.key) != nil {
			continue
		}
		s := &session{name: l.key, kept: map[int]bool{}}
		if s.conn, err = r.db.Conn(ctx); err != nil {
			return err
		}
		for _, text := range r.p.session {
			if _, err := s.conn.ExecContext(ctx, text); err != nil {
				return &engines.Unavailable{Kind: r.db.Kind, Reason: text + ": " + err.Error()}
			}
		}
		if s.id, err = engines.SessionID(ctx, r.db.Kind, s.conn); err != nil {
			return err
		}
		r.sessions = append(r.sessions, s)
	}
	return nil
}

// setUp makes the tables anew and fills them.
func (r *run) setUp(ctx context.Context, setup []line) error {
	for _, l := range setup {
		texts := []string{l.text}
		if name, ok := strings.CutPrefix(l.text, "create table "); ok {
			name, _, _ = strings.Cut(name, " ")
			texts = []string{"drop table if exists " + name, l.text}
		}
		for _, text := range texts {
			if _, err := r.observer.ExecContext(ctx, text); err != nil {
				return fmt.Errorf("%s:%d: %w", r.c.Name, l.no, err)
			}
		}
	}
	return nil
}

func (r *run) close() error {
	var errs []error
	for _, c := range []*sql.Conn{r.observer, r.watch} {
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	for _, s := range r.sessions {
		errs = append(errs, s.conn.Close())
	}
	return errors.Join(errs...)
}

func (r *run) session(name string) *session {
	for _, s := range r.sessions {
		if s.name == name {
			return s
		}
	}
	return nil
}

// turn gives the turn to one line. A session whose statement still waits gets
// the line later.
func (r *run) turn(ctx context.Context, l line) error {
	s := r.session(l.key)
	if s.busy != nil {
		s.backlog = append(s.backlog, l)
		return nil
	}
	if err := r.send(ctx, s, l); err != nil {
		return err
	}
	return r.settle(ctx)
}

// settle lets sessions that no longer wait go on with what they have missed.
func (r *run) settle(ctx context.Context) error {
	for moved := true; moved; {
		moved = false
		for _, s := range r.sessions {
			if s.busy != nil {
				if err := r.await(ctx, s); err != nil {
					return err
				}
			}
			if s.busy == nil && len(s.backlog) > 0 {
				next := s.backlog[0]
				s.backlog = s.backlog[1:]
				if err := r.send(ctx, s, next); err != nil {
					return err
				}
				moved = true
			}
		}
	}
	return nil
}

// drain waits until the engine has ended every wait, then ends transactions
// that a schedule left open.
func (r *run) drain(ctx context.Context) error {
	end := time.Now().Add(deadline)
	for r.anyBusy() {
		if r.db.Kind == engines.SQLite {
			if err := r.endOfPatience(ctx); err != nil { // nobody will make room: the first to wait gives up
				return err
			}
		}
		if err := r.settle(ctx); err != nil {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("the engine has not ended a wait within %s", deadline)
		}
		time.Sleep(time.Millisecond)
	}
	for _, s := range r.sessions {
		if s.open {
			r.rollback(ctx, s)
		}
	}
	return nil
}

func (r *run) anyBusy() bool {
	for _, s := range r.sessions {
		if s.busy != nil || len(s.backlog) > 0 {
			return true
		}
	}
	return false
}

// send sends a line and returns when it has ended or waits.
func (r *run) send(ctx context.Context, s *session, l line) error {
	text := r.fill(l.text)
	if text == "begin" {
		text, s.skip = r.p.begin, false
	}
	if s.skip {
		r.results = append(r.results, Result{Session: s.name, Line: l.no, Text: text, Skipped: true})
		return nil
	}
	s.busy = &pending{line: l, text: text, done: make(chan Result, 1)}
	if r.db.Kind == engines.SQLite {
		return r.await(ctx, s)
	}
	go func(b *pending, query bool) { b.done <- r.execute(ctx, s, b.text, query) }(s.busy, isQuery(text))
	return r.await(ctx, s)
}

// execute sends one statement and takes its answer.
func (r *run) execute(ctx context.Context, s *session, text string, query bool) Result {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	res := Result{Session: s.name, Text: text}
	if query {
		res.Value, res.Err = first(s.conn.QueryContext(ctx, text))
	} else {
		var done sql.Result
		if done, res.Err = s.conn.ExecContext(ctx, text); res.Err == nil {
			res.Rows, _ = done.RowsAffected()
		}
	}
	if res.Err != nil {
		res.Failure, res.Code = engines.Classify(res.Err), engines.Code(res.Err)
	}
	return res
}

func isQuery(text string) bool { return strings.HasPrefix(text, "select") }

// first is the first column of the first row, nil if there is none.
func first(rows *sql.Rows, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var v any
	if rows.Next() {
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
	}
	if b, ok := v.([]byte); ok {
		v = string(b)
	}
	return v, errors.Join(rows.Err(), rows.Close())
}

// await returns once the statement of a session has ended, or the engine says
// that it waits.
func (r *run) await(ctx context.Context, s *session) error {
	if r.db.Kind == engines.SQLite {
		return r.attempt(ctx, s)
	}
	end := time.Now().Add(deadline)
	for pause := 200 * time.Microsecond; ; pause = min(2*pause, 10*time.Millisecond) {
		select {
		case res := <-s.busy.done:
			return r.ended(ctx, s, res)
		case <-time.After(pause):
		}
		waits, err := engines.WaitsForLock(ctx, r.db.Kind, r.watch, s.id)
		switch {
		case err != nil:
			return err
		case waits:
			s.busy.waited = true
			return nil
		case time.Now().After(end):
			return fmt.Errorf("%s: neither answered nor waiting for %s", s.busy.text, deadline)
		}
	}
}

// ended records a result and what follows from it for the session.
func (r *run) ended(ctx context.Context, s *session, res Result) error {
	b := s.busy
	s.busy = nil
	res.Waited, res.Line = b.waited, b.line.no
	r.results = append(r.results, res)
	s.waited = s.waited || res.Waited
	switch {
	case res.Err != nil && res.Code == "":
		return fmt.Errorf("%s: %w", res.Text, res.Err)
	case res.Err != nil:
		s.refused = true
		if !b.line.try {
			s.skip = s.open || b.line.text == "begin"
			r.rollback(ctx, s)
		}
		s.doomed = b.line.try && s.open && r.db.Kind == engines.Postgres
		return nil
	case b.line.text == "begin":
		s.open, s.doomed = true, false
		s.tx++
	case b.text == "commit":
		s.open, s.kept[s.tx] = false, !s.doomed
	case b.text == "rollback":
		s.open = false
	}
	if b.line.name != "" {
		r.answers[b.line.name] = r.answerOf(s, res, b)
		r.from[b.line.name] = s
	}
	return nil
}

func (r *run) answerOf(s *session, res Result, b *pending) answer {
	a := answer{value: res.Value}
	if !isQuery(b.text) {
		a.value = res.Rows
	}
	if s.open {
		a.tx = s.tx
	}
	return a
}

// rollback ends a failed transaction. Some failures have ended it already, so
// an error of the rollback says nothing.
func (r *run) rollback(ctx context.Context, s *session) {
	s.open = false
	_, _ = s.conn.ExecContext(ctx, "rollback")
}

// fill replaces {x} by what x holds, during the run.
func (r *run) fill(text string) string {
	for name, a := range r.answers {
		text = strings.ReplaceAll(text, "{"+name+"}", literal(a.value))
	}
	return text
}

// ask evaluates the question after the last transaction. What a transaction
// read that did not commit counts as never read.
func (r *run) ask(ctx context.Context) (bool, error) {
	text, err := r.c.condition(r.p)
	if err != nil {
		return false, err
	}
	for name, a := range r.answers {
		if a.tx > 0 && !r.from[name].kept[a.tx] {
			a.value = nil
		}
		text = strings.ReplaceAll(text, "{"+name+"}", literal(a.value))
	}
	for _, s := range r.sessions {
		text = strings.ReplaceAll(text, "{"+s.name+"}", bit(s.kept[s.tx]))
		text = strings.ReplaceAll(text, "{"+s.name+".waited}", bit(s.waited))
		text = strings.ReplaceAll(text, "{"+s.name+".refused}", bit(s.refused))
	}
	text = openName.ReplaceAllString(text, "null") // never answered
	var n int
	if err := r.observer.QueryRowContext(ctx, "select case when "+text+" then 1 else 0 end").Scan(&n); err != nil {
		return false, fmt.Errorf("%s: happened: %s: %w", r.c.Name, text, err)
	}
	return n == 1, nil
}

var openName = regexp.MustCompile(`\{[A-Za-z0-9.]+\}`)

func bit(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// literal is a value as SQL.
func literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case int64:
		return strconv.FormatInt(v, 10)
	case string:
		if _, err := strconv.ParseInt(v, 10, 64); err == nil {
			return v
		}
		return "'" + strings.ReplaceAll(v, "'", "''") + "'"
	}
	return fmt.Sprint(v)
}
