package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strconv"
	"strings"
	"sync"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/specs/ast"
	"github.com/relplan/relplan/specs/lower"
)

// stubSession is the HTTP client of one worker. Every request has a connection
// of its own: a client that keeps them may repeat a request by itself.
type stubSession struct {
	s      *stubResource
	client *http.Client
	dialer engines.Sockets
	paused *pausedCall // looked up, not yet executed
}

// pausedCall is a request that the provider has not finished.
type pausedCall struct {
	name   string
	answer chan ending
}

func (s *stubResource) connect(context.Context) (session, error) {
	x := &stubSession{s: s}
	x.client = &http.Client{Transport: &http.Transport{DialContext: x.dialer.Dial, DisableKeepAlives: true}}
	return x, nil
}

func (x *stubSession) take(context.Context, *ast.Trigger, *scope, *lower.Event) (Value, error) {
	return nil, fmt.Errorf("internal: nothing is taken from a provider")
}

func (x *stubSession) do(ctx context.Context, c *call) ending {
	switch {
	case c.fault == refused:
		return refusal()
	case c.step.Verb != ast.VerbCall:
		return failed(fmt.Errorf("%w: %s on a provider", errUnsupported, c.step.Verb))
	case x.paused != nil:
		return x.goOn(ctx, c.fault)
	}
	m := c.step.Method
	if m.Kind == ast.Find || m.Atomic || m.DedupBy == nil || c.fault == arrivesLate {
		r, err := x.request(ctx, c)
		if err != nil {
			return failed(err)
		}
		return x.send(r)
	}
	return x.startInTwoSteps(ctx, c)
}

// request is a call as HTTP.
func (x *stubSession) request(ctx context.Context, c *call) (*http.Request, error) {
	args, err := c.names.cells(c.step.Row)
	if err != nil {
		return nil, err
	}
	marks, err := marksOf(c.names, c.step)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, x.s.url+"/"+c.step.Method.Name, bytes.NewReader([]byte(encode(args))))
	if err != nil {
		return nil, err
	}
	for _, m := range marks {
		r.Header.Add(marksHeader, formatMark(m))
	}
	if word := faultWords[c.fault]; word != "" {
		r.Header.Set(faultHeader, word)
	}
	return r, nil
}

func (x *stubSession) send(r *http.Request) ending {
	res, err := x.client.Do(r)
	if err != nil {
		return lostOrFailed(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		return lostOrFailed(err)
	case res.StatusCode == http.StatusConflict:
		return ending{branch: ast.OnRefused, err: errors.New("409 refused")}
	case res.StatusCode != http.StatusOK:
		return failed(fmt.Errorf("%s: %s", res.Status, strings.TrimSpace(string(body))))
	}
	v, err := decode(string(body))
	if err != nil {
		return failed(err)
	}
	return ending{done: true, value: v}
}

// startInTwoSteps sends a request that the provider interrupts between look-up
// and execution, and returns at the interruption.
func (x *stubSession) startInTwoSteps(ctx context.Context, c *call) ending {
	r, err := x.request(context.WithoutCancel(ctx), c)
	if err != nil {
		return failed(err)
	}
	p := &pausedCall{name: freshToken(), answer: make(chan ending, 1)}
	r.Header.Set(pauseHeader, p.name)
	lookedUp := make(chan struct{})
	var once sync.Once
	r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		Got1xxResponse: func(int, textproto.MIMEHeader) error { once.Do(func() { close(lookedUp) }); return nil },
	}))
	go func() { p.answer <- x.send(r) }()
	select {
	case e := <-p.answer:
		return e
	case <-lookedUp:
		x.paused = p
		return ending{done: true, stays: true}
	case <-ctx.Done():
		return lostOrFailed(ctx.Err())
	}
}

// goOn lets the interrupted request be executed.
func (x *stubSession) goOn(ctx context.Context, f fault) ending {
	p := x.paused
	x.paused = nil
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, x.s.url+"/", nil)
	if err != nil {
		return failed(err)
	}
	r.Header.Set(resumeHeader, p.name)
	r.Header.Set(faultHeader, faultWords[f])
	res, err := x.client.Do(r)
	if err != nil {
		return failed(err)
	}
	_ = res.Body.Close()
	select {
	case e := <-p.answer:
		return e
	case <-ctx.Done():
		return lostOrFailed(ctx.Err())
	}
}

func (x *stubSession) end(context.Context) error { return nil }

func (x *stubSession) cut() {
	x.dialer.Cut()
	x.paused = nil
}

// formatMark is an effect as a header says it.
func formatMark(m mark) string { return fmt.Sprintf("%s %s %d", m.effect, m.op, m.n) }

func parseMarks(lines []string) ([]mark, error) {
	var out []mark
	for _, l := range lines {
		if l == "" {
			continue
		}
		words := strings.Fields(l)
		if len(words) != 3 {
			return nil, fmt.Errorf("%q is no effect, operation and number", l)
		}
		n, err := strconv.Atoi(words[2])
		if err != nil {
			return nil, err
		}
		out = append(out, mark{words[0], words[1], n})
	}
	return out, nil
}
