package faultproxy

import (
	"bytes"
	"io"
	"strconv"
	"strings"
)

// redisSide reads the Redis protocol (RESP): a request is an array of bulk
// strings, one answer follows each request. The answer to a command is complete
// with its first bytes: the command has run by then.
//
// Source: Redis serialization protocol specification.
type redisSide struct{ *conn }

func (r *redisSide) request() ([]byte, string, error) {
	line, err := r.fromClient.ReadBytes('\n')
	if err != nil {
		return nil, "", err
	}
	msg := bytes.Clone(line)
	n, ok := number(line, '*')
	if !ok { // an inline command
		return msg, strings.TrimSpace(string(line)), nil
	}
	words := make([]string, 0, min(n, 64))
	for range n {
		line, err := r.fromClient.ReadBytes('\n')
		if err != nil {
			return nil, "", err
		}
		size, ok := number(line, '$')
		if !ok || size > maxMessage {
			return nil, "", errTooLong
		}
		word, err := take(r.fromClient, nil, size+2)
		if err != nil {
			return nil, "", err
		}
		msg = append(append(msg, line...), word...)
		words = append(words, string(word[:size]))
	}
	return msg, strings.Join(words, " "), nil
}

func (r *redisSide) answer() ([]byte, bool, error) {
	buf := make([]byte, 16<<10)
	n, err := r.fromServer.Read(buf)
	if n > 0 {
		err = nil
	} else if err == nil {
		err = io.ErrNoProgress
	}
	return buf[:n], true, err
}

func (r *redisSide) sent([]byte) {}

func (r *redisSide) flush() []byte { return nil }

// number reads "*3\r\n".
func number(line []byte, mark byte) (int, bool) {
	if len(line) == 0 || line[0] != mark {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(line[1:])))
	return n, err == nil && n >= 0 && n < 1<<20
}
