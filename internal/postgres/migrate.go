package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"ledgerd/migrations"
)

// Migrator changes the schema, as the owner role. Several at once wait for each other by an advisory lock.
type Migrator struct {
	provider *goose.Provider
	close    func() error
	conn     *pgx.ConnConfig
}

// OpenMigrator connects as the owner.
func OpenMigrator(url string) (*Migrator, error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, errors.New("the migration URL is malformed (its text is not shown, it may hold a password)")
	}
	cfg.RuntimeParams["application_name"] = "ledgerd migrate"
	files, err := fs.Sub(migrations.Postgres, "postgres")
	if err != nil {
		return nil, err
	}
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return nil, err
	}
	db := stdlib.OpenDB(*cfg)
	p, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithSessionLocker(locker), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reading migrations: %w", err), db.Close())
	}
	return &Migrator{provider: p, close: db.Close, conn: cfg}, nil
}

// Close ends the connection.
func (m *Migrator) Close() error { return m.close() }

// Up applies what is missing and returns the names of what it applied.
func (m *Migrator) Up(ctx context.Context) ([]string, error) {
	results, err := m.provider.Up(ctx)
	if err != nil {
		return nil, fmt.Errorf("migrating up: %w", err)
	}
	return names(results), nil
}

// ErrHasEntries refuses to take down a log that holds something.
var ErrHasEntries = errors.New("the log has entries: migrating down would destroy them")

// Down takes the newest migration back, unless the log has entries.
func (m *Migrator) Down(ctx context.Context) ([]string, error) {
	if err := m.refuseEntries(ctx); err != nil {
		return nil, err
	}
	result, err := m.provider.Down(ctx)
	if err != nil {
		return nil, fmt.Errorf("migrating down: %w", err)
	}
	return names([]*goose.MigrationResult{result}), nil
}

func (m *Migrator) refuseEntries(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, m.conn)
	if err != nil {
		return fmt.Errorf("looking for entries: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var table *string
	if err := conn.QueryRow(ctx, `SELECT to_regclass('ledger.entries')::text`).Scan(&table); err != nil {
		return fmt.Errorf("looking for entries: %w", err)
	}
	if table == nil {
		return nil
	}
	var some bool
	if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM ledger.entries)`).Scan(&some); err != nil {
		return fmt.Errorf("looking for entries: %w", err)
	}
	if some {
		return ErrHasEntries
	}
	return nil
}

func names(results []*goose.MigrationResult) []string {
	var list []string
	for _, r := range results {
		list = append(list, r.Source.Path)
	}
	return list
}

// MigrationState is one migration and whether it is applied.
type MigrationState struct {
	Version int64
	Name    string
	Applied bool
}

// Status lists all migrations, oldest first.
func (m *Migrator) Status(ctx context.Context) ([]MigrationState, error) {
	states, err := m.provider.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the migration status: %w", err)
	}
	list := make([]MigrationState, 0, len(states))
	for _, s := range states {
		list = append(list, MigrationState{s.Source.Version, s.Source.Path, s.State == goose.StateApplied})
	}
	return list, nil
}

// ErrSchema says that the database's schema is not the one this binary was built for.
var ErrSchema = errors.New("the database schema does not fit this version of ledgerd")

// CheckSchema refuses a database whose newest migration is not this binary's newest.
func (s *Store) CheckSchema(ctx context.Context) error {
	want, err := newestMigration()
	if err != nil {
		return err
	}
	var have *int64
	err = s.pool.QueryRow(ctx, `SELECT max(version_id) FROM public.goose_db_version WHERE is_applied`).Scan(&have)
	if err != nil || have == nil {
		return fmt.Errorf("%w: it has none; run `ledgerd migrate up`", errors.Join(ErrSchema, unavailable(err)))
	}
	if *have != want {
		return fmt.Errorf("%w: it is at version %d, this binary needs %d; run `ledgerd migrate up` with the newer of the two", ErrSchema, *have, want)
	}
	return nil
}

func newestMigration() (int64, error) {
	files, err := fs.Glob(migrations.Postgres, "postgres/*.sql")
	if err != nil || len(files) == 0 {
		return 0, errors.Join(errors.New("no migrations are embedded"), err)
	}
	var newest int64
	for _, f := range files {
		v, err := goose.NumericComponent(f)
		if err != nil {
			return 0, err
		}
		newest = max(newest, v)
	}
	return newest, nil
}
