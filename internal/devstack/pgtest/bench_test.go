package pgtest_test

import (
	"testing"

	"ledgerd/internal/devstack/pgtest"
)

// What a database of its own costs a test.
func BenchmarkTemplateNewDatabase(b *testing.B) {
	template.NewDatabase(b) // prepares it
	for b.Loop() {
		template.NewDatabase(b)
	}
}

func BenchmarkNewDatabase(b *testing.B) {
	for b.Loop() {
		pgtest.NewDatabase(b)
	}
}
