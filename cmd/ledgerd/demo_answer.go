package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"ledgerd/client"
)

func (d *demo) askAuditor(ctx context.Context) error {
	q := client.EgressQuery{From: d.from, To: d.to, CustomerID: demoCustomer}
	a, err := d.auditor.Egress(ctx, q)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "\nAn auditor asks: what left in this session, to whom, who agreed, and when?\n")
	printAnswer(d.out, a)
	d.printRaw(q.Values())
	return nil
}

// printRaw says how to get the same answer without the demo. The token stays in its file.
func (d *demo) printRaw(query url.Values) {
	fmt.Fprintf(d.out, "\nThe same answer, raw:\n\n"+
		"  curl -sH \"Authorization: Bearer $(grep -o '\"auditor\": *\"[^\"]*' %s | cut -d'\"' -f4)\" \\\n"+
		"    '%s/v1/audit/egress?%s'\n\n", shellQuote(d.connection), d.url, strings.ReplaceAll(query.Encode(), "%3A", ":"))
}

// shellQuote leaves a plain path as it is.
func shellQuote(s string) string {
	plain := func(r rune) bool {
		return r == '/' || r == '.' || r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	if strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// printAnswer prints an answer as a block per provider: what went there, then a row per consent.
func printAnswer(w io.Writer, a client.EgressAnswer) {
	heads := aligned(func(t io.Writer) {
		for _, l := range a.Lines {
			fmt.Fprintf(t, "%s\t%4d reports\t%6s frames\t%9s tokens\tto %s\t%s\n",
				short(l.ProviderID), l.Reports, l.FramesServed, l.Tokens, l.LastAsOf.UTC().Format("15:04:05.000"), entries(l.Seqs))
		}
		fmt.Fprintf(t, "in all\t\t%6s frames\t%9s tokens\t\t\n", a.Totals.FramesServed, a.Totals.Tokens) // a report counts once per provider
	})
	rows := aligned(func(t io.Writer) {
		fmt.Fprintln(t, "SCOPE\tVERDICT\tWHO AGREED\tGRANTED\tUNTIL\tRECORDED (UTC)\tENTRY")
		for _, l := range a.Lines {
			printConsents(t, l)
		}
	})
	fmt.Fprintf(w, "\n    %s\n", rows[0])
	next := 1
	for i, l := range a.Lines {
		fmt.Fprintf(w, "  %s\n", heads[i])
		for range countRows(l) {
			fmt.Fprintf(w, "    %s\n", rows[next])
			next++
		}
		if len(l.Flags) > 0 {
			fmt.Fprintf(w, "    flags: %s\n", strings.Join(l.Flags, ", "))
		}
	}
	fmt.Fprintf(w, "  %s\n", heads[len(a.Lines)])
	printRemarks(w, a)
}

// aligned lays out columns and gives the lines back, without spaces at their ends.
func aligned(fill func(io.Writer)) []string {
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fill(t)
	if err := t.Flush(); err != nil {
		return nil // a buffer takes everything
	}
	var lines []string
	for line := range strings.Lines(b.String()) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	return lines
}

func printConsents(t io.Writer, l client.EgressLine) {
	for _, s := range l.Scopes {
		scope, verdict := cmp.Or(short(string(s.Scope)), "-"), fmt.Sprintf("%s %d/%d", strings.TrimSuffix(string(s.Verdict), "-provider"), s.Verdicts[s.Verdict], l.Reports)
		if len(s.Grants) == 0 {
			fmt.Fprintf(t, "%s\t%s\tnobody\t-\t-\t-\t-\n", scope, verdict)
		}
		for i, g := range s.Grants {
			if i > 0 {
				scope, verdict = "", "" // one verdict for all grants of a scope
			}
			who := "(erased)"
			if g.Grantor != nil {
				who = string(g.Grantor.Kind) + " " + short(g.Grantor.ID)
			}
			until := "no end"
			if g.ExpiresAt != nil {
				until = dateOf(*g.ExpiresAt)
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%d\n",
				scope, verdict, who, dateOf(g.GrantedAt), until, g.RecordedAt.UTC().Format("2006-01-02 15:04:05"), g.Seq)
		}
	}
}

func countRows(l client.EgressLine) int {
	n := 0
	for _, s := range l.Scopes {
		n += max(len(s.Grants), 1)
	}
	return n
}

// printRemarks says in words what deserves a second look, and what the answer can't show.
func printRemarks(w io.Writer, a client.EgressAnswer) {
	meaning := map[client.Verdict]string{
		client.Undeclared:    "what becomes of content was not declared",
		client.Revoked:       "the consent had been taken back when content left",
		client.RecordedAfter: "the consent was recorded only after content had left",
		client.Expired:       "the consent had lapsed when content left",
		client.GrantedAfter:  "consent was given only after content had left",
		client.Unconsented:   "no consent that can be read covers what left",
	}
	var look []string
	for _, l := range a.Lines {
		for _, s := range l.Scopes {
			if text, ok := meaning[s.Verdict]; ok {
				look = append(look, fmt.Sprintf("%s, %s: %s (%d of %d reports)", short(l.ProviderID), cmp.Or(short(string(s.Scope)), "no scope"), text, s.Verdicts[s.Verdict], l.Reports))
			}
		}
		if l.Verdict == client.Undeclared && !slices.ContainsFunc(l.Scopes, func(s client.EgressScope) bool { return s.Verdict == client.Undeclared }) {
			look = append(look, short(l.ProviderID)+": "+meaning[client.Undeclared]+", so no consent is known to cover it")
		}
		if slices.Contains(l.Flags, client.FlagDeclaredAfter) {
			look = append(look, short(l.ProviderID)+": its declaration was recorded only after content had left")
		}
		if slices.Contains(l.Flags, client.FlagNoConsent) {
			look = append(look, short(l.ProviderID)+": nobody is on record as having agreed to anything")
		}
		if slices.Contains(l.Flags, client.FlagReachUnknown) {
			look = append(look, short(l.ProviderID)+": some reports served nothing, but the query itself went there")
		}
		if slices.Contains(l.Flags, client.FlagErased) {
			look = append(look, short(l.ProviderID)+": parts of what was served were erased")
		}
	}
	printList(w, "Look at", look)
	printList(w, "What this answer does not show", a.Notes)
}

func printList(w io.Writer, title string, items []string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", title)
	for _, item := range items {
		fmt.Fprintf(w, "  - %s\n", item)
	}
}

// dateOf is the day of a timestamp as its host wrote it, or what it wrote instead of one.
func dateOf(s string) string {
	if _, err := time.Parse(time.RFC3339, s); err == nil {
		return s[:len(time.DateOnly)]
	}
	return short(s)
}

// short keeps columns narrow.
func short(s string) string {
	const most = 24
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return s
}

// entries names entries of the log by their seqs, with runs shortened.
func entries(seqs []int64) string {
	const most = 5
	sorted := slices.Compact(slices.SortedFunc(slices.Values(seqs), cmp.Compare[int64]))
	var runs []string
	for i := 0; i < len(sorted); {
		j := i
		for j+1 < len(sorted) && sorted[j+1] == sorted[j]+1 {
			j++
		}
		run := strconv.FormatInt(sorted[i], 10)
		if j > i {
			run += "-" + strconv.FormatInt(sorted[j], 10)
		}
		runs = append(runs, run)
		i = j + 1
	}
	switch {
	case len(sorted) == 1:
		return "entry " + runs[0]
	case len(runs) > most:
		return fmt.Sprintf("%d entries, %s to %d", len(sorted), strings.Join(runs[:most-1], ", "), sorted[len(sorted)-1])
	}
	return "entries " + strings.Join(runs, ", ")
}
