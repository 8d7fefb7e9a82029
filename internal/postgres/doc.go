// Package postgres is the only room that speaks to Postgres. It holds every transaction and the single append path.
//
// An exported method owns its transaction, and each one that reads or writes records takes the tenant as a parameter, so
// that no query can forget it. Driver errors become the errors of internal/kinds here and nowhere else.
package postgres
