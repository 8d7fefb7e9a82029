package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ledgerd/client"
)

// healthcheckCmd is for containers, whose image has no curl.
type healthcheckCmd struct {
	URL string `default:"http://127.0.0.1:8080" env:"LEDGERD_URL" help:"Where the service answers."`
}

func (c *healthcheckCmd) Run(p *process) error {
	if err := ready(p.ctx, c.URL); err != nil {
		return err
	}
	_, err := fmt.Fprintln(p.stdout, c.URL, "is ready")
	return err
}

const readyTimeout = 3 * time.Second

var errNotInTime = errors.New("no answer within 3 seconds")

// ready asks once whether the service at url can record and answer.
func ready(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, errNotInTime)
	defer cancel()
	c, err := client.New(url, "")
	if err != nil {
		return err
	}
	if err = c.Ready(ctx); errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("checking readiness: %w", errNotInTime)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	return nil
}
