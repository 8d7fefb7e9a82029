package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/pressly/goose/v3"

	"ledgerd/migrations"
)

// Migrate makes or changes the projection's schema and returns the names of what it applied.
func Migrate(ctx context.Context, dsn string) (applied []string, err error) {
	o, err := options(dsn)
	if err != nil {
		return nil, err
	}
	files, err := fs.Sub(migrations.ClickHouse, "clickhouse")
	if err != nil {
		return nil, err
	}
	db := ch.OpenDB(o)
	defer func() { err = errors.Join(err, db.Close()) }()
	p, err := goose.NewProvider(goose.DialectClickHouse, db, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return nil, fmt.Errorf("reading the ClickHouse migrations: %w", err)
	}
	results, err := p.Up(ctx)
	if err != nil {
		return nil, fmt.Errorf("migrating ClickHouse: %w", err)
	}
	for _, r := range results {
		applied = append(applied, r.Source.Path)
	}
	return applied, nil
}
