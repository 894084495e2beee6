package engines

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

const natsVersion = server.VERSION

// startNATS runs a JetStream server inside this process.
func startNATS(_ context.Context, l *launch) (*Server, error) {
	o := &server.Options{
		Host: "127.0.0.1", Port: l.port, JetStream: true, StoreDir: l.path("jetstream"),
		NoLog: true, NoSigs: true, Authorization: l.password, ServerName: "relplan",
	}
	s, err := server.NewServer(o)
	if err != nil {
		return nil, &Unavailable{NATS, err.Error()}
	}
	go s.Start()
	l.stopFunc = func() {
		s.Shutdown()
		s.WaitForShutdown()
	}
	if !s.ReadyForConnections(20 * time.Second) {
		return nil, &Unavailable{NATS, "the embedded server did not start within 20 s"}
	}
	return &Server{Kind: NATS, Version: server.VERSION, DSN: fmt.Sprintf("nats://%s@127.0.0.1:%d", l.password, l.port)}, nil
}

// OpenNATS connects to a NATS server.
func OpenNATS(dsn string) (*nats.Conn, error) {
	nc, err := nats.Connect(dsn, nats.Name("relplan"), nats.Timeout(5*time.Second), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		return nil, &Unavailable{NATS, err.Error()}
	}
	return nc, nil
}
