package engines

import (
	"context"
	"fmt"
	"io"
	"log"
	"strings"

	"github.com/redis/go-redis/v9"
)

func init() { redis.SetLogger(quiet{}) }

// quiet keeps the driver from writing to standard error.
type quiet struct{}

func (quiet) Printf(_ context.Context, format string, v ...any) {
	log.New(io.Discard, "", 0).Printf(format, v...)
}

// OpenRedis opens a client; nothing is sent yet.
func OpenRedis(dsn string) (*redis.Client, error) {
	o, err := redis.ParseURL(dsn)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", redact(dsn), err)
	}
	o.MaxRetries = -1 // a lost answer must be seen, not repeated by the driver
	o.DisableIdentity = true
	return redis.NewClient(o), nil
}

func redisVersion(ctx context.Context, dsn string) (string, error) {
	c, err := OpenRedis(dsn)
	if err != nil {
		return "", err
	}
	defer c.Close()
	info, err := c.Info(ctx, "server").Result()
	if err != nil {
		return "", err
	}
	for _, line := range strings.Split(info, "\r\n") {
		if v, ok := strings.CutPrefix(line, "redis_version:"); ok {
			return v, nil
		}
	}
	return "", fmt.Errorf("no redis_version in INFO")
}
