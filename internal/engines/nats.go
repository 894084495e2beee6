package engines

import (
	"context"
	"fmt"
	"net"
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

// NATSConn is a connection to a NATS server.
type NATSConn struct {
	*nats.Conn
	sockets Sockets
}

// OpenNATS connects to a NATS server, and again whenever the connection breaks.
func OpenNATS(dsn string) (*NATSConn, error) {
	return openNATS(dsn, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
}

// OpenNATSOnce connects to a NATS server; a connection that breaks stays broken.
func OpenNATSOnce(dsn string) (*NATSConn, error) { return openNATS(dsn, nats.NoReconnect()) }

func openNATS(dsn string, o ...nats.Option) (*NATSConn, error) {
	c := &NATSConn{}
	var err error
	// What happens to a connection in the background is for its next user to see,
	// not for standard error, where the client writes it without a handler.
	ignore := nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})
	c.Conn, err = nats.Connect(dsn, append(o, ignore, nats.Name("relplan"), nats.Timeout(5*time.Second), nats.SetCustomDialer(c))...)
	if err != nil {
		return nil, &Unavailable{NATS, err.Error()}
	}
	return c, nil
}

// Dial is for the driver.
func (c *NATSConn) Dial(network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return c.sockets.Dial(ctx, network, addr)
}

// Cut closes the socket as a crash would, without a goodbye.
func (c *NATSConn) Cut() { c.sockets.Cut() }
