package main

import (
	"testing"

	"ledgerd/internal/devstack/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }
