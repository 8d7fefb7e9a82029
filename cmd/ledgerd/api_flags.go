package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"ledgerd/client"
)

// apiFlags say where the service is and who asks. The token comes from the environment or a file, never from the command line,
// which every user of the machine can read.
type apiFlags struct {
	URL       string `default:"http://127.0.0.1:8080" env:"LEDGERD_URL" help:"Where the service answers."`
	TokenFile string `env:"LEDGERD_TOKEN_FILE" placeholder:"FILE" help:"File that holds the token, - for standard input. Without it the environment variable LEDGERD_TOKEN must hold it."`
}

const tokenVariable = "LEDGERD_TOKEN"

// client is the API with the token, which must be of the named role.
func (c *apiFlags) client(p *process, role string) (*client.Client, error) {
	token := os.Getenv(tokenVariable)
	if c.TokenFile != "" {
		raw, err := readInput(p.stdin, c.TokenFile, maxHeader)
		if err != nil {
			return nil, fmt.Errorf("reading the %s token: %w", role, err)
		}
		token = string(raw)
	}
	if token = strings.TrimSpace(token); token == "" {
		return nil, errors.New("a token of the role " + role + " is needed: set " + tokenVariable + " or give --token-file")
	}
	return client.New(c.URL, token)
}
