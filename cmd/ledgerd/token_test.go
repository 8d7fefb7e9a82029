package main

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"ledgerd/client"
	"ledgerd/internal/kinds"
)

// tokens runs `ledgerd token` as the role.
func (s *served) tokens(t *testing.T, role kinds.Role, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	writeFile(t, file, s.Tokens[role]+"\n")
	return inProcess(t, append([]string{"token", "--url", s.URL, "--token-file", file}, args...)...)
}

func TestTokenLifecycle(t *testing.T) {
	t.Parallel()
	s := serveLedger(t)
	status, secret, about := s.tokens(t, kinds.Admin, "create", "--role", "auditor", "--name", "year's end", "--expires", "30d")
	id := regexp.MustCompile(`^tok_\w+`).FindString(about)
	if status != 0 || id == "" || !strings.Contains(about, `auditor token "year's end" of tenant "acme", good until `+day(time.Now().AddDate(0, 0, 30))) {
		t.Fatalf("status %d: %s", status, about)
	}
	secret = strings.TrimSuffix(secret, "\n")
	auditor, err := client.New(s.URL, secret)
	if err != nil {
		t.Fatalf("the output is more than the token: %v", err)
	}
	if _, err := auditor.TrustPolicy(t.Context()); statusOf(err) != 404 {
		t.Errorf("the new token: %v", err)
	}
	listed := func(state string) {
		t.Helper()
		status, out, problems := s.tokens(t, kinds.Admin, "list")
		wants(t, out, `ID +ROLE +STATE +CREATED +EXPIRES +NAME`, id+` +auditor +`+state+` +20\S+ +20\S+ +year's end`)
		if status != 0 || problems != "" || strings.Contains(out, secret) {
			t.Errorf("status %d: %s", status, problems)
		}
	}
	listed("active")
	for range 2 { // revoking again changes nothing
		if status, out, problems := s.tokens(t, kinds.Admin, "revoke", id); status != 0 || out != id+": auditor token \"year's end\" is revoked\n" {
			t.Errorf("status %d: %s%s", status, out, problems)
		}
	}
	listed("revoked")
	if _, err := auditor.TrustPolicy(t.Context()); statusOf(err) != 401 {
		t.Errorf("the revoked token: %v", err)
	}
}

func TestTokenRefusals(t *testing.T) {
	t.Parallel()
	s := serveLedger(t)
	for _, c := range []struct {
		role   kinds.Role
		args   string
		status int
		want   string
	}{
		{kinds.Host, "list", 1, "403 forbidden"},
		{kinds.Admin, "revoke tok_nobody", 1, "404 not-found"},
		{kinds.Admin, "create --role operator --name n", 2, "--role"},
		{kinds.Admin, "create --role host", 2, "--name"},
		{kinds.Admin, "create --role host --name n --expires 0d", 1, "--expires takes days"},
		{kinds.Admin, "create --role host --name n --expires 401d", 1, "--expires takes days"},
		{kinds.Admin, "create --role host --name n --expires tomorrow", 1, "--expires takes days"},
		{kinds.Admin, "create --role host --name n --expires 2020-01-01T00:00:00Z", 1, "400 invalid-value at /expires_at"},
		{kinds.Operator, "list", 1, "403 forbidden"},
	} {
		status, out, problems := s.tokens(t, c.role, strings.Fields(c.args)...)
		if status != c.status || !strings.Contains(problems, c.want) || out != "" || strings.Contains(problems, "ldg_") {
			t.Errorf("%s as %s: status %d, %s%s", c.args, c.role, status, out, problems)
		}
	}
}

// The admin token comes from the environment, a file or standard input.
func TestTokenSources(t *testing.T) {
	s := serveLedger(t)
	t.Setenv(tokenVariable, "")
	if status, _, problems := inProcess(t, "token", "list", "--url", s.URL); status != 1 || !strings.Contains(problems, "set LEDGERD_TOKEN or give --token-file") {
		t.Errorf("without: status %d, %s", status, problems)
	}
	t.Setenv(tokenVariable, s.Tokens[kinds.Admin])
	t.Setenv("LEDGERD_URL", s.URL)
	if status, out, problems := inProcess(t, "token", "list"); status != 0 || !strings.Contains(out, "bootstrap") {
		t.Errorf("by environment: status %d, %s", status, problems)
	}
	t.Setenv(tokenVariable, "not the one")
	var out, problems bytes.Buffer
	if status := run(t.Context(), []string{"token", "list", "--token-file=-"}, strings.NewReader(s.Tokens[kinds.Admin]), &out, &problems); status != 0 || !strings.Contains(out.String(), "bootstrap") {
		t.Errorf("by standard input: status %d, %s", status, problems.String())
	}
	if status, _, problems := inProcess(t, "token", "list", "--token-file", filepath.Join(t.TempDir(), "none")); status != 1 || !strings.Contains(problems, "reading the admin token") {
		t.Errorf("by a missing file: status %d, %s", status, problems)
	}
}

func TestParseExpiry(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for in, want := range map[string]time.Time{
		"1d": now.Add(24 * time.Hour), "400d": now.Add(400 * 24 * time.Hour), "2027-01-31T01:00:00+01:00": time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC),
	} {
		if got, err := parseExpiry(in, now); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "d", "-1d", "1.5d", "90", "90D", "9999999999999999999d", "2027-01-31"} {
		if got, err := parseExpiry(in, now); err == nil {
			t.Errorf("%q is read as %v", in, got)
		}
	}
}

func TestTokenStates(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for want, token := range map[string]client.Token{
		"active": {ExpiresAt: now.Add(time.Nanosecond)}, "expired": {ExpiresAt: now}, "revoked": {ExpiresAt: now, RevokedAt: &now},
	} {
		var b strings.Builder
		printToken(&b, token, now)
		if got := strings.Split(b.String(), "\t")[2]; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
