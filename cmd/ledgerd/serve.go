package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"ledgerd/internal/postgres"
	"ledgerd/ledger"
)

// logFlags say what is logged, and how.
type logFlags struct {
	LogLevel  string `enum:"debug,info,warn,error" default:"info" env:"LEDGERD_LOG_LEVEL" help:"Least severe level to log: debug, info, warn or error."`
	LogFormat string `enum:"text,json" default:"text" env:"LEDGERD_LOG_FORMAT" help:"Form of the log: text or json."`
}

func (f logFlags) logger(w io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.LogLevel)); err != nil {
		level = slog.LevelInfo // the flag's enum admits no other
	}
	o := &slog.HandlerOptions{Level: level}
	if f.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// serveCmd runs the service against a real database.
type serveCmd struct {
	logFlags
	selfAuditFlags
	billingFlags
	Listen         string `default:"127.0.0.1:8080" env:"LEDGERD_LISTEN" help:"Address of the public listener."`
	PrivateListen  string `default:"" env:"LEDGERD_PRIVATE_LISTEN" placeholder:"ADDR" help:"Address of the private listener for metrics and profiles; none when empty. It asks for no token."`
	DatabaseURL    string `required:"" env:"LEDGERD_DATABASE_URL" placeholder:"URL" help:"Postgres URL of the service role (ledger_svc). An owner or superuser is refused."`
	SigningKey     string `env:"LEDGERD_SIGNING_KEY" placeholder:"KEY" help:"The log's signing key, as made by 'ledgerd key new'. Prefer the file."`
	SigningKeyFile string `env:"LEDGERD_SIGNING_KEY_FILE" placeholder:"FILE" type:"path" help:"File that holds the log's signing key. To change the key put the new one, of the same name, on the first line and keep the old one below until everybody knows the new one."`
	ClickhouseURL  string `env:"LEDGERD_CLICKHOUSE_URL" placeholder:"URL" help:"ClickHouse to ship usage to: clickhouse://, http:// or https://. Prepared by 'ledgerd migrate'; none when empty."`
	CheckpointFile string `required:"" env:"LEDGERD_CHECKPOINT_FILE" placeholder:"FILE" type:"path" help:"File outside the database that keeps the newest signed checkpoint, so that a database restored from an older backup is noticed. Give each process its own, on a disk that is not restored with the database."`
	InitCheckpoint bool   `help:"Where there is no such file yet and the log has entries, believe the database's newest checkpoint, this once: for a first start on this machine. Better is a copy of another process's file."`
}

func (c *serveCmd) Run(p *process) error {
	addThread()
	keys, err := readKeys(c.SigningKey, c.SigningKeyFile)
	if err != nil {
		return err
	}
	log := c.logger(p.stderr)
	s, err := newServer(p.ctx, serverOptions{
		Log: log, DatabaseURL: c.DatabaseURL, Keys: keys, Listen: c.Listen, Private: c.PrivateListen, CheckpointFile: c.CheckpointFile, InitCheckpoint: c.InitCheckpoint,
		ClickHouseURL: c.ClickhouseURL, SelfAudit: c.selfAuditFlags, Billing: c.billingFlags,
	})
	if err != nil {
		return err
	}
	log.Info("serving", "url", s.URL(), "origin", keys.Signer.Name(), "version", version())
	err = s.run(p.ctx)
	log.Info("stopped")
	return err
}

// readKeys reads a signing key given as text or by file.
func readKeys(text, file string) (postgres.Keys, error) {
	switch {
	case text != "" && file != "":
		return postgres.Keys{}, errors.New("give the signing key as LEDGERD_SIGNING_KEY or by LEDGERD_SIGNING_KEY_FILE, not both")
	case file != "":
		raw, err := os.ReadFile(file)
		if err != nil {
			return postgres.Keys{}, fmt.Errorf("reading the signing key: %w", err)
		}
		text = string(raw)
	case text == "":
		return postgres.Keys{}, errors.New("a signing key is required: make one with `ledgerd key new`, then set LEDGERD_SIGNING_KEY_FILE")
	}
	return parseKeys(strings.TrimSpace(text))
}

// parseKeys reads signing keys, one a line and all of one name: the first is the log's own, the others sign beside it while
// the log changes its key.
func parseKeys(text string) (postgres.Keys, error) {
	var all []postgres.Keys
	for line := range strings.Lines(text) {
		k, err := parseKey(strings.TrimSpace(line))
		if err != nil {
			return postgres.Keys{}, err
		}
		if len(all) > 0 && k.Signer.Name() != all[0].Signer.Name() {
			return postgres.Keys{}, errors.New("the signing keys have different names: one log has one name, and a new key of it is made with `ledgerd key new --origin NAME`")
		}
		all = append(all, k)
	}
	if len(all) == 0 {
		return postgres.Keys{}, errMalformedKey
	}
	keys := all[0]
	keys.Others = all[1:]
	return keys, nil
}

var errMalformedKey = errors.New("the signing key is malformed (its text is not shown); `ledgerd key new` makes one")

// parseKey derives the verifier from the signer, so that the two can't differ.
func parseKey(signerKey string) (k postgres.Keys, err error) {
	if k.Signer, err = note.NewSigner(signerKey); err != nil {
		return k, errMalformedKey
	}
	if k.VerifierKey, err = ledger.VerifierKey(signerKey); err != nil {
		return k, errMalformedKey
	}
	if k.Verifier, err = note.NewVerifier(k.VerifierKey); err != nil {
		return k, errMalformedKey
	}
	if k.Evidence, err = ledger.EvidenceSigner(signerKey); err != nil {
		return k, errMalformedKey
	}
	return k, nil
}
