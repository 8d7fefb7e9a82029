package main

import (
	"crypto/rand"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ledgerd/internal/postgres"
	"ledgerd/internal/relay"
)

// selfAuditFlags say how much of what is recorded is verified again, and how often.
type selfAuditFlags struct {
	SelfAuditEvery  time.Duration `name:"self-audit-every" default:"5m" env:"LEDGERD_SELF_AUDIT_EVERY" help:"Verify a rotating sample of the log again this often; 0 for never."`
	SelfAuditSample int           `name:"self-audit-sample" default:"1000" env:"LEDGERD_SELF_AUDIT_SAMPLE" help:"Entries of a sample."`
	SelfAuditFull   time.Duration `name:"self-audit-full" default:"24h" env:"LEDGERD_SELF_AUDIT_FULL" help:"Verify every entry again this often; 0 for never."`
	SelfAuditRate   int           `name:"self-audit-rate" default:"500" env:"LEDGERD_SELF_AUDIT_RATE" help:"Entries that are verified again a second, at most."`
}

// newSelfAuditor makes the loop that verifies the log again, on at most one process at a time; nil when both passes are off.
func newSelfAuditor(f selfAuditFlags, store *postgres.Store, appender *postgres.Appender, keys postgres.Keys, log *slog.Logger) *relay.SelfAuditor {
	if f.SelfAuditEvery <= 0 && f.SelfAuditFull <= 0 {
		return nil
	}
	return relay.NewSelfAuditor(relay.SelfAuditOptions{
		Log:         &postgres.SelfAudit{Store: store, Append: appender.Append, Verifiers: keys.Verifiers()},
		SampleEvery: f.SelfAuditEvery, Sample: max(f.SelfAuditSample, 1), FullEvery: f.SelfAuditFull, Rate: max(f.SelfAuditRate, 1),
		Holder: rand.Text(), Logger: log,
	})
}

// selfAuditMetrics shows what the self-audit found. The numbers are as old as the loop's last look, a few seconds.
func selfAuditMetrics(registry *prometheus.Registry, a *relay.SelfAuditor) {
	add := func(c prometheus.Collector) { registry.MustRegister(c) }
	options := func(name, help string) prometheus.Opts {
		return prometheus.Opts{Namespace: "ledgerd", Subsystem: "self_audit", Name: name, Help: help}
	}
	gauge := func(name, help string, value func() float64) {
		add(prometheus.NewGaugeFunc(prometheus.GaugeOpts(options(name, help)), value))
	}
	add(prometheus.NewCounterFunc(prometheus.CounterOpts(options("entries_total", "Entries that were verified again, by any process.")), func() float64 { return float64(a.Status().Checked) }))
	gauge("failing_entries", "Entries that did not verify when they were last checked. Anything but 0 needs a person.", func() float64 { return float64(a.Status().Failing) })
	gauge("full_pass_age_seconds", "Time since the last pass over every entry was done; -1 when none ever was.", func() float64 {
		if since := a.Status().SinceFull; since != nil {
			return since.Seconds()
		}
		return -1
	})
	gauge("full_pass_left_entries", "Entries that the pass under way has still to verify; 0 when none is.", func() float64 { return float64(a.Status().FullEnd - a.Status().FullNext) })
}
