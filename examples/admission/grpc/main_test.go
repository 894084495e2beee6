package main

import (
	"bytes"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/relplan/relplan/deadline"
)

func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(&out); err != nil {
		t.Fatal(err)
	}
	want := `asks first:    1 hit,  the second attempt was refused before it was sent
does not ask:  2 hits, the second answer came after the deadline, for nobody
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestAdmission(t *testing.T) {
	s := &slow{fail: 2}
	addr, stop, err := serve(s)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	p := deadline.Policy{Attempts: 5, PerTry: time.Hour, Waits: deadline.Backoff{Base: time.Millisecond}}
	if err := check(addr, time.Minute, admission(p)); status.Code(err) != codes.DeadlineExceeded || s.hits.Load() != 0 {
		t.Errorf("an attempt of an hour in a minute: %v, %d hits; want a refusal and none", err, s.hits.Load())
	}
	p.PerTry = 10 * time.Second
	if err := check(addr, time.Minute, admission(p)); err != nil || s.hits.Load() != 3 {
		t.Errorf("%v, %d hits; want success at the third", err, s.hits.Load())
	}
}
