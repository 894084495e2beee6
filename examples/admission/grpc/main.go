// Command grpc shows a client that does not send the attempt which does not
// fit: the server's hit counter stays at one.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/relplan/relplan/deadline"
)

const (
	budget  = 300 * time.Millisecond
	service = 150 * time.Millisecond
	backoff = 80 * time.Millisecond
)

// slow takes its time and is unavailable; it counts its hits.
type slow struct {
	health.UnimplementedHealthServer
	hits atomic.Int64
	fail int64 // hits that fail
}

func (s *slow) Check(context.Context, *health.HealthCheckRequest) (*health.HealthCheckResponse, error) {
	if s.hits.Add(1) > s.fail {
		return &health.HealthCheckResponse{Status: health.HealthCheckResponse_SERVING}, nil
	}
	time.Sleep(service)
	return nil, status.Error(codes.Unavailable, "down")
}

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(w io.Writer) error {
	s := &slow{fail: 1 << 62}
	addr, stop, err := serve(s)
	if err != nil {
		return err
	}
	defer stop()

	err = check(addr, budget, admission(deadline.Policy{Attempts: 3, PerTry: service, Waits: deadline.Backoff{Base: backoff}}))
	if status.Code(err) != codes.DeadlineExceeded || !strings.Contains(err.Error(), "attempt 2 not sent") {
		return fmt.Errorf("expected a refusal, got %v", err)
	}
	fmt.Fprintf(w, "asks first:    %d hit,  the second attempt was refused before it was sent\n", s.hits.Load())

	s.hits.Store(0)
	start := time.Now()
	for k := range 2 {
		if k > 0 {
			time.Sleep(backoff)
		}
		_ = check(addr, time.Minute, nil)
	}
	late := "in time"
	if time.Since(start) > budget {
		late = "after the deadline, for nobody"
	}
	fmt.Fprintf(w, "does not ask:  %d hits, the second answer came %s\n", s.hits.Load(), late)
	return nil
}

// serve starts a server on a free local port.
func serve(s health.HealthServer) (addr string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := grpc.NewServer()
	health.RegisterHealthServer(server, s)
	go func() { _ = server.Serve(l) }()
	return l.Addr().String(), server.Stop, nil
}

// check makes one call with a deadline.
func check(addr string, total time.Duration, i grpc.UnaryClientInterceptor) error {
	opts := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDisableRetry()}
	if i != nil {
		opts = append(opts, grpc.WithUnaryInterceptor(i))
	}
	conn, err := grpc.NewClient(addr, opts...)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.Connect() // so that the deadline is spent on the call and not on the connection
	for s := conn.GetState(); s != connectivity.Ready; s = conn.GetState() {
		conn.WaitForStateChange(context.Background(), s)
	}
	ctx, cancel := context.WithTimeout(context.Background(), total)
	defer cancel()
	_, err = health.NewHealthClient(conn).Check(ctx, &health.HealthCheckRequest{})
	return err
}
