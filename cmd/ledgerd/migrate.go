package main

import (
	"fmt"

	"ledgerd/internal/clickhouse"
	"ledgerd/internal/postgres"
)

type migrateCmd struct {
	MigrateURL    string `required:"" env:"LEDGERD_MIGRATE_URL" placeholder:"URL" help:"Postgres URL of the owner role (ledger_owner)."`
	ClickhouseURL string `env:"LEDGERD_CLICKHOUSE_URL" placeholder:"URL" help:"ClickHouse to migrate up as well: clickhouse://, http:// or https://. None when empty."`

	Up     migrateUpCmd     `cmd:"" help:"Apply what is missing."`
	Down   migrateDownCmd   `cmd:"" help:"Take the newest migration back; refused once the log has entries."`
	Status migrateStatusCmd `cmd:"" help:"List the migrations and whether they are applied."`
}

func (c *migrateCmd) with(f func(*postgres.Migrator) error) error {
	m, err := postgres.OpenMigrator(c.MigrateURL)
	if err != nil {
		return err
	}
	defer m.Close()
	return f(m)
}

type migrateUpCmd struct{}

func (migrateUpCmd) Run(p *process, c *cli) error {
	return c.Migrate.with(func(m *postgres.Migrator) error {
		applied, err := m.Up(p.ctx)
		if err != nil {
			return err
		}
		for _, name := range applied {
			fmt.Fprintln(p.stdout, "applied", name)
		}
		if c.Migrate.ClickhouseURL != "" {
			if applied, err = clickhouse.Migrate(p.ctx, c.Migrate.ClickhouseURL); err != nil {
				return err
			}
			for _, name := range applied {
				fmt.Fprintln(p.stdout, "applied to ClickHouse", name)
			}
		}
		fmt.Fprintln(p.stdout, "the schema is up to date")
		return nil
	})
}

type migrateDownCmd struct{}

func (migrateDownCmd) Run(p *process, c *cli) error {
	return c.Migrate.with(func(m *postgres.Migrator) error {
		undone, err := m.Down(p.ctx)
		if err != nil {
			return err
		}
		for _, name := range undone {
			fmt.Fprintln(p.stdout, "took back", name)
		}
		return nil
	})
}

type migrateStatusCmd struct{}

func (migrateStatusCmd) Run(p *process, c *cli) error {
	return c.Migrate.with(func(m *postgres.Migrator) error {
		states, err := m.Status(p.ctx)
		if err != nil {
			return err
		}
		for _, s := range states {
			state := "pending"
			if s.Applied {
				state = "applied"
			}
			fmt.Fprintf(p.stdout, "%-8s %s\n", state, s.Name)
		}
		return nil
	})
}
