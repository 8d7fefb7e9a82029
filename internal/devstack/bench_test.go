package devstack

import (
	"path/filepath"
	"strconv"
	"testing"
)

// A first start, with initdb and full durability, and its stop.
func BenchmarkColdStart(b *testing.B) {
	dir := newDir(b)
	for i := 0; b.Loop(); i++ {
		startAndStop(b, filepath.Join(dir, strconv.Itoa(i)))
	}
}

// A start on a folder that has a cluster, and its stop.
func BenchmarkWarmStart(b *testing.B) {
	dir := newDir(b)
	startAndStop(b, dir)
	for b.Loop() {
		startAndStop(b, dir)
	}
}

func startAndStop(b *testing.B, dir string) {
	b.Helper()
	p, err := StartPostgres(b.Context(), PostgresOptions{DataDir: dir})
	check(b, err)
	check(b, p.Stop(b.Context()))
}
