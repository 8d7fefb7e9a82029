package clickhouse

import (
	"context"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// OpenOld opens a client for a server that refuses the settings which ours sends, as it does not know them.
func OpenOld(dsn string) (*Client, error) {
	o, err := options(dsn)
	if err != nil {
		return nil, err
	}
	o.Settings = nil
	conn, err := ch.Open(o)
	if err != nil {
		return nil, err
	}
	return &Client{conn: bare{conn}}, nil
}

// Exec and Row are for what a test needs beside the client's own statements.
func (c *Client) Exec(ctx context.Context, statement string) error {
	return translate(c.conn.Exec(ctx, statement))
}

func (c *Client) Row(ctx context.Context, query string, dest ...any) error {
	return translate(c.conn.QueryRow(ctx, query).Scan(dest...))
}

// Connections are those that are open.
func (c *Client) Connections() int { return c.conn.Stats().Open }

// bare sends no settings.
type bare struct{ driver.Conn }

func without(ctx context.Context) context.Context {
	return ch.Context(ctx, ch.WithSettings(ch.Settings{}))
}

func (b bare) PrepareBatch(ctx context.Context, query string, opts ...driver.PrepareBatchOption) (driver.Batch, error) {
	return b.Conn.PrepareBatch(without(ctx), query, opts...)
}

func (b bare) Exec(ctx context.Context, query string, args ...any) error {
	return b.Conn.Exec(without(ctx), query, args...)
}
