package client_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"ledgerd/client"
)

// A download is asked for again while nothing of it came, and never when a part was written; a refusal is a problem.
func TestEvidenceDownload(t *testing.T) {
	t.Parallel()
	var asked []string
	var script []func(w http.ResponseWriter)
	zip := func(w http.ResponseWriter) { w.Header().Set("Content-Type", "application/zip") }
	busy := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"type":"/docs#busy","title":"t","status":503,"code":"busy"}`)
	}
	whole := func(w http.ResponseWriter) { zip(w); fmt.Fprint(w, "whole") }
	cut := func(w http.ResponseWriter) {
		zip(w)
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, "part")
	}
	other := func(w http.ResponseWriter) { fmt.Fprint(w, "hello") }
	lost := func(http.ResponseWriter) { panic(http.ErrAbortHandler) }
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery)
		next := script[0]
		script = script[1:]
		next(w)
	}))
	defer server.Close()
	c, err := client.New(server.URL, "token", client.WithBackoff(0))
	if err != nil {
		t.Fatal(err)
	}
	q := client.EvidenceQuery{Seqs: []int64{3, 5}, Kind: "k", From: time.Unix(0, 0), Since: 7}
	for what, s := range map[string]struct {
		script []func(http.ResponseWriter)
		says   string // "" for success
	}{
		"whole":             {[]func(http.ResponseWriter){whole}, ""},
		"after being busy":  {[]func(http.ResponseWriter){busy, lost, whole}, ""},
		"cut":               {[]func(http.ResponseWriter){cut}, "broke off after 4 bytes"},
		"not a zip archive": {[]func(http.ResponseWriter){other}, "is this a ledgerd?"},
	} {
		script, asked = s.script, nil
		var out bytes.Buffer
		n, err := c.Evidence(t.Context(), q, &out)
		if len(script) > 0 || (err == nil) != (s.says == "") || err != nil && !strings.Contains(err.Error(), s.says) || n != int64(out.Len()) || s.says == "" && out.String() != "whole" {
			t.Errorf("%s: %d bytes, %q, %v; %d answers left", what, n, out.String(), err, len(script))
		}
		if i := slices.IndexFunc(asked, func(q string) bool { return q != "from=1970-01-01T00%3A00%3A00Z&kind=k&seq=3%2C5&since=7" }); i >= 0 {
			t.Errorf("asked %s", asked[i])
		}
	}
}
