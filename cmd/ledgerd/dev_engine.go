package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"ledgerd/internal/clickhouse"
	"ledgerd/internal/devstack/engine"
)

// The values of `ledgerd dev --clickhouse` that are no URL.
const (
	clickhouseEmbedded = "embedded"
	clickhouseOff      = "off"
)

// startClickHouse provides ClickHouse as the user asks for it and returns its URL, "" for none, and what stops it. A machine
// that can't run the embedded engine gets one line, and the product runs without.
func startClickHouse(ctx context.Context, asked, dir string, log io.Writer) (url string, stop func() error, err error) {
	stop = func() error { return nil }
	switch asked {
	case clickhouseOff:
		return "", stop, nil
	case clickhouseEmbedded:
		e, err := startEngine(ctx, filepath.Join(dir, "clickhouse"), log)
		if err != nil {
			fmt.Fprintf(log, "running without ClickHouse: %v\n", err)
			return "", stop, nil
		}
		url, stop = e.URL(), e.Stop
	default:
		url = asked
	}
	if _, err := clickhouse.Migrate(ctx, url); err != nil {
		return "", stop, errors.Join(err, stop())
	}
	return url, stop, nil
}

func startEngine(ctx context.Context, folder string, log io.Writer) (*engine.Engine, error) {
	library, err := engine.FindLibrary()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return engine.Start(ctx, engine.Options{Folder: folder, Library: library, Command: []string{self, "engine"}, Log: log})
}
