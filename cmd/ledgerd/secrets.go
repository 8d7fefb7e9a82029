package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"ledgerd/metering/billing"
)

// secretStore finds the secrets that billing configurations name: in a file TENANT/NAME below a folder, else in the
// environment. Both are found by tenant and name together, so that no tenant's configuration reaches another's account.
// They are read anew each time, so that exchanging one needs no restart. Nothing here says what a secret is.
type secretStore struct {
	folder string // "" for none
	env    func(string) string
}

const maxSecretFile = 64 << 10

// plainTenant is a tenant's id that can be a folder's name, and with its hyphens as underscores part of a variable's.
var plainTenant = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// lookup returns the secrets under a name, one a line or separated by spaces: the second and later ones of a webhook hold while
// it is exchanged.
func (s secretStore) lookup(tenant, name string) ([]string, error) {
	if !billing.IsReference(name) {
		return nil, errors.New("the name of a secret is malformed")
	}
	text, err := s.read(tenant, name)
	if err != nil {
		return nil, err
	}
	if secrets := strings.Fields(text); len(secrets) > 0 {
		return secrets, nil
	}
	return nil, fmt.Errorf("the secret %q is not set: %s", name, s.places(tenant, name))
}

func (s secretStore) read(tenant, name string) (string, error) {
	if s.folder != "" {
		path := filepath.Join(s.folder, tenantFolder(tenant), name)
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return "", fmt.Errorf("reading the secret %q: %w", name, err)
		case !info.Mode().IsRegular() || info.Size() > maxSecretFile:
			return "", fmt.Errorf("the secret %q is not in a regular file of at most 64 KiB", name)
		case info.Mode().Perm()&0o077 != 0:
			return "", fmt.Errorf("the file of the secret %q can be read by others: chmod 600 %s", name, path)
		default:
			raw, err := os.ReadFile(path)
			if err != nil {
				return "", fmt.Errorf("reading the secret %q: %w", name, err)
			}
			return string(raw), nil
		}
	}
	if variable := secretVariable(tenant, name); variable != "" {
		return s.env(variable), nil
	}
	return "", nil
}

// places says where a secret is looked for.
func (s secretStore) places(tenant, name string) string {
	var list []string
	if s.folder != "" {
		list = append(list, "put it into "+filepath.Join(s.folder, tenantFolder(tenant), name)+" (chmod 600)")
	}
	if variable := secretVariable(tenant, name); variable != "" {
		list = append(list, "set "+variable+" in the service's environment")
	}
	if len(list) == 0 {
		return "this tenant's id fits no variable; start the service with --billing-secrets"
	}
	return strings.Join(list, ", or ")
}

// tenantFolder is the tenant's id where that is a plain name, else its digest: an id may hold slashes and dots. No plain name
// looks like a digest's, which has an underscore.
func tenantFolder(tenant string) string {
	if plainTenant.MatchString(tenant) && len(tenant) <= 63 {
		return tenant
	}
	sum := sha256.Sum256([]byte(tenant))
	return "sha256_" + hex.EncodeToString(sum[:])
}

// secretVariable is the environment variable of a secret, "" where the tenant's id can't be part of one. A tenant's part never
// has two underscores in a row, so the first two end it.
func secretVariable(tenant, name string) string {
	if !plainTenant.MatchString(tenant) {
		return ""
	}
	return "LEDGERD_SECRET_" + strings.ToUpper(strings.ReplaceAll(tenant+"__"+name, "-", "_"))
}
