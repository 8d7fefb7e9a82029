package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ledgerd/internal/clickhouse"
	"ledgerd/internal/devstack/engine"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres"
	"ledgerd/internal/relay"
)

// clickhouseCmd are an operator's tools for the projection. `ledgerd dev` writes both URLs to dev.json.
type clickhouseCmd struct {
	logFlags
	DatabaseURL   string `required:"" env:"LEDGERD_DATABASE_URL" placeholder:"URL" help:"Postgres URL of the service role."`
	ClickhouseURL string `required:"" env:"LEDGERD_CLICKHOUSE_URL" placeholder:"URL" help:"ClickHouse: clickhouse://, http:// or https://."`

	Rebuild    rebuildCmd    `cmd:"" help:"Empty ClickHouse and send all usage again. Services may go on meanwhile."`
	Reconcile  reconcileCmd  `cmd:"" help:"Compare ClickHouse with Postgres day by day: count, tokens and a hash. Exits 1 when they differ."`
	Quarantine quarantineCmd `cmd:"" help:"The usage lines that ClickHouse refuses."`
}

// with opens both sides for f.
func (c *clickhouseCmd) with(p *process, f func(*postgres.Store, *clickhouse.Client) error) error {
	store, err := openStore(p.ctx, c.DatabaseURL)
	if err != nil {
		return err
	}
	defer store.Close()
	ch, err := clickhouse.Open(c.ClickhouseURL)
	if err != nil {
		return err
	}
	defer ch.Close()
	if err := ch.Ping(p.ctx); err != nil {
		return err
	}
	return f(store, ch)
}

type rebuildCmd struct{}

func (rebuildCmd) Run(p *process, c *cli) error {
	return c.Clickhouse.with(p, func(store *postgres.Store, ch *clickhouse.Client) error {
		head, err := store.Head(p.ctx)
		if errors.Is(err, kinds.ErrNotFound) {
			return errors.New("this database has no log yet: `ledgerd serve` makes it, and ships by itself")
		}
		if err != nil {
			return err
		}
		if err := store.BeginRebuild(p.ctx); err != nil {
			return err
		}
		if err := ch.Empty(p.ctx); err != nil {
			return err
		}
		if err := store.RestartShipping(p.ctx); err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(p.ctx)
		shipped := make(chan struct{})
		go func() {
			defer close(shipped)
			newShipper(store, ch, c.Clickhouse.logger(p.stderr)).Run(ctx)
		}()
		err = followRebuild(p, store, head.Next())
		cancel()
		<-shipped
		return err
	})
}

// followRebuild shows the progress until every entry below end is shipped, by this process or by a service that holds the
// lease.
func followRebuild(p *process, store *postgres.Store, end int64) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		v, err := store.Shipping(p.ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(p.stdout, "shipped %d of %d entries\n", min(v.NextSeq, end), end)
		if v.NextSeq >= end {
			return nil
		}
		select {
		case <-tick.C:
		case <-p.ctx.Done():
			return p.ctx.Err()
		}
	}
}

type reconcileCmd struct {
	Repair bool `help:"Send each day that differs again."`
}

func (r reconcileCmd) Run(p *process, c *cli) error {
	return c.Clickhouse.with(p, func(store *postgres.Store, ch *clickhouse.Client) error {
		drifts, err := relay.Reconcile(p.ctx, store, ch, rejectsRows, r.Repair)
		left := 0
		for _, d := range drifts {
			end := ""
			if d.Repaired {
				end = "; repaired"
			} else {
				left++
			}
			fmt.Fprintln(p.stdout, driftText(d)+end)
		}
		if err != nil {
			return err
		}
		if left > 0 {
			return exitError(1)
		}
		if len(drifts) == 0 {
			fmt.Fprintln(p.stdout, "ClickHouse holds what Postgres holds")
		}
		return nil
	})
}

type quarantineCmd struct {
	List   quarantineListCmd   `cmd:"" help:"List the lines with the reasons."`
	Replay quarantineReplayCmd `cmd:"" help:"Send the lines again. Exits 1 when some are still refused."`
}

type quarantineListCmd struct{}

func (quarantineListCmd) Run(p *process, c *cli) error {
	return c.Clickhouse.with(p, func(store *postgres.Store, _ *clickhouse.Client) error {
		list, err := store.Quarantined(p.ctx)
		for _, r := range list {
			fmt.Fprintf(p.stdout, "entry %d, provider %q, since %s: %q\n", r.Seq, r.ProviderID, r.Since.Format(time.RFC3339), r.Reason)
		}
		return err
	})
}

type quarantineReplayCmd struct{}

func (quarantineReplayCmd) Run(p *process, c *cli) error {
	return c.Clickhouse.with(p, func(store *postgres.Store, ch *clickhouse.Client) error {
		taken, err := relay.Replay(p.ctx, store, ch, rejectsRows)
		if err != nil {
			return err
		}
		left, err := store.Quarantined(p.ctx)
		fmt.Fprintf(p.stdout, "%d lines taken, %d still refused\n", taken, len(left))
		if err == nil && len(left) > 0 {
			return exitError(1)
		}
		return err
	})
}

// engineCmd is the child process of the embedded engine; nobody calls it by hand.
type engineCmd struct{}

func (engineCmd) Run() error {
	if !engine.IsChild() {
		return errors.New("`ledgerd dev` starts the engine by itself")
	}
	return engine.RunChild()
}
