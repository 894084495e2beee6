package faultproxy

import (
	"bufio"
	"bytes"
	"io"
	"testing"
)

// FuzzCopy reads what a primary may say before the stream of writes begins.
func FuzzCopy(f *testing.F) {
	f.Add([]byte("+PONG\r\n+OK\r\n+FULLRESYNC 8371b4fb1155b71f4a04d3e1bc3e18c4a990aeeb 42\r\n\n$3\r\nabcd"))
	f.Add([]byte("+CONTINUE x\r\n"))
	f.Add([]byte("-NOAUTH\r\n+FULLRESYNC a b\r\n"))
	f.Add([]byte("+FULLRESYNC a 1\r\n$EOF:0123456789\r\n"))
	f.Fuzz(func(t *testing.T, said []byte) {
		var passed bytes.Buffer
		primary := bufio.NewReader(bytes.NewReader(said))
		if _, err := answersUntilCopy(&passed, primary); err != nil {
			return
		}
		if passCopy(&passed, primary) != nil {
			return
		}
		rest, _ := io.ReadAll(primary)
		if !bytes.Equal(append(passed.Bytes(), rest...), said) {
			t.Errorf("%q was passed on as %q", said, passed.Bytes())
		}
	})
}
