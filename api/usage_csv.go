package api

import (
	"bytes"
	"encoding/csv"
	"strconv"
	"time"
)

var usageCSVHeader = []string{
	"row", "key", "start", "provider_id", "frame_id", "content_digest", "reports", "frames_served", "frames_rejected", "tokens", "first_seq", "last_seq", "source", "covers",
}

// sendUsage answers in the form that was asked for. The groups are bounded, so their text is made whole.
func sendUsage(c *call, format string, body UsageBody) reply {
	c.writer.Header().Set("Vary", "Accept")
	if format != formatCSV {
		return reply{status: 200, body: body}
	}
	return reply{status: 200, raw: usageCSV(body), header: map[string]string{
		"Content-Type": formatTypes[formatCSV], "Content-Disposition": `attachment; filename="usage.csv"`,
	}}
}

func usageCSV(body UsageBody) []byte {
	var b bytes.Buffer
	out := csv.NewWriter(&b)
	out.UseCRLF = true // RFC 4180
	put := func(row csvRow) {
		row["covers"] = strconv.FormatInt(body.Freshness.Covers, 10)
		record := make([]string, len(usageCSVHeader))
		for i, name := range usageCSVHeader {
			record[i] = inert(row[name])
		}
		_ = out.Write(record) // into memory
	}
	_ = out.Write(usageCSVHeader)
	for _, g := range body.Groups {
		row := csvRow{
			"row": "group", "source": body.Source, "key": g.Key, "provider_id": g.ProviderID, "frame_id": g.FrameID, "content_digest": g.ContentDigest,
			"reports": strconv.FormatInt(g.Reports, 10), "frames_served": g.FramesServed, "frames_rejected": g.FramesRejected, "tokens": g.Tokens,
			"first_seq": strconv.FormatInt(g.FirstSeq, 10), "last_seq": strconv.FormatInt(g.LastSeq, 10),
		}
		if g.Start != nil {
			row["start"] = g.Start.Format(time.RFC3339)
		}
		put(row)
	}
	put(csvRow{"row": "total", "source": body.Totals.Source, "reports": strconv.FormatInt(body.Totals.Reports, 10), "tokens": body.Totals.Tokens})
	out.Flush()
	return b.Bytes()
}
