package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestHealthcheck(t *testing.T) {
	t.Parallel()
	s := serveLedger(t)
	failing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	t.Cleanup(failing.Close)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for _, c := range []struct {
		url    string
		status int
		want   string
	}{
		{s.URL, 0, s.URL + " is ready"},
		{failing.URL, 1, failing.URL + ": checking readiness: 503 service unavailable"},
		{closed.URL, 1, "connection refused"},
		{"localhost", 1, "the base URL is not an http or https URL"},
	} {
		status, out, problems := inProcess(t, "healthcheck", "--url", c.url)
		if said := out + problems; status != c.status || !strings.Contains(said, c.want) || strings.Count(said, "\n") != 1 {
			t.Errorf("%s: status %d, %q", c.url, status, said)
		}
	}
}

func TestReadyHasADeadline(t *testing.T) {
	t.Parallel()
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(silent.Close)
	late, cancel := context.WithDeadline(t.Context(), time.Now().Add(-readyTimeout))
	defer cancel()
	if err := ready(late, silent.URL); err == nil || err.Error() != silent.URL+": checking readiness: no answer within 3 seconds" {
		t.Error(err)
	}
}
