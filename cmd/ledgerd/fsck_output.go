package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"ledgerd/internal/audit"
	"ledgerd/ledger"
)

const (
	// fsckListed is how many faults are printed; all are counted.
	fsckListed = 1000
	// fsckEvery is how often progress is told, and how long a check stays silent.
	fsckEvery = 2 * time.Second
)

// fsckOutput prints what a check finds while it runs.
type fsckOutput struct {
	stdout, stderr io.Writer
	json           bool
	now            func() time.Time
	started, told  time.Time
	entries        int64
	faults         int64
	err            error // of writing
}

func newFsckOutput(p *process, asJSON bool, now func() time.Time) *fsckOutput {
	started := now()
	return &fsckOutput{stdout: p.stdout, stderr: p.stderr, json: asJSON, now: now, started: started, told: started}
}

func (o *fsckOutput) fault(f audit.Fault) {
	o.faults++
	if o.faults > fsckListed {
		return
	}
	line := fsckFault{Type: "fault", Code: f.Code, Detail: f.Detail}
	where := "the log"
	if f.Seq != audit.NoSeq {
		line.Seq, where = &f.Seq, fmt.Sprintf("entry %d", f.Seq)
	}
	o.print(line, "%s: %s: %s\n", where, f.Code, f.Detail)
}

// print writes a line in the chosen form.
func (o *fsckOutput) print(object any, format string, args ...any) {
	if o.err != nil {
		return
	}
	if !o.json {
		_, o.err = fmt.Fprintf(o.stdout, format, args...)
		return
	}
	e := json.NewEncoder(o.stdout)
	e.SetEscapeHTML(false)
	o.err = e.Encode(object)
}

func (o *fsckOutput) progress(done, size int64) {
	o.entries = done
	now := o.now()
	if now.Sub(o.told) < fsckEvery {
		return
	}
	o.told = now
	fmt.Fprintf(o.stderr, "checked %d of %d entries (%d %%), %.0f/s, %d faults\n", done, size, 100*done/max(size, 1), rate(done, now.Sub(o.started)), o.faults)
}

func rate(n int64, in time.Duration) float64 { return float64(n) / max(in.Seconds(), 1e-6) }

// finish prints the result, and what it does not show.
func (o *fsckOutput) finish(heads []ledger.Head, since *ledger.Checkpoint, paranoid bool) (fsckResult, error) {
	head, earlier := heads[len(heads)-1], earlierLogs(heads)
	took := o.now().Sub(o.started)
	r := fsckResult{
		Type: "result", Origin: head.Origin, Size: head.Size, FirstSeq: head.Base, RootHash: base64.StdEncoding.EncodeToString(head.Root[:]),
		Earlier: earlier, Entries: o.entries, Faults: o.faults, Unlisted: max(o.faults-fsckListed, 0), Paranoid: paranoid, Seconds: took.Seconds(),
	}
	freshness := "freshness is not shown: a log that was cut back to an older state of its own looks the same; give a checkpoint that was kept elsewhere with --since"
	if since != nil {
		r.Since = &since.Size
		freshness = fmt.Sprintf("held against the given checkpoint of size %d; nothing newer is known", since.Size)
	}
	for _, l := range earlier {
		freshness += fmt.Sprintf("\nchecked with it: the earlier log %s, size %d, from entry %d on, root %s", l.Origin, l.Size, l.FirstSeq, l.RootHash)
	}
	verdict := "clean"
	switch {
	case r.Unlisted > 0:
		verdict = fmt.Sprintf("%d faults, of which %d are listed", r.Faults, fsckListed)
	case r.Faults == 1:
		verdict = "1 fault"
	case r.Faults > 1:
		verdict = fmt.Sprintf("%d faults", r.Faults)
	}
	o.print(r, "%s: %s, size %d, root %s\n%d entries checked in %.1f s (%.0f/s)\n%s\n", verdict, r.Origin, r.Size, r.RootHash,
		r.Entries, r.Seconds, rate(r.Entries, took), freshness)
	return r, o.err
}

// earlierLogs describes all logs but the newest.
func earlierLogs(heads []ledger.Head) []fsckLog {
	list := []fsckLog{}
	for _, h := range heads[:len(heads)-1] {
		list = append(list, fsckLog{Origin: h.Origin, Size: h.Size, FirstSeq: h.Base, RootHash: base64.StdEncoding.EncodeToString(h.Root[:])})
	}
	return list
}
