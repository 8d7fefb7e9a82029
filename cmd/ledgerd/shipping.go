package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ledgerd/internal/clickhouse"
	"ledgerd/internal/postgres"
	"ledgerd/internal/relay"
)

// reconcileEvery is how often the shipping process compares ClickHouse with Postgres.
const reconcileEvery = time.Hour

// rejectsRows tells a refusal of rows from every other error.
func rejectsRows(err error) bool { return errors.Is(err, clickhouse.ErrRejected) }

// newShipper makes the loop that keeps ClickHouse up to date, on at most one process at a time.
func newShipper(store *postgres.Store, ch *clickhouse.Client, log *slog.Logger) *relay.Shipper {
	return relay.NewShipper(relay.Options{
		Log: store, Projection: ch, Rejects: rejectsRows, Holder: rand.Text(), Logger: log, Every: reconcileEvery,
		Reconcile: func(ctx context.Context) error {
			drifts, err := relay.Reconcile(ctx, store, ch, rejectsRows, false)
			for _, d := range drifts {
				log.Error("ClickHouse differs from Postgres; ledgerd clickhouse reconcile --repair mends it", "drift", driftText(d))
			}
			return err
		},
	})
}

func driftText(d relay.Drift) string {
	return fmt.Sprintf("tenant %s, %s: Postgres has %d lines and %s tokens, ClickHouse %d and %s", d.Truth.Tenant,
		d.Truth.Day.Format(time.DateOnly), d.Truth.Lines, d.Truth.Tokens, d.Projected.Lines, d.Projected.Tokens)
}

// shippingMetrics shows how far ClickHouse is behind. The numbers are as old as the loop's last look, a fraction of a second.
func shippingMetrics(registry *prometheus.Registry, s *relay.Shipper) {
	gauge := func(name, help string, value func() float64) {
		registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "ledgerd", Subsystem: "clickhouse", Name: name, Help: help}, value))
	}
	gauge("lag_entries", "Entries that are recorded and not shipped to ClickHouse yet.", func() float64 { return float64(s.Status().LagEntries) })
	gauge("lag_seconds", "Age of the oldest entry that is not shipped to ClickHouse yet.", func() float64 { return s.Status().Lag.Seconds() })
	gauge("attempts", "How often the batch under way was sent; 0 when none is.", func() float64 { return float64(s.Status().Attempts) })
	gauge("quarantined_lines", "Usage lines that ClickHouse refuses.", func() float64 { return float64(s.Status().Quarantined) })
	gauge("drifted_days", "Days of a tenant that differed at the last reconciliation and were not repaired.", func() float64 { return float64(s.Status().DriftedDays) })
}
