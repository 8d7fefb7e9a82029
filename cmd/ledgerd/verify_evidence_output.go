package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	"ledgerd/internal/audit"
	"ledgerd/internal/audit/evidence"
)

// printEvidence writes a report for people.
func printEvidence(w io.Writer, r evidence.Report, held, shown bool) error {
	out := &strings.Builder{}
	m := r.Manifest
	log := m.Logs[len(m.Logs)-1]
	fmt.Fprintf(out, "%s of tenant %s: %d entries, of which the question matched %d\n", printable(m.Title), printable(m.Tenant), m.Entries, m.Matched)
	for _, f := range m.Question {
		fmt.Fprintf(out, "  %s: %s\n", printable(f.Name), printable(f.Value))
	}
	fmt.Fprintf(out, "held against the checkpoint of %s, size %d, root %s, newest entry of %s\n\n", printable(log.Origin), log.Size, printable(log.RootHash), printable(m.AsOf))
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	for _, c := range r.Checks {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", resultWord(c.Result), c.Name, counts(c), c.What)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	printEvidenceRemarks(out, "What failed", r, audit.Failed)
	printEvidenceRemarks(out, "What could not be checked", r, audit.NotCheckable)
	out.WriteString("\nWhat this does not show\n")
	for _, l := range r.Limits {
		fmt.Fprintf(out, "  %s: %s\n", l.Code, printable(l.Text))
	}
	if !held {
		out.WriteString("  No checkpoint of your own was given (--checkpoint), so nothing says that others were shown the same log.\n")
	}
	fmt.Fprintf(out, "\n%s\n", conclusion(r, shown))
	_, err := io.WriteString(w, out.String())
	return err
}

func counts(c evidence.Check) string {
	all := c.Passed + c.Failed + c.NotCheckable
	if c.Passed == all {
		return strconv.FormatInt(all, 10)
	}
	return fmt.Sprintf("%d of %d", c.Passed, all)
}

func resultWord(r audit.Result) string {
	switch r {
	case audit.Passed:
		return "passed"
	case audit.Failed:
		return "FAILED"
	}
	return "not checked"
}

func printEvidenceRemarks(w io.Writer, title string, r evidence.Report, result audit.Result) {
	first := true
	for _, m := range r.Remarks {
		if m.Result != result {
			continue
		}
		if first {
			fmt.Fprintf(w, "\n%s\n", title)
			first = false
		}
		where := printable(m.Place)
		if m.Seq != nil {
			where += fmt.Sprintf(", entry %d", *m.Seq)
		}
		fmt.Fprintf(w, "  %s: %s: %s\n", where, m.Check, printable(m.Detail))
	}
	if !first && r.Unlisted > 0 {
		fmt.Fprintf(w, "  (and more: %d of all remarks are not listed)\n", r.Unlisted)
	}
}

// conclusion is the last line. It says what passed, never that something is valid.
func conclusion(r evidence.Report, shown bool) string {
	failed, skipped := []string{}, int64(0)
	for _, c := range r.Checks {
		skipped += c.NotCheckable
		if c.Result == audit.Failed {
			failed = append(failed, c.Name)
		}
	}
	switch {
	case len(failed) > 0:
		return "FAILED: " + strings.Join(failed, ", ")
	case !shown:
		return "FAILED: nothing in the file is wrong, but it was not shown to continue your checkpoint"
	case skipped > 0:
		return fmt.Sprintf("every check that could be made passed, over %d entries; %d could not be made, see above", r.Entries, skipped)
	}
	return fmt.Sprintf("every check passed, over %d entries", r.Entries)
}

// printable keeps what a file says from steering the terminal.
func printable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}
