package api

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"time"

	"ledgerd/internal/audit"
)

// csvHeader names the columns. What a row is about stands in its first one: the head (period, tree size, what was erased, and
// a note row for each limit of the answer), a line (which alone holds its counts, so that they add up to the total), a scope
// of it with one consent, a revocation of that scope, a frame, an exchange, or the total. New columns come last: a reader
// may know them by number.
var csvHeader = []string{
	"row", "provider_id", "declared_name", "declared_version", "scope", "basis", "verdict", "flags", "reports", "frames_served", "tokens",
	"first_as_of", "last_as_of", "frame_id", "content_digest", "grantor_kind", "grantor_id", "provider_name", "provider_version", "granted_at", "expires_at",
	"recorded_at", "endpoint_host", "model_id", "verified", "seqs",
	"revoked_by_kind", "revoked_by_id", "revoked_at", "reason", "model_provider", "receipt_status", "retention_class", "witness_mode", "disclosures",
	"known_declared_name", "known_declared_version", "period_from", "period_to", "tree_size", "erased_reports", "erased_exchanges", "note",
}

// csvRow is one row by column name.
type csvRow map[string]string

func writeEgressCSV(w io.Writer, body EgressBody) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true // RFC 4180
	if err := out.Write(csvHeader); err != nil {
		return err
	}
	put := func(row csvRow) error {
		record := make([]string, len(csvHeader))
		for i, name := range csvHeader {
			record[i] = inert(row[name])
		}
		return out.Write(record)
	}
	for _, row := range headRows(body) {
		if err := put(row); err != nil {
			return err
		}
	}
	for _, l := range body.Lines {
		for _, row := range csvRows(l) {
			if err := put(row); err != nil {
				return err
			}
		}
	}
	t := body.Totals
	if err := put(csvRow{"row": "total", "reports": strconv.Itoa(t.Reports), "frames_served": t.FramesServed, "tokens": t.Tokens}); err != nil {
		return err
	}
	out.Flush()
	return out.Error()
}

// headRows say what the table covers, and what it does not show.
func headRows(body EgressBody) []csvRow {
	head := csvRow{
		"row": "head", "period_from": body.Period.From.Format(time.RFC3339Nano), "period_to": body.Period.To.Format(time.RFC3339Nano),
		"tree_size": strconv.FormatInt(body.TreeSize, 10), "erased_reports": strconv.Itoa(body.Erased.Reports), "erased_exchanges": strconv.Itoa(body.Erased.Exchanges),
	}
	if body.Verification != nil {
		head["verified"] = strconv.FormatBool(body.Verification.Verified)
	}
	rows := []csvRow{head}
	for _, note := range body.Notes {
		rows = append(rows, csvRow{"row": "note", "note": note})
	}
	return rows
}

// inert keeps a spreadsheet from taking what a stranger wrote for a formula: such a cell begins with an apostrophe, which
// spreadsheets show as text. White space before the sign does not help a stranger either.
func inert(cell string) string {
	trimmed := strings.TrimLeft(cell, " \t\r\n\u00a0\ufeff")
	if trimmed == "" {
		return cell
	}
	for _, sign := range []string{"=", "+", "-", "@", "|", "%", "＝", "＋", "－", "＠"} {
		if strings.HasPrefix(trimmed, sign) {
			return "'" + cell
		}
	}
	return cell
}

func csvRows(l audit.EgressLine) []csvRow {
	base := func(kind string) csvRow {
		row := csvRow{"row": kind, "provider_id": l.ProviderID}
		if l.Declaration != nil {
			row["declared_name"], row["declared_version"] = l.Declaration.Name, l.Declaration.Version
		}
		return row
	}
	line := base("line")
	line["verdict"], line["flags"], line["reports"] = string(l.Verdict), strings.Join(l.Flags, " "), strconv.Itoa(l.Reports)
	line["frames_served"], line["tokens"], line["seqs"] = l.FramesServed, l.Tokens, seqText(l.Seqs)
	line["first_as_of"], line["last_as_of"] = l.FirstAsOf.Format(time.RFC3339Nano), l.LastAsOf.Format(time.RFC3339Nano)
	if known := l.KnownDeclaration; known != nil {
		line["known_declared_name"], line["known_declared_version"] = known.Name, known.Version
	}
	if l.Verification != nil {
		line["verified"] = strconv.FormatBool(l.Verification.Verified)
	}
	rows := []csvRow{line}
	for _, s := range l.Scopes {
		rows = append(rows, scopeRows(base, s)...)
		rows = append(rows, revocationRows(base, s)...)
	}
	for _, f := range l.Frames {
		row := base("frame")
		digest, _ := f.ContentDigest.Value()
		row["frame_id"], row["content_digest"], row["frames_served"], row["tokens"], row["seqs"] = f.FrameID.FrameID, digest, strconv.Itoa(f.Times), f.Tokens, seqText(f.Seqs)
		rows = append(rows, row)
	}
	for _, x := range l.Exchanges {
		rows = append(rows, exchangeRow(base("exchange"), x))
	}
	return rows
}

// exchangeRow shows a receipt's status in a column of its own: it is no verdict on consent. The disclosures are named by
// their codes, which the API description explains.
func exchangeRow(row csvRow, x audit.EgressExchange) csvRow {
	codes := make([]string, len(x.Disclosures))
	for i, d := range x.Disclosures {
		codes[i] = d.Code
	}
	row["endpoint_host"], row["model_id"], row["model_provider"], row["receipt_status"] = x.EndpointHost, x.ModelID, x.Provider, x.Status
	row["retention_class"], row["witness_mode"], row["disclosures"], row["seqs"] = x.RetentionClass, x.WitnessMode, strings.Join(codes, " "), seqText(x.Seqs)
	return row
}

// revocationRows is a row per revocation of a scope: who took consent back, and when.
func revocationRows(base func(string) csvRow, s audit.EgressScope) []csvRow {
	var rows []csvRow
	for _, r := range s.Revocations {
		row := base("revocation")
		row["scope"], row["basis"], row["revoked_at"] = string(s.Scope), string(s.Basis), r.RevokedAt
		row["recorded_at"], row["seqs"] = r.RecordedAt.Format(time.RFC3339Nano), strconv.FormatInt(r.Seq, 10)
		if r.RevokedBy != nil {
			row["revoked_by_kind"], row["revoked_by_id"] = string(r.RevokedBy.Kind), r.RevokedBy.ID
		}
		if r.Reason != nil {
			row["reason"] = *r.Reason
		}
		rows = append(rows, row)
	}
	return rows
}

// scopeRows is a row per consent to a scope, or one without any.
func scopeRows(base func(string) csvRow, s audit.EgressScope) []csvRow {
	scope := func(seq int64, recordedAt time.Time) csvRow {
		row := base("scope")
		row["scope"], row["basis"], row["verdict"] = string(s.Scope), string(s.Basis), string(s.Verdict)
		if !recordedAt.IsZero() {
			row["recorded_at"], row["seqs"] = recordedAt.Format(time.RFC3339Nano), strconv.FormatInt(seq, 10)
		}
		return row
	}
	var rows []csvRow
	for _, g := range s.Grants {
		row := scope(g.Seq, g.RecordedAt)
		row["provider_name"], row["provider_version"], row["granted_at"] = g.ProviderName, g.ProviderVersion, g.GrantedAt
		if g.Grantor != nil {
			row["grantor_kind"], row["grantor_id"] = string(g.Grantor.Kind), g.Grantor.ID
		}
		if g.ExpiresAt != nil {
			row["expires_at"] = *g.ExpiresAt
		}
		rows = append(rows, row)
	}
	for _, r := range s.Records {
		row := scope(r.Seq, r.RecordedAt)
		if r.GrantedAt != nil {
			row["granted_at"] = *r.GrantedAt
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		rows = append(rows, scope(0, time.Time{}))
	}
	return rows
}

func seqText(seqs []int64) string {
	texts := make([]string, len(seqs))
	for i, seq := range seqs {
		texts[i] = strconv.FormatInt(seq, 10)
	}
	return strings.Join(texts, " ")
}
