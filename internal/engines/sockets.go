package engines

import (
	"context"
	"net"
	"sync"
)

// Sockets remembers the connections of a client, so that they can end without
// a goodbye.
type Sockets struct {
	mu    sync.Mutex
	conns []net.Conn
}

// Dial connects and remembers the connection.
func (s *Sockets) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err == nil {
		s.mu.Lock()
		s.conns = append(s.conns, c)
		s.mu.Unlock()
	}
	return c, err
}

// Cut closes every socket with a reset.
func (s *Sockets) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
	}
	s.conns = nil
}
