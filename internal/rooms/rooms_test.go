// Package rooms_test enforces the law of rooms in docs/architecture.md: who may import whom.
package rooms_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// cores are pure: inputs in, verdict out. They are also all that a core may import of ours, as listed below.
var cores = []string{"ledger", "receipts", "receipts/air", "frames", "metering", "metering/billing", "assembly"}

// may is the law: which of our packages each room may import. A room that is not listed may not exist.
var may = map[string][]string{
	"cmd/ledgerd":                  {"*"},
	"api":                          {"+cores", "internal/kinds", "internal/audit", "internal/audit/evidence", "internal/strictjson"},
	"client":                       {"+cores"},
	"migrations":                   {},
	"web":                          {},
	"ledger":                       {"internal/strictjson"},
	"frames":                       {"internal/strictjson"},
	"receipts":                     {"frames", "internal/strictjson"},
	"receipts/air":                 {"internal/strictjson"},
	"metering":                     {"frames", "internal/strictjson"},
	"metering/billing":             {"frames", "metering", "internal/strictjson"},
	"assembly":                     {"internal/strictjson"},
	"internal/strictjson":          {},
	"internal/kinds":               {"+cores", "internal/strictjson"},
	"internal/audit":               {"+cores", "internal/kinds", "internal/strictjson"},
	"internal/audit/evidence":      {"+cores", "internal/kinds", "internal/audit", "internal/strictjson"},
	"internal/postgres":            {"+cores", "internal/kinds", "internal/audit", "internal/audit/evidence", "migrations"},
	"internal/postgres/ledgertest": {"+cores", "internal/kinds", "internal/postgres", "internal/devstack/pgtest"},
	"internal/clickhouse":          {"frames", "metering", "migrations"},
	"internal/stripe":              {"metering/billing"},
	"internal/relay":               {"metering", "metering/billing", "internal/audit"},
	"internal/devstack":            {},
	"internal/devstack/pgtest":     {"internal/devstack"},
	"internal/devstack/engine":     {},
	"internal/devstack/chtest":     {"internal/devstack/engine"},
	"internal/devstack/stripefake": {},
	"internal/rooms":               {},
}

// coreLibraries are the foreign modules that a core may import.
var coreLibraries = []string{"golang.org/x/mod/", "github.com/transparency-dev/merkle", "filippo.io/torchwood", "github.com/go-json-experiment/json", "github.com/gowebpki/jcs"}

// impure are standard packages that do I/O, read a clock's worth of state or draw randomness. A core needs none; time.Time
// it may hold, time.Now it may not call, which TestCoresReadNoClock looks after.
var impure = []string{"os", "os/exec", "net", "net/http", "io/ioutil", "log", "log/slog", "database/sql", "math/rand", "math/rand/v2", "crypto/rand", "syscall"}

// vendors says which rooms may import a vendor's driver.
var vendors = map[string][]string{
	"github.com/jackc/pgx":                {"internal/postgres", "internal/postgres/ledgertest", "internal/devstack", "internal/devstack/pgtest"},
	"github.com/pressly/goose":            {"internal/postgres", "internal/clickhouse"},
	"github.com/ClickHouse/clickhouse-go": {"internal/clickhouse", "internal/devstack/engine"},
	"github.com/ebitengine/purego":        {"internal/devstack/engine"},
	"github.com/stripe/stripe-go":         {"internal/stripe"},
	"github.com/go-chi/chi":               {"api"},
	"github.com/prometheus/client_golang": {"api", "cmd/ledgerd"},
	"github.com/alecthomas/kong":          {"cmd/ledgerd"},
	"github.com/google/jsonschema-go":     {"api"},
}

type pkg struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
}

func ours(t *testing.T) map[string]pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Dir,GoFiles,Imports", "ledgerd/...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	packages := map[string]pkg{}
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages[strings.TrimPrefix(p.ImportPath, "ledgerd/")] = p
	}
}

func TestRooms(t *testing.T) {
	t.Parallel()
	for room, p := range ours(t) {
		allowed, known := may[room]
		if !known {
			t.Errorf("%s is a room that the law does not know: add it to docs/architecture.md and here", room)
			continue
		}
		for _, path := range p.Imports {
			if of, isOurs := strings.CutPrefix(path, "ledgerd/"); isOurs {
				inCores := slices.Contains(allowed, "+cores") && slices.Contains(cores, of)
				if !inCores && !slices.Contains(allowed, of) && !slices.Contains(allowed, "*") {
					t.Errorf("%s may not import %s", room, of)
				}
			}
			for vendor, rooms := range vendors {
				if strings.HasPrefix(path, vendor) && !slices.Contains(rooms, room) {
					t.Errorf("%s may not import %s", room, path)
				}
			}
			if slices.Contains(cores, room) || room == "internal/kinds" || strings.HasPrefix(room, "internal/audit") || room == "internal/strictjson" {
				pure(t, room, path)
			}
		}
	}
}

func pure(t *testing.T, room, path string) {
	t.Helper()
	if slices.Contains(impure, path) {
		t.Errorf("%s is pure and may not import %s", room, path)
	}
	foreign := strings.Contains(strings.SplitN(path, "/", 2)[0], ".")
	if foreign && !slices.ContainsFunc(coreLibraries, func(lib string) bool { return strings.HasPrefix(path, lib) }) {
		t.Errorf("%s is pure and may not import %s", room, path)
	}
}
