package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/ledger"
)

// watched is a served ledger and a monitor's file.
type watched struct {
	*served
	t    *testing.T
	vkey string
	file string
}

func watch(t *testing.T) *watched {
	t.Helper()
	w := &watched{served: serveLedger(t), t: t, file: filepath.Join(t.TempDir(), "watched")}
	var err error
	if w.vkey, err = ledger.VerifierKey(w.SignerKey); err != nil {
		t.Fatal(err)
	}
	return w
}

// record appends consents.
func (w *watched) record(from, to int) {
	w.t.Helper()
	var wg sync.WaitGroup
	for i := from; i < to; i++ {
		wg.Go(func() {
			if _, err := w.Appender.Append(w.t.Context(), ledgertest.Host, ledgertest.Consent(w.t, fmt.Sprint(i), fmt.Sprint(i))); err != nil {
				w.t.Error(err)
			}
		})
	}
	wg.Wait()
}

// run runs the monitor against a place.
func (w *watched) run(place string, more ...string) (code int, stdout, stderr string) {
	w.t.Helper()
	return command(w.t.Context(), append([]string{"verify", "log", "--url", place, "--log-key", w.vkey, "--since", w.file}, more...)...)
}

// wants demands an exit status and a word about it.
func (w *watched) wants(what string, code int, text string, place string, more ...string) {
	w.t.Helper()
	got, stdout, stderr := w.run(place, more...)
	if got != code || !strings.Contains(stdout+stderr, text) {
		w.t.Errorf("%s: exit %d, want %d and %q\n%s%s", what, got, code, text, stdout, stderr)
	}
}

// checkpoint is the log's newest.
func (w *watched) checkpoint() (text string, c ledger.Checkpoint) {
	w.t.Helper()
	head, err := w.Store.Head(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return head.Checkpoint, ledger.Checkpoint{Origin: head.Origin, Size: head.Size, Root: head.Root}
}

// put writes a checkpoint into the monitor's file, signed by the log's key.
func (w *watched) put(c ledger.Checkpoint) (text string) {
	w.t.Helper()
	signed, err := c.Sign(w.Keys.Signer)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.file, signed, 0o600); err != nil {
		w.t.Fatal(err)
	}
	return string(signed)
}

// sending answers with some bytes.
func sending(body []byte) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		_, _ = w.Write(body) // who asked may have had enough
	}
}

// A log that grows as it should: believed once when that is asked for, and held against it ever after.
func TestVerifyLogGrows(t *testing.T) {
	t.Parallel()
	w := watch(t)
	w.wants("no file", 2, "--init", w.URL)
	w.wants("an empty log", 0, "0 entries, believed as it is", w.URL, "--init")
	w.wants("init again", 2, "exists already", w.URL, "--init")
	w.record(0, 300)
	w.wants("grown", 0, "grew from 0 to 300 entries", w.URL)
	w.wants("as it was", 0, "unchanged", w.URL)
	w.record(300, 301)
	w.wants("grown by one", 0, "grew from 300 to 301 entries", w.URL)
	if text, _ := w.checkpoint(); string(mustRead(t, w.file)) != text {
		t.Error("the newest checkpoint is not what is kept")
	}
	w.wants("an incarnation that is not there", 2, "not there", w.URL, "--incarnation", "1")
}

// A log that is not what it was: loud, and both checkpoints are kept.
func TestVerifyLogAlarms(t *testing.T) {
	t.Parallel()
	w := watch(t)
	w.record(0, 20)
	now, honest := w.checkpoint()
	for what, c := range map[string]struct {
		size int64
		text string
	}{
		"a fork before":           {7, "FORK"},
		"a fork of the same size": {20, "FORK"},
		"cut back":                {21, "cut back"},
	} {
		other := honest
		other.Size = c.size
		other.Root[0] ^= 1
		kept := w.put(other)
		code, _, stderr := w.run(w.URL)
		if code != 1 || !strings.Contains(stderr, "ALARM") || !strings.Contains(stderr, c.text) {
			t.Errorf("%s: exit %d, %s", what, code, stderr)
		}
		for _, text := range []string{kept, now} {
			if !strings.Contains(stderr, strings.Split(text, "\n")[2]) {
				t.Errorf("%s: a root is not shown:\n%s", what, stderr)
			}
		}
		beside, err := filepath.Glob(w.file + ".alarm-*")
		if err != nil || len(beside) != 1 || string(mustRead(t, beside[0])) != now || string(mustRead(t, w.file)) != kept {
			t.Errorf("%s: %q is kept, %v", what, beside, err)
		}
	}
	_, stranger := ledgertest.NewKeys(t, honest.Origin)
	w.vkey = stranger.VerifierKey
	os.Remove(w.file)
	w.wants("a checkpoint by another key", 1, "not signed by a given key", w.URL, "--init")
	if exists(w.file) {
		t.Error("what was not verified was kept")
	}
}

// What lies between the log and its monitor can keep it from seeing, and not from seeing right.
func TestVerifyLogThroughAProxy(t *testing.T) {
	t.Parallel()
	w := watch(t)
	w.record(0, 5)
	_, early := w.checkpoint()
	w.put(early)
	w.record(5, 10)
	middle, _ := w.checkpoint()
	w.record(10, 300)
	target, err := url.Parse(w.URL)
	if err != nil {
		t.Fatal(err)
	}
	through := func(change func(http.ResponseWriter, *http.Request) (done bool)) string {
		proxy := httputil.NewSingleHostReverseProxy(target)
		server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if !change(rw, r) {
				proxy.ServeHTTP(rw, r)
			}
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	tiles := func(answer func(http.ResponseWriter)) string {
		return through(func(rw http.ResponseWriter, r *http.Request) bool {
			tile := strings.Contains(r.URL.Path, "/tile/")
			if tile {
				answer(rw)
			}
			return tile
		})
	}
	kept := string(mustRead(t, w.file))
	w.wants("tiles that are others", 1, "do not give the root", tiles(sending(make([]byte, 44*32))))
	w.wants("tiles that are cut", 1, "do not give the root", tiles(sending(make([]byte, 31))))
	w.wants("tiles without end", 2, "more than", tiles(sending(make([]byte, 1<<20))))
	w.wants("tiles that are away", 2, "status 500", tiles(func(rw http.ResponseWriter) { rw.WriteHeader(http.StatusInternalServerError) }))
	w.wants("tiles that are nowhere", 2, "not there", tiles(func(rw http.ResponseWriter) { rw.WriteHeader(http.StatusNotFound) }))
	w.wants("nobody there", 2, "could not be checked", "http://127.0.0.1:1")
	w.wants("not a URL", 2, "--url", "127.0.0.1:1")
	if string(mustRead(t, w.file)) != kept {
		t.Error("a run that showed nothing changed what is kept")
	}
	// An older answer, from a place that keeps full tiles only.
	w.wants("partial tiles that are gone", 0, "grew from 5 to 10 entries", through(func(rw http.ResponseWriter, r *http.Request) bool {
		switch {
		case strings.HasSuffix(r.URL.Path, "/log/checkpoint"):
			fmt.Fprint(rw, middle)
		case strings.Contains(r.URL.Path, ".p/"):
			rw.WriteHeader(http.StatusNotFound)
		default:
			return false
		}
		return true
	}))
	w.wants("the rest", 0, "grew from 10 to 300 entries", w.URL)
}
