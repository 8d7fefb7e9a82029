package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"ledgerd/internal/audit"
	"ledgerd/internal/audit/evidence"
)

// verifyEvidenceCmd checks an evidence file with nothing but the log's key. Exit status: 0 every check that could be made
// passed, and the given checkpoint was shown to be consistent; 1 a check failed, or that could not be shown; 2 the file can't
// be read as evidence.
type verifyEvidenceCmd struct {
	File       string   `arg:"" type:"existingfile" help:"The evidence file."`
	LogKey     []string `required:"" env:"LEDGERD_LOG_KEY" sep:" " placeholder:"VKEY" help:"Verifier key of the log, as 'ledgerd key show' prints it, from somewhere else than the file. Repeat it for each key that the log had, and for each incarnation whose entries are in the file."`
	Checkpoint string   `placeholder:"FILE" type:"existingfile" help:"A checkpoint of the log that you kept: shows that the log of the file is the same, and only grew. For an older one ask for the evidence with since=SIZE."`
	JSON       bool     `name:"json" help:"Print the report as one JSON object."`
}

func (c *verifyEvidenceCmd) Run(p *process) error {
	if os.Getenv("GOGC") == "" { // what tuneMemory gives the service for speed is no good on an auditor's laptop
		defer debug.SetGCPercent(debug.SetGCPercent(100))
	}
	report, err := c.verify(p)
	var unreadable *evidence.UnreadableError
	switch {
	case errors.As(err, &unreadable):
		c.printUnreadable(p, unreadable)
		return exitError(2)
	case err != nil && p.ctx.Err() != nil:
		return p.ctx.Err()
	case err != nil:
		fmt.Fprintln(p.stderr, "ledgerd:", err)
		return exitError(2)
	}
	shown := c.Checkpoint == "" || report.Check(evidence.CheckConsistency).Result == audit.Passed
	if err := c.print(p.stdout, report, shown); err != nil {
		return err
	}
	if report.Failed() || !shown {
		return exitError(1)
	}
	return nil
}

func (c *verifyEvidenceCmd) verify(p *process) (evidence.Report, error) {
	f, err := os.Open(c.File)
	if err != nil {
		return evidence.Report{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return evidence.Report{}, err
	}
	o := evidence.Options{Keys: c.LogKey, Progress: evidenceProgress(p.stderr, time.Now)}
	if c.Checkpoint != "" {
		if o.Checkpoint, err = os.ReadFile(c.Checkpoint); err != nil {
			return evidence.Report{}, fmt.Errorf("reading the checkpoint: %w", err)
		}
	}
	return evidence.Verify(p.ctx, f, info.Size(), o)
}

// evidenceProgress tells where a check of more than a few seconds is.
func evidenceProgress(w io.Writer, now func() time.Time) func(done, all int64) {
	started := now()
	told := started
	return func(done, all int64) {
		at := now()
		if at.Sub(told) < fsckEvery {
			return
		}
		told = at
		fmt.Fprintf(w, "checked %d of %d entries, %.0f/s\n", done, all, rate(done, at.Sub(started)))
	}
}

// unreadableLine is what is printed of a file that can't be read as evidence.
type unreadableLine struct {
	Unreadable string `json:"unreadable"` // what is wrong
	Place      string `json:"place"`
}

func (c *verifyEvidenceCmd) printUnreadable(p *process, e *evidence.UnreadableError) {
	if c.JSON {
		_ = json.NewEncoder(p.stdout).Encode(unreadableLine{e.Problem, e.Place}) // the status says it too
		return
	}
	fmt.Fprintf(p.stderr, "ledgerd: it can't be read as evidence: %s\n", e)
}

// print writes the report, as one JSON object or for people.
func (c *verifyEvidenceCmd) print(w io.Writer, r evidence.Report, shown bool) error {
	if !c.JSON {
		return printEvidence(w, r, c.Checkpoint != "", shown)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(struct {
		evidence.Report
		Passed bool `json:"passed"` // no check failed, and a checkpoint that was given was shown to be consistent
	}{r, !r.Failed() && shown})
}
