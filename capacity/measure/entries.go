package measure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/relplan/relplan/capacity/storage"
	"github.com/relplan/relplan/internal/engines"
)

// ErrNotEmpty is returned for a Redis database that holds keys: its memory could
// not be told from ours, and nothing of the user's is deleted.
var ErrNotEmpty = errors.New("the redis database is not empty, name an empty one such as redis://host/9")

// pad makes n bytes that differ from row to row.
func pad(r uint64, n int) string {
	var b strings.Builder
	for k := uint64(0); b.Len() < n; k++ {
		fmt.Fprintf(&b, "%016x", mix(r*7919+k))
	}
	return b.String()[:n]
}

// enoughKeys refuses keys that are too short to tell rows apart: of hexadecimal
// digits, one row in 2,000 may fall on the key of another.
func enoughKeys(length float64, rows int64) error {
	if math.Pow(16, math.Trunc(length)) < 1000*float64(rows) {
		return fmt.Errorf("keys of %.0f B are too short to tell %d rows apart, measure fewer rows or longer keys", length, rows)
	}
	return nil
}

// Redis loads a case into the database of dsn, which must be empty, and removes
// the keys afterwards. It compares used_memory over the start, without the
// buffers of clients.
func Redis(ctx context.Context, dsn string, c Case, progress func(int64)) (r Result, err error) {
	if o := c.Input.Redis; o.Structure != "stream" {
		if err := enoughKeys(o.Key, c.Input.Rows); err != nil {
			return r, err
		}
	}
	rdb, err := engines.OpenRedis(dsn)
	if err != nil {
		return r, err
	}
	defer rdb.Close()
	n, err := rdb.DBSize(ctx).Result()
	if err != nil {
		return r, err
	}
	if n > 0 {
		return r, ErrNotEmpty
	}
	info := func() (map[string]string, error) {
		text, err := rdb.Info(ctx, "memory").Result()
		m := map[string]string{}
		for _, line := range strings.Split(text, "\r\n") {
			if k, v, ok := strings.Cut(line, ":"); ok {
				m[k] = v
			}
		}
		return m, err
	}
	before, err := info()
	if err != nil {
		return r, err
	}
	defer func() {
		if e := rdb.FlushDBAsync(context.WithoutCancel(ctx)).Err(); err == nil {
			err = e
		}
		for range 600 { // until the memory is given back
			if m, e := info(); e != nil || m["lazyfree_pending_objects"] == "0" {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	}()
	o := *c.Input.Redis
	c.Input.Redis = &o
	if o.Quantum == 0 && strings.HasPrefix(before["mem_allocator"], "jemalloc-5.3") { // a system jemalloc
		o.Quantum = 16
	}
	for row := uint64(0); row < uint64(c.Input.Rows); {
		p := rdb.Pipeline()
		for range 500 { // a slow server answers within the read timeout
			if row == uint64(c.Input.Rows) {
				break
			}
			args := redisCommand(&o, row)
			p.Do(ctx, args...)
			row++
		}
		if _, err := p.Exec(ctx); err != nil {
			return r, err
		}
		if progress != nil {
			progress(int64(row))
		}
	}
	time.Sleep(300 * time.Millisecond) // incremental rehash goes on in the background
	rdb.Do(ctx, "CLIENT", "NO-EVICT", "off")
	after, err := info()
	if err != nil {
		return r, err
	}
	used := func(m map[string]string) int64 {
		all, _ := strconv.ParseInt(m["used_memory"], 10, 64)
		clients, _ := strconv.ParseInt(m["mem_clients_normal"], 10, 64)
		return all - clients
	}
	r = Result{Name: c.Name, Order: "any", Rows: c.Input.Rows, Measured: used(after) - used(before)}
	return predict(r, c)
}

// redisCommand is the command that adds row r.
func redisCommand(o *storage.RedisOptions, r uint64) []any {
	key, value := pad(r, int(o.Key)), pad(r+1<<40, int(o.Value))
	in := "h:00000000"
	if o.Per > 0 {
		in = fmt.Sprintf("h:%08d", r/uint64(o.Per))
	}
	switch o.Structure {
	case "hash":
		return []any{"HSET", in, key, value}
	case "set":
		return []any{"SADD", in, key}
	case "zset":
		return []any{"ZADD", in, 1767225600000 + int64(r), key}
	case "stream":
		return []any{"XADD", in, "*", "id", key, "va", value}
	}
	if o.TTL {
		return []any{"SET", key, value, "EX", 7776000}
	}
	return []any{"SET", key, value}
}

func predict(r Result, c Case) (Result, error) {
	s, err := storage.Estimate(c.Input)
	if err != nil {
		return r, err
	}
	r.Predicted, r.Low, r.High, r.PredictedTable, r.Basis = s.Total, s.Low, s.High, s.Table, s.Basis
	return r, nil
}

// minSubject is the shortest subject that is loaded: "s.x".
const minSubject = 3

// NATS loads a case into a stream or bucket of its own and deletes it
// afterwards. It compares the bytes of messages that the server reports
// (StreamState.Bytes); state files are not counted.
func NATS(ctx context.Context, dsn string, c Case, progress func(int64)) (r Result, err error) {
	switch o := c.Input.NATS; {
	case c.Input.Engine == storage.NATSKV:
		err = enoughKeys(o.Subject, c.Input.Rows)
	case o.Subject < minSubject:
		err = fmt.Errorf("a subject of %.0f B: measuring needs at least %d B, such as s.x", o.Subject, minSubject)
	}
	if err != nil {
		return r, err
	}
	nc, err := engines.OpenNATS(dsn)
	if err != nil {
		return r, err
	}
	defer nc.Close()
	js, err := nc.JetStream(nats.PublishAsyncMaxPending(2000))
	if err != nil {
		return r, err
	}
	o := *c.Input.NATS
	r = Result{Name: c.Name, Order: "any", Rows: c.Input.Rows}
	stream := "relplan_measure"
	if c.Input.Engine == storage.NATSKV {
		o.Bucket = len("measured")
		c.Input.NATS = &o
		stream = "KV_measured"
	}
	if c.Input.Engine == storage.NATSKV {
		_, err = js.CreateKeyValue(&nats.KeyValueConfig{Bucket: "measured", Storage: nats.FileStorage})
	} else {
		_, err = js.AddStream(&nats.StreamConfig{Name: stream, Subjects: []string{"s.>"}, Storage: nats.FileStorage, Duplicates: time.Second})
	}
	if err != nil {
		return r, err
	}
	defer func() {
		if e := js.DeleteStream(stream); err == nil {
			err = e
		}
	}()
	if err := publish(ctx, js, c, &o, progress); err != nil {
		return r, err
	}
	info, err := js.StreamInfo(stream)
	if err != nil {
		return r, err
	}
	r.Measured = int64(info.State.Bytes)
	if r, err = predict(r, c); err == nil {
		r.Predicted = r.PredictedTable
		r.Low, r.High = r.Predicted, r.Predicted
	}
	return r, err
}

func publish(ctx context.Context, js nats.JetStreamContext, c Case, o *storage.NATSOptions, progress func(int64)) error {
	payload := []byte(pad(1, int(math.Round(o.Payload))))
	subject := "s." + strings.Repeat("x", int(o.Subject)-len("s."))
	for row := range uint64(c.Input.Rows) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		m := &nats.Msg{Subject: subject, Data: payload, Header: nats.Header{}}
		if c.Input.Engine == storage.NATSKV {
			m.Subject = "$KV.measured." + pad(row, int(o.Subject))
			if !o.Put {
				m.Header.Set("Nats-Expected-Last-Subject-Sequence", "0")
			}
		}
		if o.MsgID > 0 {
			m.Header.Set("Nats-Msg-Id", pad(row, int(o.MsgID)))
		}
		if _, err := js.PublishMsgAsync(m, nats.StallWait(2*time.Minute)); err != nil {
			return err
		}
		if row%10_000 == 0 && progress != nil {
			progress(int64(row))
		}
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}
