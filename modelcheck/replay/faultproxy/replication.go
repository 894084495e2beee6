package faultproxy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"strconv"
	"strings"
	"sync"
)

// Replication stands between a Redis server and one replica of it, and lets the
// stream of writes through only up to an offset: what lies behind is what a
// failover to the replica loses.
//
// The replica always gets a full copy first. Offsets are those that INFO
// replication calls master_repl_offset.
//
// Source: Redis replication protocol (PSYNC, FULLRESYNC, RDB as a bulk string,
// then commands).
type Replication struct {
	upstream string
	ln       net.Listener
	wg       sync.WaitGroup

	mu      sync.Mutex
	changed *sync.Cond
	limit   int64
	used    bool // a replica has connected; a second one would get everything
	closed  bool
	ends    []net.Conn
	err     error
}

// ListenReplication starts the proxy on an address of this machine that the
// replica reaches ("127.0.0.1"), for the server at upstream ("host:port").
func ListenReplication(host, upstream string) (*Replication, error) {
	ln, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, err
	}
	r := &Replication{upstream: upstream, ln: ln, limit: math.MaxInt64}
	r.changed = sync.NewCond(&r.mu)
	r.wg.Add(1)
	go r.accept()
	return r, nil
}

// Port to which the replica is to connect.
func (r *Replication) Port() int { return r.ln.Addr().(*net.TCPAddr).Port }

// Limit lets writes pass up to this offset. What has passed stays passed.
func (r *Replication) Limit(offset int64) {
	r.mu.Lock()
	r.limit = offset
	r.changed.Broadcast()
	r.mu.Unlock()
}

// Unlimited lets every write pass.
func (r *Replication) Unlimited() { r.Limit(math.MaxInt64) }

// Err says why the connection of the replica has ended, if it has.
func (r *Replication) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Close cuts the connection.
func (r *Replication) Close() error {
	r.mu.Lock()
	r.closed = true
	for _, c := range r.ends {
		cut(c)
	}
	r.changed.Broadcast()
	r.mu.Unlock()
	err := r.ln.Close()
	r.wg.Wait()
	return err
}

func (r *Replication) accept() {
	defer r.wg.Done()
	for {
		replica, err := r.ln.Accept()
		if err != nil {
			return
		}
		if !r.take(replica) {
			cut(replica)
			continue
		}
		r.wg.Add(1)
		go func() {
			defer r.wg.Done()
			err := r.serve(replica)
			r.mu.Lock()
			r.err = err
			r.mu.Unlock()
			cut(replica)
		}()
	}
}

// take remembers an end of the connection; false if it comes too late or twice.
func (r *Replication) take(replica net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.used || r.closed {
		return false
	}
	r.used = true
	r.ends = append(r.ends, replica)
	return true
}

func (r *Replication) serve(replica net.Conn) error {
	primary, err := net.Dial("tcp", r.upstream)
	if err != nil {
		return err
	}
	defer primary.Close()
	r.mu.Lock()
	r.ends = append(r.ends, primary)
	closed := r.closed
	r.mu.Unlock()
	if closed {
		return net.ErrClosed
	}
	r.wg.Add(1)
	go func() {
		defer r.wg.Done()
		requests(primary, replica)
		cut(primary)
	}()
	return r.stream(replica, bufio.NewReader(primary))
}

// requests passes on what the replica says: its hellos, and later how far it
// is. It never offers to go on where it was, nor takes a copy of unknown length.
func requests(primary io.Writer, replica net.Conn) {
	side := &redisSide{conn: &conn{fromClient: bufio.NewReader(replica)}}
	for {
		msg, text, err := side.request()
		if err != nil {
			return
		}
		words := strings.Fields(strings.ToLower(text))
		switch {
		case len(words) > 0 && words[0] == "psync":
			msg = command("PSYNC", "?", "-1")
		case len(words) > 3 && words[0] == "replconf" && words[1] == "capa":
			msg = command("REPLCONF", "capa", "psync2")
		}
		if _, err := primary.Write(msg); err != nil {
			return
		}
	}
}

// command in the form of the protocol.
func command(words ...string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	return []byte(b.String())
}

// stream passes on answers, the copy, and then writes up to the limit.
func (r *Replication) stream(replica io.Writer, primary *bufio.Reader) error {
	offset, err := answersUntilCopy(replica, primary)
	if err != nil {
		return err
	}
	if err := passCopy(replica, primary); err != nil {
		return err
	}
	buf := make([]byte, 16<<10)
	for {
		n, err := primary.Read(buf)
		for sent := 0; sent < n; {
			allowed := r.await(offset)
			if allowed == 0 {
				return net.ErrClosed
			}
			k := int(min(allowed, int64(n-sent)))
			if _, err := replica.Write(buf[sent : sent+k]); err != nil {
				return err
			}
			sent, offset = sent+k, offset+int64(k)
		}
		if err != nil {
			return err
		}
	}
}

// await waits until something beyond offset may pass and says how much; 0 after
// Close.
func (r *Replication) await(offset int64) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.limit <= offset && !r.closed {
		r.changed.Wait()
	}
	if r.closed {
		return 0
	}
	return r.limit - offset
}

var errNoFullCopy = errors.New("the primary does not give a full copy")

// answersUntilCopy passes on the answers to the replica's hellos and gives the
// offset at which the stream behind the copy begins.
func answersUntilCopy(replica io.Writer, primary *bufio.Reader) (int64, error) {
	for {
		line, err := primary.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		if _, err := replica.Write(line); err != nil {
			return 0, err
		}
		words := strings.Fields(string(line))
		switch {
		case len(words) == 3 && words[0] == "+FULLRESYNC":
			return strconv.ParseInt(words[2], 10, 64)
		case len(words) > 0 && words[0] == "+CONTINUE":
			return 0, errNoFullCopy
		}
	}
}

// passCopy passes on the RDB file: empty lines while it is being made, its
// length, then so many bytes.
func passCopy(replica io.Writer, primary *bufio.Reader) error {
	for {
		line, err := primary.ReadSlice('\n')
		if err != nil {
			return err
		}
		if _, err := replica.Write(line); err != nil {
			return err
		}
		text := strings.TrimSpace(string(line))
		if text == "" {
			continue
		}
		length, err := strconv.ParseInt(strings.TrimPrefix(text, "$"), 10, 64)
		if err != nil || length < 0 {
			return fmt.Errorf("%w: it says %q", errNoFullCopy, text)
		}
		_, err = io.CopyN(replica, primary, length)
		return err
	}
}
