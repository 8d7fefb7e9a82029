package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"

	"ledgerd/ledger"
)

// verifyLogCmd is a monitor, to be run regularly: it shows that a log only grew since the checkpoint that the last run kept.
// Exit status: 0 it did, and the newer checkpoint is kept; 1 it did not, or what it publishes does not prove: somebody must
// look; 2 it could not be checked.
type verifyLogCmd struct {
	URL         string        `required:"" env:"LEDGERD_URL" placeholder:"URL" help:"The service whose log is watched. No token is needed."`
	LogKey      []string      `required:"" env:"LEDGERD_LOG_KEY" sep:" " placeholder:"VKEY" help:"Verifier key of the log, got in another way than from the service. Repeat it while the log changes its key."`
	Since       string        `required:"" placeholder:"FILE" type:"path" help:"File that keeps the newest checkpoint that was verified. Keep it where whoever runs the service can't write."`
	Init        bool          `help:"Believe the first checkpoint and keep it; FILE must not exist. Everything later is held against it."`
	Incarnation int           `default:"0" placeholder:"N" help:"Watch the log of the N-th incarnation, opened after a restore, with its own key and FILE."`
	Timeout     time.Duration `default:"30s" help:"Longest wait for one answer of the service."`
}

func (c *verifyLogCmd) Run(p *process) error {
	err := c.watch(p)
	var alarm *logAlarm
	switch {
	case err == nil, p.ctx.Err() != nil:
		return err
	case errors.As(err, &alarm):
		fmt.Fprintf(p.stderr, "ledgerd: ALARM: %s\n", alarm.problem)
		return errors.Join(c.keepAlarm(p, alarm), exitError(1))
	}
	fmt.Fprintln(p.stderr, "ledgerd: the log could not be checked:", err)
	return exitError(2)
}

// logAlarm says that a log is not what it was, or does not prove.
type logAlarm struct {
	problem  string
	kept, is []byte // signed notes; nil where there is none
}

func (a *logAlarm) Error() string { return a.problem }

func (c *verifyLogCmd) watch(p *process) error {
	origin, verifiers, err := oneLog(c.LogKey)
	if err != nil {
		return err
	}
	kept, err := c.kept(origin, verifiers)
	if err != nil {
		return err
	}
	site, err := newLogSite(c.URL, c.Incarnation, c.Timeout)
	if err != nil {
		return err
	}
	text, successor, err := site.checkpoint(p.ctx)
	if err != nil {
		return err
	}
	newest, err := ledger.OpenCheckpoint(text, origin, verifiers...)
	if err != nil {
		return &logAlarm{problem: fmt.Sprintf("%s publishes a checkpoint that is not signed by a given key of %q", c.URL, origin), kept: kept.Note(), is: text}
	}
	if successor {
		fmt.Fprintf(p.stderr, "a new log took this one's place after a restore: watch it too, with --incarnation %d, its own key and FILE\n", c.Incarnation+1)
	}
	if kept.Valid() {
		if err := site.grew(p.ctx, kept, newest); err != nil {
			return err
		}
	}
	return c.keep(p, kept, newest)
}

// oneLog reads the verifier keys, which must be of one log.
func oneLog(keys []string) (origin string, verifiers []note.Verifier, err error) {
	origin, _, _ = strings.Cut(keys[0], "+")
	if verifiers, err = ledger.ParseVerifierKeys(origin, keys...); err != nil {
		return "", nil, fmt.Errorf("reading --log-key: %w", err)
	}
	return origin, verifiers, nil
}

// kept is the checkpoint of the last run; its zero value on the first run, which must be asked for.
func (c *verifyLogCmd) kept(origin string, verifiers []note.Verifier) (none ledger.SignedCheckpoint, err error) {
	raw, err := os.ReadFile(c.Since)
	switch {
	case errors.Is(err, os.ErrNotExist) && c.Init:
		return none, nil
	case errors.Is(err, os.ErrNotExist):
		return none, fmt.Errorf("there is no checkpoint in %s: copy one there that you trust, or believe the log's own once with --init", c.Since)
	case err != nil:
		return none, fmt.Errorf("reading the kept checkpoint: %w", err)
	case c.Init:
		return none, fmt.Errorf("%s exists already: leave out --init", c.Since)
	}
	kept, err := ledger.OpenCheckpoint(raw, origin, verifiers...)
	if err != nil {
		return none, fmt.Errorf("reading the kept checkpoint %s: %w", c.Since, err)
	}
	return kept, nil
}

// keep puts the newest checkpoint in the place of the kept one, all or nothing.
func (c *verifyLogCmd) keep(p *process, kept, newest ledger.SignedCheckpoint) error {
	var text string
	now := newest.Checkpoint()
	switch before := kept.Checkpoint(); {
	case !kept.Valid():
		text = fmt.Sprintf("first checkpoint of %s: %d entries, believed as it is", now.Origin, now.Size)
	case before.Size == now.Size:
		text = fmt.Sprintf("unchanged: %s has %d entries", now.Origin, now.Size)
	default:
		text = fmt.Sprintf("consistent: %s grew from %d to %d entries", now.Origin, before.Size, now.Size)
	}
	if err := replaceFile(c.Since, newest.Note()); err != nil {
		return fmt.Errorf("keeping the checkpoint: %w", err)
	}
	_, err := fmt.Fprintf(p.stdout, "%s; kept in %s\n", text, c.Since)
	return err
}

// keepAlarm prints both checkpoints, and keeps the new one beside the kept one, which stays as it is: together they are the
// proof of what the log did.
func (c *verifyLogCmd) keepAlarm(p *process, a *logAlarm) error {
	for _, n := range []struct {
		what string
		text []byte
	}{{"the checkpoint that was kept", a.kept}, {"the checkpoint that is published now", a.is}} {
		if n.text != nil {
			fmt.Fprintf(p.stderr, "%s:\n%s\n", n.what, quoteLines(n.text))
		}
	}
	if a.is == nil {
		return nil
	}
	sum := sha256.Sum256(a.is)
	path := c.Since + ".alarm-" + hex.EncodeToString(sum[:4])
	if err := replaceFile(path, a.is); err != nil {
		return fmt.Errorf("keeping the other checkpoint: %w", err)
	}
	_, err := fmt.Fprintf(p.stderr, "the first stays in %s, the second is kept in %s: keep both, they are the proof\n", c.Since, path)
	return err
}

// quoteLines indents a note, and keeps what is in it from steering the terminal.
func quoteLines(text []byte) string {
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		b.WriteString("    " + printable(strings.TrimSuffix(line, "\n")) + "\n")
	}
	return b.String()
}

// logPath is where an incarnation's log is published.
func logPath(incarnation int) string {
	if incarnation == 0 {
		return "/log/"
	}
	return "/log/" + strconv.Itoa(incarnation) + "/"
}
