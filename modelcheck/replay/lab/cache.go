package lab

import (
	"context"

	"github.com/relplan/relplan/modelcheck/replay"
)

// cacheWatermark: fills, a script that fails half-way, and a guarded read, each
// one script on the server.
func cacheWatermark(ctx context.Context, b *replay.Bench, t *trial) error {
	left := map[string]replay.Value{}
	run, err := act(ctx, b, schedule{"a floor and a cache", `
		filler: receives the request of fill 1
		filler: runs a script on cache
		filler: replies refused
		filler: receives the request of fill 2
		filler: runs a script on cache
		filler: replies ok
		filler: receives the request of fill 3
		filler: runs a script on cache
		filler: replies ok
		filler: receives the request of fill 4
		filler: runs a script on cache
		filler: replies refused
		writer: receives the request of raise
		writer: runs a script on cache
		? after the failure
		writer: replies refused
		reader: receives the request of read
		reader: runs a script on cache
		reader: replies ok`}, func(ctx context.Context, _ string) error {
		for name, store := range map[string]string{"floor": "floors", "cache": "cache"} {
			entries, err := b.Entries(ctx, store)
			if err != nil {
				return err
			}
			left[name] = entries["x"]
		}
		return nil
	})
	if err != nil {
		return err
	}
	t.ran(run)
	fills, reads := of(run, "filler"), of(run, "reader")
	if len(fills) != 4 || len(reads) != 1 {
		t.is("attempts", len(fills)+len(reads), 5)
		return nil
	}
	t.is("staleFill", fills[0].Body, int64(0))
	t.is("legitimateFill", fills[1].Body, int64(2))
	t.is("sameContentAgain", fills[2].Body, int64(1))
	t.is("sameVersionOtherContent", fills[3].Body, int64(-1))
	t.is("floorAfterHalfAScript", left["floor"], int64(3))
	t.is("cacheAfterHalfAScript", replay.Field(left["cache"], "version"), int64(2))
	t.is("guardedRead", reads[0].Body, "MISS")
	return nil
}
