package api

import (
	"bufio"
	"bytes"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"ledgerd/internal/audit"
)

// The forms of an egress answer.
const (
	formatJSON  = "json"
	formatCSV   = "csv"
	formatLines = "ndjson"
)

var formatTypes = map[string]string{formatJSON: jsonType, formatCSV: "text/csv; charset=utf-8; header=present", formatLines: "application/x-ndjson"}

// formatOf is the form that the caller asks for: by format, else the one that the Accept header likes best, else JSON.
func formatOf(c *call) (string, error) {
	if f, ok := c.query["format"]; ok {
		if formatTypes[f] == "" {
			return "", badParam("format", "it is json, csv or ndjson")
		}
		return f, nil
	}
	best, most := formatJSON, 0.0
	for part := range strings.SplitSeq(c.http.Header.Get("Accept"), ",") {
		media, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		weight := 1.0
		if q, err := strconv.ParseFloat(params["q"], 64); err == nil {
			weight = q
		}
		if f := formatOfMedia(media); f != "" && weight > most {
			best, most = f, weight
		}
	}
	return best, nil
}

func formatOfMedia(media string) string {
	switch media {
	case jsonType, "*/*", "application/*":
		return formatJSON
	case "text/csv", "text/*":
		return formatCSV
	case "application/x-ndjson", "application/ndjson":
		return formatLines
	}
	return ""
}

// sendEgress writes the answer line by line, so that its text is never whole in memory. Everything that can fail has been
// done: a failed write means that the caller has gone.
func sendEgress(c *call, format string, body EgressBody) reply {
	h := c.writer.Header()
	h.Set("Content-Type", formatTypes[format])
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "Accept")
	if format == formatCSV {
		h.Set("Content-Disposition", `attachment; filename="egress.csv"`)
	}
	c.writer.WriteHeader(http.StatusOK)
	w := bufio.NewWriterSize(c.writer, 64<<10)
	write := map[string]func(io.Writer, EgressBody) error{formatJSON: writeEgressJSON, formatCSV: writeEgressCSV, formatLines: writeEgressLines}[format]
	err := write(w, body)
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		slog.Debug("the caller left during the answer", "error", err)
		panic(http.ErrAbortHandler) // so that a part is not taken for the whole
	}
	return reply{sent: true}
}

// writeEgressJSON writes what json.Marshal would, one line at a time.
func writeEgressJSON(w io.Writer, body EgressBody) error {
	frame := body
	frame.Lines = []audit.EgressLine{}
	raw, err := json.Marshal(frame, json.Deterministic(true))
	if err != nil {
		return err
	}
	before, after, _ := bytes.Cut(raw, []byte(`"lines":[]`)) // before it stand a period and a size only
	if _, err := w.Write(append(before, `"lines":[`...)); err != nil {
		return err
	}
	for i, line := range body.Lines {
		if i > 0 {
			if _, err := w.Write([]byte{','}); err != nil {
				return err
			}
		}
		if err := json.MarshalWrite(w, line, json.Deterministic(true)); err != nil {
			return err
		}
	}
	_, err = w.Write(append([]byte{']'}, after...))
	return err
}

// writeEgressLines writes one JSON object per line of text: {"head":…}, {"line":…} for each, and {"totals":…} as the last,
// whose absence shows a cut answer.
func writeEgressLines(w io.Writer, body EgressBody) error {
	put := func(v any) error {
		if err := json.MarshalWrite(w, v, json.Deterministic(true)); err != nil {
			return err
		}
		_, err := w.Write([]byte{'\n'})
		return err
	}
	if err := put(map[string]any{"head": map[string]any{"period": body.Period, "tree_size": body.TreeSize, "notes": body.Notes, "erased": body.Erased, "verification": body.Verification}}); err != nil {
		return err
	}
	for _, line := range body.Lines {
		if err := put(map[string]any{"line": line}); err != nil {
			return err
		}
	}
	return put(map[string]any{"totals": body.Totals})
}
