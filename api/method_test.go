package api_test

import (
	"net/http"
	"testing"

	"ledgerd/api"
)

// A method that no path answers is told what the path does answer; where there is nothing, there is nothing.
func TestUnknownMethods(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for _, method := range []string{"BREW", "PRI", "OPTIONS", "TRACE", "PATCH"} {
		got := s.do(t, method, "/v1/entries", "", "")
		if allow := got.header.Get("Allow"); got.status != http.StatusMethodNotAllowed || allow != "GET, HEAD, POST" {
			t.Errorf("%s of a path: %d, Allow %q", method, got.status, allow)
		}
		got = s.do(t, method, "/v1/nowhere", "", "")
		if allow := got.header.Values("Allow"); got.status != http.StatusNotFound || len(allow) != 0 {
			t.Errorf("%s of no path: %d, Allow %q", method, got.status, allow)
		}
	}
	var p api.Problem
	s.do(t, "BREW", "/v1/nowhere", "", "").into(t, &p)
	if p.Code != "not-found" {
		t.Errorf("%+v", p)
	}
}
