package engines

import (
	"context"
	"errors"
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

// RedisClient is a pool of connections to a Redis server.
type RedisClient struct {
	*redis.Client
	sockets Sockets
}

// OpenRedis opens a client; nothing is sent yet.
func OpenRedis(dsn string) (*RedisClient, error) {
	o, err := redis.ParseURL(dsn)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", redact(dsn), err)
	}
	o.MaxRetries = -1 // a lost answer must be seen, not repeated by the driver
	o.DisableIdentity = true
	c := &RedisClient{}
	if o.TLSConfig == nil { // else the driver dials
		o.Dialer = c.sockets.Dial
	}
	c.Client = redis.NewClient(o)
	return c, nil
}

// Cut closes every socket as a crash would, without a goodbye.
func (c *RedisClient) Cut() { c.sockets.Cut() }

// Command sends one command; an answer of nothing is nil without an error.
func (c *RedisClient) Command(ctx context.Context, words ...any) (any, error) {
	v, err := c.Do(ctx, words...).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	return v, err
}

// Version asks the server what it is: "7.0.15".
func (c *RedisClient) Version(ctx context.Context) (string, error) {
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

func redisVersion(ctx context.Context, dsn string) (string, error) {
	c, err := OpenRedis(dsn)
	if err != nil {
		return "", err
	}
	defer c.Close()
	return c.Version(ctx)
}
