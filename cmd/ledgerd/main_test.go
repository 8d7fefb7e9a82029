package main

import (
	"os"
	"testing"

	"ledgerd/internal/devstack/chtest"
	"ledgerd/internal/devstack/pgtest"
)

func TestMain(m *testing.M) {
	stop := chtest.Setup() // ledgerd dev, run by a test, starts this test binary as its engine
	code := pgtest.Run(m)
	stop()
	os.Exit(code)
}
