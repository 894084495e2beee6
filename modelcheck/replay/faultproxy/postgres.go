package faultproxy

import (
	"bytes"
	"encoding/binary"
	"io"
	"sync"
)

// postgresSide reads the PostgreSQL protocol, version 3: after the startup
// packet every message is a type byte, a length and a body. A statement runs by
// a Query message, or by Execute of a portal that Bind made from a statement
// that Parse prepared. Its work is finished, and with autocommit durable, at
// the ReadyForQuery that answers the Query or the Sync behind the Execute.
//
// Source: PostgreSQL manual, "Frontend/Backend Protocol".
type postgresSide struct {
	*conn
	started    bool
	statements map[string]string // prepared statement -> text; client side only
	portals    map[string]string // portal -> text

	mu    sync.Mutex
	asked int // Query and Sync messages forwarded
	ready int // ReadyForQuery messages received, the one after login not counted
	login bool
}

const (
	sslRequest    = 80877103
	gssEncRequest = 80877104
)

func (p *postgresSide) request() ([]byte, string, error) {
	if !p.started {
		return p.startup()
	}
	msg, err := typed(p.fromClient)
	if err != nil {
		return msg, "", err
	}
	body := msg[5:]
	switch msg[0] {
	case 'Q':
		text, _ := cstring(body)
		return msg, text, nil
	case 'P':
		name, rest := cstring(body)
		p.statements[name], _ = cstring(rest)
	case 'B':
		portal, rest := cstring(body)
		name, _ := cstring(rest)
		p.portals[portal] = p.statements[name]
	case 'E':
		portal, _ := cstring(body)
		return msg, p.portals[portal], nil
	}
	return msg, "", nil
}

// startup reads the packet without a type; offers of encryption are declined,
// so that the conversation stays readable.
func (p *postgresSide) startup() ([]byte, string, error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(p.fromClient, head); err != nil {
		return nil, "", err
	}
	msg, err := take(p.fromClient, head, int(binary.BigEndian.Uint32(head))-4)
	if err != nil {
		return nil, "", err
	}
	if len(msg) == 8 {
		if code := binary.BigEndian.Uint32(msg[4:]); code == sslRequest || code == gssEncRequest {
			_, err := p.client.Write([]byte{'N'})
			return nil, "", err
		}
	}
	p.started = true
	return msg, "", nil
}

func (p *postgresSide) sent(msg []byte) {
	if p.started && len(msg) > 0 && (msg[0] == 'Q' || msg[0] == 'S') {
		p.mu.Lock()
		p.asked++
		p.mu.Unlock()
	}
}

// flush is what completes a held Execute: the Sync that the client could not
// send any more. A Query needs none.
func (p *postgresSide) flush() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked > p.ready {
		return nil
	}
	p.asked++
	return []byte{'S', 0, 0, 0, 4}
}

func (p *postgresSide) answer() ([]byte, bool, error) {
	msg, err := typed(p.fromServer)
	if err != nil || msg[0] != 'Z' {
		return msg, false, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.login {
		p.login = true
		return msg, false, nil
	}
	p.ready++
	return msg, p.ready >= p.asked, nil
}

func typed(r io.Reader) ([]byte, error) {
	head := make([]byte, 5)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	return take(r, head, int(binary.BigEndian.Uint32(head[1:]))-4)
}

// cstring reads a text that ends with a zero byte.
func cstring(b []byte) (text string, rest []byte) {
	i := bytes.IndexByte(b, 0)
	if i < 0 {
		return "", nil
	}
	return string(b[:i]), b[i+1:]
}
