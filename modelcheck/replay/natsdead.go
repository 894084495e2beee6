package replay

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// deadLetterMover does what JetStream leaves to its users: it hears the server
// say that the deliveries of a message are used up, and moves the message to the
// dead letter queue. The server says so only when somebody asks for the message
// once more, as a polling consumer would: so the mover asks.
type deadLetterMover struct {
	s     *natsQueue
	since time.Time // advisories before that are of an earlier schedule
	sub   *nats.Subscription
	quit  chan struct{}
	ended sync.WaitGroup

	mu  sync.Mutex
	err error
}

func (s *natsQueue) startMover(since time.Time) (*deadLetterMover, error) {
	v := &deadLetterMover{s: s, since: since, quit: make(chan struct{})}
	var err error
	v.sub, err = s.admin.Subscribe("$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES."+s.name+".*", func(m *nats.Msg) { v.note(v.bury(m.Data)) })
	if err := errors.Join(err, s.admin.Flush()); err != nil {
		return nil, err
	}
	v.ended.Add(1)
	go v.ask()
	return v, nil
}

func (v *deadLetterMover) stop() {
	close(v.quit)
	v.ended.Wait()
	_ = v.sub.Unsubscribe()
}

func (v *deadLetterMover) note(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.err = errors.Join(v.err, err)
}

func (v *deadLetterMover) failure() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.err
}

// ask polls for messages whose last ack-wait has ended.
func (v *deadLetterMover) ask() {
	defer v.ended.Done()
	tick := time.NewTicker(v.s.wait / 5)
	defer tick.Stop()
	for {
		select {
		case <-v.quit:
			return
		case <-tick.C:
			ctx, cancel := context.WithTimeout(context.Background(), goneSoon)
			v.note(v.askOnce(ctx))
			cancel()
		}
	}
}

func (v *deadLetterMover) askOnce(ctx context.Context) error {
	all, err := v.s.messages(ctx)
	if err != nil {
		return err
	}
	for _, m := range all {
		st, err := v.s.stateOf(ctx, m)
		if err != nil {
			return err
		}
		if !st.held || st.deliveries < v.s.q.MaxDeliveries || time.Since(st.delivered) < v.s.wait {
			continue
		}
		c, err := v.s.consumer(ctx, v.s.js, m)
		if err != nil {
			return err
		}
		batch, err := c.FetchNoWait(1)
		if err != nil {
			return err
		}
		for range batch.Messages() {
			return errors.New("the server delivers a message whose deliveries are used up")
		}
	}
	return nil
}

func (v *deadLetterMover) bury(advisory []byte) error {
	var a struct {
		Time      time.Time `json:"timestamp"`
		StreamSeq uint64    `json:"stream_seq"`
	}
	if err := json.Unmarshal(advisory, &a); err != nil || a.Time.Before(v.since) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), goneSoon)
	defer cancel()
	m, err := v.s.message(ctx, a.StreamSeq)
	if err != nil || m == nil {
		return err
	}
	return v.s.publish(ctx, v.s.admin, draftFor(v.s.prefix, v.s.q.DeadLetter, m.rec, ""))
}
