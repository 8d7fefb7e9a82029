package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSecretsAreFoundByTenantAndName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(tenant, name, text string, mode os.FileMode) {
		t.Helper()
		folder := filepath.Join(dir, tenantFolder(tenant))
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("acme", "key", "sk_acme\n", 0o600)
	write("acme", "hook", "whsec_new\nwhsec_old\n", 0o600)
	write("acme", "open", "sk_open\n", 0o644)
	write("acme", "empty", "\n", 0o600)
	write("../acme", "key", "sk_dots", 0o600)
	env := map[string]string{"LEDGERD_SECRET_A_B__KEY": "sk_env", "LEDGERD_SECRET_ACME__KEY": "sk_not_asked"}
	s := secretStore{folder: dir, env: func(name string) string { return env[name] }}
	for _, c := range []struct{ tenant, name, want string }{
		{"acme", "key", "sk_acme"}, // the file first
		{"acme", "hook", "whsec_new whsec_old"},
		{"../acme", "key", "sk_dots"},
		{"a-b", "key", "sk_env"},
	} {
		got, err := s.lookup(c.tenant, c.name)
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%s %s: %q, %v", c.tenant, c.name, got, err)
		}
	}
	for _, c := range []struct{ tenant, name, says string }{
		{"acme", "open", "chmod 600"},
		{"acme", "empty", "not set"},
		{"acme", "unset", "LEDGERD_SECRET_ACME__UNSET"},
		{"other", "key", "not set"},
		{"a/b", "key", "not set"},
		{"acme", "../acme/key", "malformed"},
		{"acme", "", "malformed"},
	} {
		_, err := s.lookup(c.tenant, c.name)
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "sk_") {
			t.Errorf("%s %s: %v", c.tenant, c.name, err)
		}
	}
	if a, b := secretVariable("a", "b__c"), secretVariable("a-b", "c"); a == b || secretVariable("a--b", "c") != "" || secretVariable("A", "c") != "" {
		t.Error(a, b)
	}
}
