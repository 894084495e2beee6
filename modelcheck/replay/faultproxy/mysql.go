package faultproxy

import (
	"encoding/binary"
	"io"
	"sync"
)

// mysqlSide reads the MySQL client/server protocol: packets of a three-byte
// length, a sequence number and a payload. A command is the first packet of an
// exchange (sequence 0); the answer starts with the first packet behind it.
//
// Source: MySQL internals manual, "Packets", "COM_QUERY", "COM_STMT_PREPARE".
type mysqlSide struct {
	*conn
	mu       sync.Mutex
	prepared map[uint32]string
	asked    string // text of the COM_STMT_PREPARE whose answer is awaited
	loggedIn bool
	greeted  bool
}

const (
	comQuery       = 0x03
	comStmtPrepare = 0x16
	comStmtExecute = 0x17
	comStmtClose   = 0x19
	clientSSL      = 0x0800
)

func (m *mysqlSide) packet(r io.Reader) ([]byte, error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	return take(r, head, int(head[0])|int(head[1])<<8|int(head[2])<<16)
}

func (m *mysqlSide) request() ([]byte, string, error) {
	msg, err := m.packet(m.fromClient)
	if err != nil || len(msg) < 5 || msg[3] != 0 {
		return msg, "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.loggedIn {
		return msg, "", nil
	}
	body := msg[5:]
	switch msg[4] {
	case comQuery:
		return msg, string(body), nil
	case comStmtPrepare:
		m.asked = string(body)
	case comStmtExecute:
		if len(body) >= 4 {
			return msg, m.prepared[binary.LittleEndian.Uint32(body)], nil
		}
	case comStmtClose:
		if len(body) >= 4 {
			delete(m.prepared, binary.LittleEndian.Uint32(body))
		}
	}
	return msg, "", nil
}

func (m *mysqlSide) answer() ([]byte, bool, error) {
	msg, err := m.packet(m.fromServer)
	if err != nil || len(msg) < 5 {
		return msg, true, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case !m.greeted:
		m.greeted = true
		withoutTLS(msg)
	case !m.loggedIn && msg[4] == 0x00:
		m.loggedIn = true
	case m.asked != "" && msg[4] == 0x00 && len(msg) >= 9:
		m.prepared[binary.LittleEndian.Uint32(msg[5:])] = m.asked
		m.asked = ""
	case m.asked != "" && msg[4] == 0xff:
		m.asked = ""
	}
	return msg, true, nil
}

func (m *mysqlSide) sent([]byte) {}

func (m *mysqlSide) flush() []byte { return nil }

// withoutTLS takes the offer of TLS out of the server's greeting, so that the
// conversation stays readable: protocol version, version text, thread id, 8
// bytes of salt, a zero byte, then the lower half of the capabilities.
func withoutTLS(greeting []byte) {
	i := 5
	for i < len(greeting) && greeting[i] != 0 {
		i++
	}
	i += 1 + 4 + 8 + 1
	if i+2 <= len(greeting) {
		caps := binary.LittleEndian.Uint16(greeting[i:])
		binary.LittleEndian.PutUint16(greeting[i:], caps&^clientSSL)
	}
}
