package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"ledgerd/client"
)

// tokenCmd manages the tokens of one tenant over the API, with an admin token.
type tokenCmd struct {
	apiFlags

	Create tokenCreateCmd `cmd:"" help:"Make a token. It is printed on standard output, this once."`
	List   tokenListCmd   `cmd:"" help:"List the tokens, expired and revoked ones included."`
	Revoke tokenRevokeCmd `cmd:"" help:"Revoke a token at once and for good."`
}

type tokenCreateCmd struct {
	Role    string `required:"" enum:"host,auditor,billing,admin" help:"What it may be used for: host, auditor, billing or admin."`
	Name    string `required:"" help:"What it is for, for people."`
	Expires string `default:"90d" placeholder:"90d" help:"Days, such as 90d, or an RFC 3339 time; at most 400 days ahead."`
}

// Run prints the token alone on standard output, for scripts, and what it is on standard error, for people.
func (c *tokenCreateCmd) Run(p *process, parent *tokenCmd) error {
	expires, err := parseExpiry(c.Expires, time.Now())
	if err != nil {
		return err
	}
	api, err := parent.client(p, "admin")
	if err != nil {
		return err
	}
	t, err := api.CreateToken(p.ctx, client.NewToken{Role: c.Role, Name: c.Name, ExpiresAt: expires})
	if err != nil {
		return err
	}
	fmt.Fprintf(p.stderr, "%s: %s token %q of tenant %q, good until %s; it is shown this once:\n",
		t.ID, t.Role, t.Name, t.Tenant, t.ExpiresAt.UTC().Format(time.RFC3339))
	_, err = fmt.Fprintln(p.stdout, t.Secret)
	return err
}

// parseExpiry reads days from now, or an instant.
func parseExpiry(s string, now time.Time) (time.Time, error) {
	if digits, ok := strings.CutSuffix(s, "d"); ok {
		if days, err := strconv.Atoi(digits); err == nil && days > 0 && days <= 400 {
			return now.Add(time.Duration(days) * 24 * time.Hour), nil
		}
	} else if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	return time.Time{}, errors.New("--expires takes days from 1d to 400d, or an RFC 3339 time such as 2027-01-31T00:00:00Z")
}

type tokenListCmd struct{}

// Run prints what came before an error too.
func (tokenListCmd) Run(p *process, parent *tokenCmd) error {
	api, err := parent.client(p, "admin")
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	header := "ID\tROLE\tSTATE\tCREATED\tEXPIRES\tNAME\n"
	for t, err := range api.Tokens(p.ctx) {
		if err != nil {
			return errors.Join(w.Flush(), err)
		}
		fmt.Fprint(w, header)
		header = ""
		printToken(w, t, time.Now())
	}
	return w.Flush()
}

func printToken(w io.Writer, t client.Token, now time.Time) {
	state := "active"
	switch {
	case t.RevokedAt != nil:
		state = "revoked"
	case !now.Before(t.ExpiresAt):
		state = "expired"
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", t.ID, t.Role, state, day(t.CreatedAt), day(t.ExpiresAt), t.Name)
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

type tokenRevokeCmd struct {
	ID string `arg:"" help:"The token's id, as listed: tok_…"`
}

func (c *tokenRevokeCmd) Run(p *process, parent *tokenCmd) error {
	api, err := parent.client(p, "admin")
	if err != nil {
		return err
	}
	t, err := api.RevokeToken(p.ctx, c.ID)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "%s: %s token %q is revoked\n", t.ID, t.Role, t.Name)
	return err
}
