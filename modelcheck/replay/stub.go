package replay

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

// stubResource is a provider: a real HTTP server on the loopback address, with
// its own ledger. In a worker's process it is the address only.
//
// POST /METHOD carries the arguments as an encoded record and gets 200 with an
// encoded receipt, record or none, or 409 where the provider refuses. What the
// network does to a request stands in its headers: there is no other place where
// a fault could be injected between an executed request and its answer.
type stubResource struct {
	spec *ast.Spec
	r    *ast.Resource
	url  string

	ledger *ledger // nil in a worker's process
	server *http.Server
	ended  chan struct{}

	mu     sync.Mutex
	paused map[string]chan string // between look-up and execution, by the caller's name for it
}

// Headers of a request to the stub.
const (
	faultHeader  = "Relplan-Fault"  // one of the faults below
	marksHeader  = "Relplan-Effect" // of the calling step
	pauseHeader  = "Relplan-Pause"  // its name: stop between look-up and execution
	resumeHeader = "Relplan-Resume" // the name of the request that goes on
)

// faultWords are the faults as headers say them.
var faultWords = map[fault]string{noFault: "", answerLost: "answer lost", requestLost: "request lost", arrivesLate: "arrives late"}

// openStub starts the server, or, with an address, only reaches it.
func openStub(ctx context.Context, spec *ast.Spec, r *ast.Resource, b binding) (resource, error) {
	s := &stubResource{spec: spec, r: r, url: b.DSN, paused: map[string]chan string{}}
	if s.url != "" {
		return s, nil
	}
	var err error
	if s.ledger, err = openLedger(ctx, r); err != nil {
		return nil, err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, s.ledger.close(ctx))
	}
	s.url = "http://" + ln.Addr().String()
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: 5 * time.Second}
	s.ended = make(chan struct{})
	go func() {
		defer close(s.ended)
		_ = s.server.Serve(ln) // ends with Close
	}()
	return s, nil
}

func (s *stubResource) engine() string { return "stub (HTTP, ledger in SQLite)" }

// address is what the binding of a worker's process needs.
func (s *stubResource) address() string { return s.url }

// boundary says what the stub is not.
func (s *stubResource) boundary() []string {
	return []string{fmt.Sprintf("%s is a stub with the behaviour that the spec states: it says nothing about a real provider", s.r.Name)}
}

func (s *stubResource) reset(ctx context.Context) error { return s.ledger.reset(ctx) }

func (s *stubResource) close(ctx context.Context) error {
	if s.server == nil {
		return nil
	}
	err := s.server.Close()
	<-s.ended
	return errors.Join(err, s.ledger.close(ctx))
}

func (s *stubResource) effects(ctx context.Context, e *ast.Effect) (map[string]int, error) {
	return s.ledger.effects(ctx, e)
}

// namesOperation says whether a value is that of an operation, which no fresh
// one is.
func namesOperation(spec *ast.Spec, v Value) bool {
	return slices.ContainsFunc(spec.Operations, func(o *ast.Operation) bool {
		for i := range o.Count {
			if v == opName(o, i) {
				return true
			}
		}
		return false
	})
}

// happen carries out what the provider does by itself.
func (s *stubResource) happen(ctx context.Context, e *lower.Event) error {
	m := e.Of.Method
	agree := func(args Record) bool {
		for name, v := range e.Of.Fields {
			_, fresh := v.(lower.FreshID)
			if !agrees(v, args[name]) || fresh && namesOperation(s.spec, args[name]) {
				return false
			}
		}
		return true
	}
	change := func(table, where, text string) error {
		return s.ledger.atomically(ctx, func(tx *sql.Tx) error {
			all, err := s.ledger.matching(ctx, tx, table, m, agree)
			if err != nil {
				return err
			}
			for _, no := range all {
				res, err := tx.ExecContext(ctx, text+" where no = ?"+where, no)
				if err != nil {
					return err
				}
				if n, err := res.RowsAffected(); n > 0 || err != nil {
					return err
				}
			}
			return fmt.Errorf("%s: no record of %s like %v", s.r.Name, m.Name, e.Of.Fields)
		})
	}
	switch e.What {
	case lower.BecomesVisible:
		return change("records", " and not visible", "update records set visible = 1")
	case lower.KeyForgotten:
		return change("records", "", "delete from records")
	case lower.LateRequest:
		return s.arrive(ctx, m, agree)
	}
	return fmt.Errorf("%w: %q at a provider", errUnsupported, e.What)
}

// arrive lets a request that is under way reach the provider.
func (s *stubResource) arrive(ctx context.Context, m *ast.Method, agree func(Record) bool) error {
	q := &request{method: m}
	err := s.ledger.atomically(ctx, func(tx *sql.Tx) error {
		all, err := s.ledger.matching(ctx, tx, "under_way", m, agree)
		if err != nil {
			return err
		}
		if len(all) == 0 {
			return fmt.Errorf("%s: no request %s like that of the model is under way", s.r.Name, m.Name)
		}
		var args, marks string
		if err := tx.QueryRowContext(ctx, "select args, marks from under_way where no = ?", all[0]).Scan(&args, &marks); err != nil {
			return err
		}
		v, err := decode(args)
		if err != nil {
			return err
		}
		q.args, _ = v.(Record)
		if q.marks, err = parseMarks(strings.Split(marks, "\n")); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "delete from under_way where no = ?", all[0])
		return err
	})
	if err != nil {
		return err
	}
	_, err = s.ledger.handle(ctx, q)
	return err
}

// ServeHTTP is the provider.
func (s *stubResource) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if name := r.Header.Get(resumeHeader); name != "" {
		s.resume(name, r.Header.Get(faultHeader))
		return
	}
	q, err := s.read(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	switch r.Header.Get(faultHeader) {
	case faultWords[requestLost]:
		hangUp(w)
		return
	case faultWords[arrivesLate]:
		if err := s.ledger.hold(r.Context(), q, strings.Join(r.Header.Values(marksHeader), "\n")); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		hangUp(w)
		return
	}
	a, how, err := s.serve(w, r, q)
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	case how == faultWords[answerLost] || how == faultWords[requestLost]:
		hangUp(w)
	case a.refused:
		http.Error(w, "refused", http.StatusConflict)
	default:
		_, _ = io.WriteString(w, encode(a.body))
	}
}

func (s *stubResource) read(r *http.Request) (*request, error) {
	q := &request{}
	for _, m := range s.r.Provider.Methods {
		if "/"+m.Name == r.URL.Path {
			q.method = m
		}
	}
	if q.method == nil || r.Method != http.MethodPost {
		return nil, fmt.Errorf("%s %s: expected POST to a method of %s", r.Method, r.URL.Path, s.r.Name)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	v, err := decode(string(body))
	if err != nil {
		return nil, err
	}
	var ok bool
	if q.args, ok = v.(Record); !ok {
		return nil, fmt.Errorf("%q is no record of arguments", body)
	}
	q.marks, err = parseMarks(r.Header.Values(marksHeader))
	return q, err
}

// serve answers a request. A provider that is not atomic looks the key up and
// executes in two steps, between which others get in.
func (s *stubResource) serve(w http.ResponseWriter, r *http.Request, q *request) (answer, string, error) {
	ctx := context.WithoutCancel(r.Context()) // a client that hangs up stops nothing
	how := r.Header.Get(faultHeader)
	if q.method.Kind == ast.Find || q.method.Atomic || q.method.DedupBy == nil {
		a, err := s.ledger.handle(ctx, q)
		return a, how, err
	}
	var a answer
	known := false
	err := s.ledger.atomically(ctx, func(tx *sql.Tx) (err error) {
		known, a, err = s.ledger.lookUp(ctx, tx, q)
		return err
	})
	if err != nil || known {
		return a, how, err
	}
	if name := r.Header.Get(pauseHeader); name != "" {
		var dropped bool
		if how, dropped = s.pause(w, r, name); dropped || how == faultWords[requestLost] {
			return a, faultWords[requestLost], nil
		}
	}
	err = s.ledger.atomically(ctx, func(tx *sql.Tx) (err error) {
		a, err = s.ledger.execute(ctx, tx, q)
		return err
	})
	return a, how, err
}

// pause tells the caller that the key was looked up and waits until the schedule
// lets the request go on, or until the caller is gone.
func (s *stubResource) pause(w http.ResponseWriter, r *http.Request, name string) (how string, dropped bool) {
	goOn := make(chan string, 1)
	s.mu.Lock()
	s.paused[name] = goOn
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.paused, name)
		s.mu.Unlock()
	}()
	w.WriteHeader(http.StatusEarlyHints)
	select {
	case how = <-goOn:
		return how, false
	case <-r.Context().Done():
		return "", true
	}
}

func (s *stubResource) resume(name, how string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.paused[name]; c != nil {
		select {
		case c <- how:
		default: // it goes on already
		}
	}
}

// hangUp ends the connection without an answer.
func hangUp(w http.ResponseWriter) {
	h, ok := w.(http.Hijacker)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	c, _, err := h.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}
