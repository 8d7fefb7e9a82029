// Package clickhouse is the only clickhouse-go: the projection of usage in ClickHouse, which can be dropped and made again
// from Postgres. Native protocol and HTTP alike.
package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Client reads and writes the projection. It is safe for concurrent use.
type Client struct {
	conn driver.Conn
}

// What a call can come back with, beside the context's errors.
var (
	// ErrUnavailable says that the server was not reached or did not answer: what was asked may have been done or not.
	ErrUnavailable = errors.New("ClickHouse is unavailable")
	// ErrRejected says that the server refuses the rows themselves, so that sending them again is pointless.
	ErrRejected = errors.New("ClickHouse rejects the rows")
)

// Open prepares a client for clickhouse:// (native protocol) or http(s)://. It connects when it is first used, so a server
// that is away does not hold up the start.
func Open(dsn string) (*Client, error) {
	o, err := options(dsn)
	if err != nil {
		return nil, err
	}
	conn, err := ch.Open(o)
	if err != nil {
		return nil, fmt.Errorf("opening ClickHouse: %w", err)
	}
	return &Client{conn: conn}, nil
}

// options reads a DSN. Its text may hold a password, so errors don't repeat it.
func options(dsn string) (*ch.Options, error) {
	malformed := errors.New("the ClickHouse URL is malformed (its text is not shown, it may hold a password): clickhouse://, http:// or https:// and a host are required")
	u, err := url.Parse(dsn)
	if err != nil || u.Host == "" || !slices.Contains([]string{"clickhouse", "http", "https"}, u.Scheme) {
		return nil, malformed
	}
	o, err := ch.ParseDSN(dsn)
	if err != nil {
		return nil, malformed
	}
	o.DialTimeout = 5 * time.Second
	if o.ReadTimeout == 0 {
		o.ReadTimeout = time.Minute
	}
	o.MaxOpenConns, o.MaxIdleConns = 8, 4
	if o.Settings == nil {
		o.Settings = ch.Settings{}
	}
	o.Settings["async_insert"] = 0 // acknowledged means written
	return o, nil
}

// Close ends all connections.
func (c *Client) Close() error { return c.conn.Close() }

// Ping says whether the server answers.
func (c *Client) Ping(ctx context.Context) error { return translate(c.conn.Ping(ctx)) }

// rejections are the codes by which a server refuses rows for what they hold, with its names for them.
var rejections = map[int32]string{
	6:   "CANNOT_PARSE_TEXT",
	53:  "TYPE_MISMATCH",
	70:  "CANNOT_CONVERT_TYPE",
	128: "TOO_LARGE_ARRAY_SIZE",
	131: "TOO_LARGE_STRING_SIZE",
	190: "SIZES_OF_ARRAYS_DONT_MATCH",
	321: "VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE",
	349: "CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN",
	395: "FUNCTION_THROW_IF_VALUE_IS_NON_ZERO", // of a constraint or a materialized view
	469: "VIOLATED_CONSTRAINT",
}

// translate turns a driver's error into one of ours. A nil error stays nil. Of a rejection only its code is told: the
// server's text quotes the row, and where it is kept no erasure would find it.
func translate(err error) error {
	var e *ch.Exception
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &e) && rejections[e.Code] != "":
		return fmt.Errorf("%w: code %d, %s", ErrRejected, e.Code, rejections[e.Code])
	case errors.Is(err, ch.ErrBatchInvalid):
		return fmt.Errorf("%w: %w", ErrRejected, ch.ErrBatchInvalid)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}
