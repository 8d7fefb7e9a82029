package evidence

import (
	"fmt"
	"html"
	"slices"
	"strconv"
	"strings"

	"ledgerd/ledger"
)

// listed is how many entries the summary lists. It counts all.
const listed = 500

// summary gathers what the page for people says. It is part of the form: the verifier makes it again and compares.
type summary struct {
	counts map[group]*count
	rows   []row
}

type group struct{ kind, relation string }

type count struct{ entries, erased int64 }

// row is an entry that is listed.
type row struct {
	seq                           int64
	recordedAt, kind, key, relate string
	erased                        bool
}

// add notes an entry, of which seq, time, meta and whether it was erased are looked at.
func (s *summary) add(e ledger.Entry, relation string) {
	if s.counts == nil {
		s.counts = map[group]*count{}
	}
	g := group{e.Meta.Kind, relation}
	c := s.counts[g]
	if c == nil {
		c = &count{}
		s.counts[g] = c
	}
	c.entries++
	if e.Erased() {
		c.erased++
	}
	if len(s.rows) < listed {
		s.rows = append(s.rows, row{
			seq: e.Seq, recordedAt: e.RecordedAt.UTC().Format(ledger.TimeLayout), kind: e.Meta.Kind, key: e.Meta.Key, relate: relation, erased: e.Erased(),
		})
	}
}

const summaryHead = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Evidence</title>
<style>
body{font:14px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#111}
h1{font-size:1.5em}h2{font-size:1.1em;margin-top:1.6em}
table{border-collapse:collapse;width:100%}td,th{border:1px solid #bbb;padding:.2em .5em;text-align:left;vertical-align:top;overflow-wrap:anywhere}
th{white-space:nowrap}
code{overflow-wrap:anywhere}
@media print{body{margin:0;max-width:none;font-size:10px}tr{break-inside:avoid}thead{display:table-header-group}}
</style></head><body>
`

// html is the page.
func (s *summary) html(m Manifest) []byte {
	p := &page{}
	p.text(summaryHead)
	p.line("<h1>", m.Title, "</h1>")
	p.text("<p>Entries of a ledger, with all that lets anybody check them again. This page is for reading: it proves nothing by itself. " +
		"To check the file it came in:</p>\n<p><code>ledgerd verify evidence FILE --log-key KEY</code></p>\n" +
		"<p>KEY is the verifier key of the log. Get it from somewhere else than from this file.</p>\n")
	p.fields("What was asked", append([]Field{{"tenant", m.Tenant}}, m.Question...))
	p.fields("What it is held against", []Field{
		{"log", m.newest().Origin}, {"entries covered", "those below " + strconv.FormatInt(m.TreeSize, 10)}, {"newest of these", m.AsOf},
		{"root hash", m.newest().RootHash}, {"matched", strconv.FormatInt(m.Matched, 10)}, {"in this file", strconv.FormatInt(m.Entries, 10)},
	})
	if len(m.Logs) > 1 {
		var logs []Field
		for _, l := range m.Logs[:len(m.Logs)-1] {
			logs = append(logs, Field{l.Origin, fmt.Sprintf("entries %d to %d, root hash %s", l.Base, l.Base+l.Size-1, l.RootHash)})
		}
		p.fields("Earlier logs of this ledger", logs)
	}
	if len(m.Statements) > 0 {
		p.fields("What the server says of it, which this file does not prove", m.Statements)
	}
	s.tables(p)
	p.text("<h2>What it does not show</h2>\n<ul>\n")
	for _, n := range limits() {
		p.line("<li>", n, "</li>")
	}
	p.text("</ul>\n</body></html>\n")
	return []byte(p.String())
}

func (s *summary) tables(p *page) {
	groups := make([]group, 0, len(s.counts))
	for g := range s.counts {
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b group) int {
		return strings.Compare(a.kind+"\x00"+a.relation, b.kind+"\x00"+b.relation)
	})
	p.text("<h2>What is in it</h2>\n<table><thead><tr><th>kind</th><th>why it is here</th><th>entries</th><th>of these erased</th></tr></thead>\n")
	for _, g := range groups {
		c := s.counts[g]
		p.cells(g.kind, g.relation, strconv.FormatInt(c.entries, 10), strconv.FormatInt(c.erased, 10))
	}
	p.text("</table>\n<h2>The entries</h2>\n")
	if len(s.rows) == listed {
		p.text(fmt.Sprintf("<p>The first %d; all are in the members entries/.</p>\n", listed))
	}
	p.text("<table><thead><tr><th>entry</th><th>recorded</th><th>kind</th><th>key</th><th>why it is here</th></tr></thead>\n")
	for _, r := range s.rows {
		why := r.relate
		if r.erased {
			why += " (content erased)"
		}
		p.cells(strconv.FormatInt(r.seq, 10), r.recordedAt, r.kind, r.key, why)
	}
	p.text("</table>\n")
}

// page is HTML being written. Everything but our own text goes in escaped, and isolated from the direction of its writing.
type page struct{ strings.Builder }

func (p *page) text(markup string) { p.WriteString(markup) }

func (p *page) line(before, text, after string) {
	p.text(before + "<bdi>" + html.EscapeString(text) + "</bdi>" + after + "\n")
}

func (p *page) cells(texts ...string) {
	p.text("<tr>")
	for _, t := range texts {
		p.text("<td><bdi>" + html.EscapeString(t) + "</bdi></td>")
	}
	p.text("</tr>\n")
}

func (p *page) fields(title string, fields []Field) {
	p.text("<h2>" + title + "</h2>\n<table>\n")
	for _, f := range fields {
		p.cells(f.Name, f.Value)
	}
	p.text("</table>\n")
}

// limits is what no evidence file shows, for people. It is part of the form.
func limits() [6]string {
	return [...]string{
		"Completeness: that no entry which the question matches was left out is what the server signed, and can't be seen from the file.",
		"Freshness: what was recorded after the tree size, and whether the log was cut back or shown differently to others. Keep checkpoints and run ledgerd verify log.",
		"Who posted: role and token of an entry are what the server recorded of the token that posted it.",
		"Whose keys: a receipt is valid under the tenant's own trust policy of that time; a key that nobody vouched for vouches for itself.",
		"Time: recorded_at is the server's clock; other times are what the poster claimed.",
		"Erased content: that it existed, when, and its length, is proven; what it was is gone.",
	}
}
