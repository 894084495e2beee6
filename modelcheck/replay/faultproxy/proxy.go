// Package faultproxy stands between a client and a database server, reads the
// wire protocol, and makes exactly one chosen statement fail as networks make
// statements fail: the answer is lost, the request is lost, or the request
// arrives late. It recognises statements by their whole text in the protocol's
// own messages, never by bytes that happen to look like one.
package faultproxy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
)

// Protocol of the connection.
type Protocol uint8

// Protocols.
const (
	MySQL Protocol = iota
	Postgres
	Redis
)

// Fault is what happens to the chosen statement.
type Fault uint8

// Faults.
const (
	// LoseAnswer forwards the request, waits until the server has finished it,
	// and cuts the client without passing anything on.
	LoseAnswer Fault = iota
	// LoseRequest cuts the client and forwards nothing.
	LoseRequest
	// Hold cuts the client and keeps the request until Shot.Release.
	Hold
)

// Match tells whether a statement is the chosen one. Redis commands are given
// as their words joined by spaces.
type Match func(statement string) bool

// Exactly matches the whole text, whatever its case, white space at the ends
// and a closing semicolon.
func Exactly(text string) Match {
	norm := func(s string) string { return strings.ToLower(strings.Trim(s, " \t\r\n;")) }
	want := norm(text)
	return func(s string) bool { return norm(s) == want }
}

// Proxy accepts connections on a loopback port and passes them on.
type Proxy struct {
	protocol Protocol
	upstream string
	ln       net.Listener
	mu       sync.Mutex
	armed    []*Shot
	conns    map[*conn]bool
	closed   bool
	wg       sync.WaitGroup
}

// Shot is one armed fault: it hits the first matching statement.
type Shot struct {
	match   Match
	fault   Fault
	hit     chan struct{} // closed when a statement matched
	done    chan struct{} // closed when the fault is complete
	release chan struct{} // closed by Release
	once    sync.Once
	text    string
	err     error
}

// Listen starts a proxy for the server at upstream ("host:port").
func Listen(protocol Protocol, upstream string) (*Proxy, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{protocol: protocol, upstream: upstream, ln: ln, conns: map[*conn]bool{}}
	p.wg.Add(1)
	go p.accept()
	return p, nil
}

// Addr is the proxy's own "host:port".
func (p *Proxy) Addr() string { return p.ln.Addr().String() }

// Arm lets the next matching statement on any connection suffer the fault.
func (p *Proxy) Arm(m Match, f Fault) *Shot {
	s := &Shot{match: m, fault: f, hit: make(chan struct{}), done: make(chan struct{}), release: make(chan struct{})}
	p.mu.Lock()
	p.armed = append(p.armed, s)
	p.mu.Unlock()
	return s
}

// Hit is closed when a statement matched.
func (s *Shot) Hit() <-chan struct{} { return s.hit }

// Done is closed when the fault is complete: the answer was swallowed, the
// request dropped, or the held request executed after Release.
func (s *Shot) Done() <-chan struct{} { return s.done }

// Statement is the text that was hit, once Hit is closed.
func (s *Shot) Statement() string { return s.text }

// Err says why the server could not be reached or did not finish; read it after
// Done.
func (s *Shot) Err() error { return s.err }

// Release sends a held request to the server. It has no effect on other faults.
func (s *Shot) Release() { s.once.Do(func() { close(s.release) }) }

// Disarm takes back a shot that has not hit; it reports whether it was in time.
func (p *Proxy) Disarm(s *Shot) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, a := range p.armed {
		if a == s {
			p.armed = append(p.armed[:i], p.armed[i+1:]...)
			return true
		}
	}
	return false
}

// Redirect sends new connections to another server and cuts those that there
// are.
func (p *Proxy) Redirect(upstream string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.upstream = upstream
	for c := range p.conns {
		c.cutBoth()
	}
}

// aim finds and removes the first armed shot that matches.
func (p *Proxy) aim(statement string) *Shot {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, s := range p.armed {
		if s.match(statement) {
			p.armed = append(p.armed[:i:i], p.armed[i+1:]...)
			s.text = statement
			close(s.hit)
			return s
		}
	}
	return nil
}

// Close stops accepting and cuts every connection.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	for c := range p.conns {
		c.cutBoth()
	}
	p.mu.Unlock()
	err := p.ln.Close()
	p.wg.Wait()
	return err
}

func (p *Proxy) accept() {
	defer p.wg.Done()
	for {
		client, err := p.ln.Accept()
		if err != nil {
			return
		}
		p.wg.Add(1)
		go func() {
			defer p.wg.Done()
			p.serve(client)
		}()
	}
}

func (p *Proxy) serve(client net.Conn) {
	p.mu.Lock()
	upstream := p.upstream
	p.mu.Unlock()
	server, err := net.Dial("tcp", upstream)
	if err != nil {
		_ = client.Close()
		return
	}
	c := &conn{proxy: p, client: client, server: server, fromClient: bufio.NewReader(client), fromServer: bufio.NewReader(server)}
	p.mu.Lock()
	p.conns[c] = true
	if p.closed || p.upstream != upstream {
		c.cutBoth()
	}
	p.mu.Unlock()
	defer func() {
		c.cutBoth()
		p.mu.Lock()
		delete(p.conns, c)
		p.mu.Unlock()
	}()
	switch p.protocol {
	case MySQL:
		c.serve(&mysqlSide{conn: c, prepared: map[uint32]string{}})
	case Postgres:
		c.serve(&postgresSide{conn: c, statements: map[string]string{}, portals: map[string]string{}})
	case Redis:
		c.serve(&redisSide{conn: c})
	}
}

// side knows one protocol.
type side interface {
	// request reads one message of the client; statement is "" when it runs none.
	request() (message []byte, statement string, err error)
	// answer reads one message of the server; complete tells that the answer to
	// everything forwarded so far has ended with it.
	answer() (message []byte, complete bool, err error)
	// sent is called before a message is forwarded.
	sent(message []byte)
	// flush is what completes the message sent last when the client can send no
	// more.
	flush() []byte
}

// conn is one client with its connection to the server.
type conn struct {
	proxy                  *Proxy
	client, server         net.Conn
	fromClient, fromServer *bufio.Reader

	mu      sync.Mutex
	swallow *Shot // answers go nowhere; complete when the server has finished
}

func (c *conn) cutBoth() {
	cut(c.client)
	_ = c.server.Close()
}

// cut closes with a reset, as a broken network does.
func cut(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

func (c *conn) serve(s side) {
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		c.answers(s)
	}()
	c.requests(s)
	<-finished
}

// requests passes on what the client sends until it ends or is hit.
func (c *conn) requests(s side) {
	for {
		msg, statement, err := s.request()
		if err != nil {
			c.clientGone()
			return
		}
		var shot *Shot
		if statement != "" {
			shot = c.proxy.aim(statement)
		}
		if shot == nil {
			s.sent(msg)
			if _, err := c.server.Write(msg); err != nil {
				cut(c.client)
				return
			}
			continue
		}
		if c.fire(s, shot, msg) {
			return
		}
	}
}

// clientGone tells the server that the client hung up, unless a swallowed
// answer is still awaited.
func (c *conn) clientGone() {
	c.mu.Lock()
	waiting := c.swallow != nil
	c.mu.Unlock()
	if !waiting {
		_ = c.server.Close()
	}
}

// fire carries out the fault; it reports whether the connection is over for
// the client's side.
func (c *conn) fire(s side, shot *Shot, msg []byte) bool {
	switch shot.fault {
	case LoseRequest:
		c.cutBoth()
		close(shot.done)
		return true
	case Hold:
		cut(c.client)
		<-shot.release
	}
	c.mu.Lock()
	c.swallow = shot
	c.mu.Unlock()
	s.sent(msg)
	if shot.fault == Hold {
		msg = append(msg, s.flush()...)
	}
	if _, err := c.server.Write(msg); err != nil {
		c.finish(shot, fmt.Errorf("sending to the server: %w", err))
		return true
	}
	// after a lost answer, what follows the statement (a Sync) is still forwarded
	return shot.fault == Hold
}

func (c *conn) finish(shot *Shot, err error) {
	shot.err = err
	c.cutBoth()
	select {
	case <-shot.done:
	default:
		close(shot.done)
	}
}

// answers passes on what the server sends, or swallows it.
func (c *conn) answers(s side) {
	for {
		msg, complete, err := s.answer()
		c.mu.Lock()
		shot := c.swallow
		c.mu.Unlock()
		switch {
		case err != nil && shot != nil:
			c.finish(shot, fmt.Errorf("the server hung up before it finished: %w", err))
			return
		case err != nil:
			cut(c.client)
			return
		case shot != nil && complete:
			c.finish(shot, nil)
			return
		case shot != nil:
			continue
		}
		if _, err := c.client.Write(msg); err != nil {
			_ = c.server.Close()
			return
		}
	}
}

var errTooLong = errors.New("message is longer than 64 MiB")

const maxMessage = 64 << 20

// take reads n bytes behind head.
func take(r io.Reader, head []byte, n int) ([]byte, error) {
	if n < 0 || n > maxMessage {
		return nil, errTooLong
	}
	msg := make([]byte, len(head)+n)
	copy(msg, head)
	_, err := io.ReadFull(r, msg[len(head):])
	return msg, err
}
