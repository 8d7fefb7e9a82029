package api_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/kinds"
)

// Bulk ingest over HTTP against a plain COPY of the same bytes into a plain table, in one run. The figure that counts is the
// ratio; pglz is what Postgres compresses with unless told, lz4 is what the ledger's own contents use.
func BenchmarkBulk(b *testing.B) {
	for _, size := range []int{300, 3500} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			s := newService(b)
			body := bulkBody(size, b.N)
			b.SetBytes(int64(len(body) / b.N))
			b.ResetTimer()
			start := time.Now()
			s.postBulk(b, body)
			bulk := time.Since(start)
			b.StopTimer()
			b.ReportMetric(float64(b.N)/bulk.Seconds(), "entries/s")
			for _, compression := range []string{"pglz", "lz4"} {
				plain := s.copyPlain(b, body, compression)
				b.ReportMetric(float64(b.N)/plain.Seconds(), "copied-"+compression+"/s")
				b.ReportMetric(plain.Seconds()/bulk.Seconds(), "ratio-"+compression)
			}
		})
	}
}

// bulkBody is n different lines of about the given size: consent receipts when small, else usage reports with frames.
func bulkBody(size, n int) []byte {
	var b bytes.Buffer
	random := rand.New(rand.NewPCG(1, 2))
	asOf := time.Now().UTC().Format(time.RFC3339)
	for i := range n {
		if size < 1000 {
			fmt.Fprintf(&b, `{"kind":"consent-receipt","idempotency_key":"grant/%08d","artifact":{"provider_id":"north-llm","scope":"third-party-model",`+
				`"provider_name":"North","provider_version":"4.2","grantor":{"kind":"human","id":"u%07d"},"granted_at":"2026-01-10T08:00:00Z"}}`+"\n", i, random.IntN(1e7))
			continue
		}
		const frame = 190 // bytes
		served := size / frame
		fmt.Fprintf(&b, `{"kind":"usage-report","context":{"request_id":"req/%08d","turn_id":"t%d","customer_id":"c%d"},"artifact":{"budget_requested":20000,`+
			`"budget_consumed":%d,"as_of":"%s","providers":[{"provider_id":"north-llm","frames_served":%d,"frames_rejected":0,"token_cost":%d,"served_frames":[`,
			i, i/3, i%1000, 11*served, asOf, served, 11*served)
		for k := range served {
			if k > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"frame":{"provider_id":"north-llm","frame_id":"page/%016x","content_digest":"sha256:%016x%016x%016x%016x"},"token_cost":11}`,
				random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64())
		}
		b.WriteString("]}]}}\n")
	}
	return b.Bytes()
}

func (s *service) postBulk(b *testing.B, body []byte) {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, s.url+"/v1/entries", struct{ io.Reader }{bytes.NewReader(body)})
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.tokens[kinds.Host])
	req.Header.Set("Content-Type", "application/x-ndjson")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	n := 0
	for lines.Scan() {
		if n++; !strings.Contains(lines.Text(), `"status":201`) {
			b.Fatal(lines.Text())
		}
	}
	if lines.Err() != nil || n != b.N {
		b.Fatalf("%d results of %d: %v", n, b.N, lines.Err())
	}
}

// copyPlain copies the lines into a table that has what any table has, a primary key, and nothing else. compression is of
// values above 2 KB.
func (s *service) copyPlain(b *testing.B, body []byte, compression string) time.Duration {
	b.Helper()
	conn, err := pgx.Connect(b.Context(), s.AdminURL)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(b.Context())
	table := "plain_" + compression
	if _, err := conn.Exec(b.Context(), "CREATE TABLE public."+table+" (seq bigint PRIMARY KEY, line bytea COMPRESSION "+compression+")"); err != nil {
		b.Fatal(err)
	}
	lines := bytes.SplitAfter(body, []byte("\n"))
	start := time.Now()
	_, err = conn.CopyFrom(b.Context(), pgx.Identifier{"public", table}, []string{"seq", "line"}, pgx.CopyFromSlice(len(lines), func(i int) ([]any, error) {
		return []any{int64(i), lines[i]}, nil
	}))
	if err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}
