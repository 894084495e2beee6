package main

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/relplan/relplan/deadline"
)

// admission is a client interceptor that retries Unavailable as long as another
// attempt fits the deadline of the call. An attempt that does not fit is never
// sent: it ends with DeadlineExceeded at once, which says the same to the
// caller as the attempt would have, only earlier.
func admission(p deadline.Policy) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		budget := deadline.FromContext(ctx, nil)
		var last error
		for k := int64(1); ; k++ {
			var wait time.Duration
			if k > 1 {
				_, wait = p.Waits.Wait(k - 1)
			}
			if a := budget.Check(ctx, wait, p.PerTry); !a.Admit { // before the wait, not after it
				return status.Errorf(codes.DeadlineExceeded, "attempt %d not sent: it needs %v and does not fit the deadline; last error: %v", k, a.Needed, status.Code(last))
			}
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return status.FromContextError(ctx.Err()).Err()
			}
			last = attempt(ctx, budget, p.PerTry, func(ctx context.Context) error {
				return invoke(ctx, method, req, reply, cc, opts...)
			})
			if !worthRetrying(last) || k >= p.Attempts {
				return last
			}
		}
	}
}

// attempt gives one attempt its own limit, which gRPC sends along as
// grpc-timeout: the server learns what is left.
func attempt(ctx context.Context, b deadline.Budget, perTry time.Duration, invoke func(context.Context) error) error {
	ctx, cancel := b.Child(perTry, 0).Context(ctx)
	defer cancel()
	return invoke(ctx)
}

func worthRetrying(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded:
		return true
	}
	return false
}
