// Package migrations holds the SQL that makes and changes the database schemas, applied by goose in order.
package migrations

import "embed"

// Postgres holds the migrations of the truth, in postgres/. They run as the owner role, never as the service.
//
//go:embed postgres/*.sql
var Postgres embed.FS

// ClickHouse holds the migrations of the projection, in clickhouse/.
//
//go:embed clickhouse/*.sql
var ClickHouse embed.FS
