package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"ledgerd/internal/kinds"
)

func TestBulkAtomic(t *testing.T) {
	t.Parallel()
	s := newService(t)
	var body strings.Builder
	for i := range 3000 { // several chunks, and more than a batch
		body.WriteString(consentLine(fmt.Sprintf("k%d", i), "1") + "\n")
	}
	for i, r := range s.bulk(t, kinds.Host, "?mode=atomic", body.String()) {
		if r.Line != int64(i+1) || r.Status != http.StatusCreated || *r.Seq != int64(i) {
			t.Fatalf("result %d: %+v", i, r)
		}
	}
	if n := s.Count(t, "(SELECT DISTINCT xmin, recorded_at FROM ledger.entries) AS transactions"); n != 1 {
		t.Errorf("recorded in %d transactions", n)
	}
	got := s.bulk(t, kinds.Host, "?mode=atomic", consentLine("new", "1")+"\n\n"+consentLine("k7", "1"))
	if statuses(got) != "1:201@3000 3:200@7" {
		t.Errorf("one new, one known: %s", statuses(got))
	}
	if got := s.bulk(t, kinds.Host, "?mode=atomic", "\n"); len(got) != 0 {
		t.Errorf("no lines: %+v", got)
	}
}

// One refused line, by its check or by what is recorded, and nothing is recorded: its own result says why, the others' that
// it was another.
func TestBulkAtomicAllOrNothing(t *testing.T) {
	t.Parallel()
	s := newService(t)
	if got := statuses(s.bulk(t, kinds.Host, "", consentLine("held", "1"))); got != "1:201@0" {
		t.Fatal(got)
	}
	good := func(n int) string { return consentLine(fmt.Sprintf("good-%d", n), "1") + "\n" }
	for _, c := range []struct{ name, body, want string }{
		{"malformed", good(1) + "{\n" + good(2), "1:424 2:400 3:424"},
		{"another role's kind", good(1) + `{"kind":"trust-policy","artifact":{}}`, "1:424 2:403"},
		{"refused by its check", usageLine("r", report(time.Now(), 1, 2, 4)) + "\n" + good(1), "1:422 2:424"},
		{"too long", good(1) + strings.Repeat("x", 2<<20) + "\n" + good(2), "1:424 2:413 3:424"},
		{"held with another content", good(1) + consentLine("held", "2") + "\n" + consentLine("held", "1"), "1:424 2:409 3:424"},
		{"twice with another content", consentLine("new", "1") + "\n" + consentLine("new", "2"), "1:424 2:409"},
	} {
		got := s.bulk(t, kinds.Host, "?mode=atomic", c.body)
		if statuses(got) != c.want {
			t.Errorf("%s: %s, want %s", c.name, statuses(got), c.want)
		}
		for _, r := range got {
			if r.Status == http.StatusFailedDependency && r.Error.Code != "not-recorded" {
				t.Errorf("%s: %+v", c.name, r.Error)
			}
			if r.Error.Seq != nil && *r.Error.Seq != 0 {
				t.Errorf("%s: the answer names entry %d, which does not exist", c.name, *r.Error.Seq)
			}
		}
	}
	if n := s.Count(t, "ledger.entries"); n != 1 {
		t.Errorf("refused requests left %d entries", n-1)
	}
}

// What is too much is refused before anything is recorded, and with it whatever would have been.
func TestBulkAtomicBounds(t *testing.T) {
	t.Parallel()
	s := newService(t)
	tooMany := strings.Repeat(consentLine("k", "1")+"\n", 10_001)
	tooLarge := strings.Repeat(consentLine("k", "1")+strings.Repeat(" ", 60_000)+"\n", 1200)
	for name, body := range map[string]string{"10,001 lines": tooMany, "72 MB": tooLarge} {
		got := s.as(t, kinds.Host, "POST", "/v1/entries?mode=atomic", body, "Content-Type", ndjson)
		if got.status != http.StatusRequestEntityTooLarge || got.problem(t).Code != "body-too-large" {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	if n := s.Count(t, "ledger.entries"); n != 0 {
		t.Errorf("%d entries", n)
	}
}

// Large atomic requests are recorded in turn; one that waits too long for its turn is told to come again. A small one waits for none.
func TestBulkAtomicLargeInTurn(t *testing.T) {
	t.Parallel()
	s := newService(t)
	small := consentLine("small", "1") + "\n"
	large := consentLine("large", "1") + strings.Repeat(" ", 900_000) + "\n" + strings.Repeat(" ", 900_000) + "\n"
	giveBack := s.api.TakeGroups(time.Millisecond)
	got := s.as(t, kinds.Host, "POST", "/v1/entries?mode=atomic", large, "Content-Type", ndjson)
	if got.status != http.StatusServiceUnavailable || got.problem(t).Code != "busy" {
		t.Errorf("out of turn: %d %s", got.status, got.body)
	}
	if got := statuses(s.bulk(t, kinds.Host, "?mode=atomic", small)); got != "1:201@0" {
		t.Errorf("a small one: %s", got)
	}
	giveBack()
	for range 70 { // more MiB than there are, if one were not given back
		if got := statuses(s.bulk(t, kinds.Host, "?mode=atomic", large)); got != "1:201@1" && got != "1:200@1" {
			t.Fatal(got)
		}
	}
}

// Atomic requests race with single posts for a key: one of the two wins it, and the request is there wholly or not at all.
func TestBulkAtomicRacesWithSinglePosts(t *testing.T) {
	t.Parallel()
	s := newService(t)
	const rounds = 20
	var wg sync.WaitGroup
	for i := range rounds {
		contended := fmt.Sprintf("contended-%d", i)
		body := consentLine(fmt.Sprintf("a-%d", i), "1") + "\n" + consentLine(contended, "1") + "\n" + consentLine(fmt.Sprintf("b-%d", i), "1")
		wg.Go(func() {
			var inner sync.WaitGroup
			var single answer
			inner.Go(func() {
				single = s.as(t, kinds.Host, "POST", "/v1/consent-receipts", consent, "Idempotency-Key", contended)
			})
			group := s.as(t, kinds.Host, "POST", "/v1/entries?mode=atomic", body, "Content-Type", ndjson)
			for group.status == http.StatusServiceUnavailable { // only so many at a time
				group = s.as(t, kinds.Host, "POST", "/v1/entries?mode=atomic", body, "Content-Type", ndjson)
			}
			inner.Wait()
			var codes []int
			for _, r := range results(t, group.body) {
				codes = append(codes, r.Status)
			}
			got := fmt.Sprint(single.status, codes)
			if got != "201 [424 409 424]" && got != "409 [201 201 201]" {
				t.Errorf("round %d: %s", i, got)
			}
		})
	}
	wg.Wait()
}

// A tenant has so many bulk requests at once and no more; the next is told to come again, and another tenant is not kept out.
func TestBulkRequestsAtOnce(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.AddTenant(t, "umbrella")
	other := s.token(t, "umbrella", kinds.Host, time.Now(), time.Hour)
	var held []*conversation
	for i := range 8 {
		c := s.converse(t, "")
		c.say(consentLine(fmt.Sprint(i), "1") + "\n")
		c.hear()
		held = append(held, c)
	}
	line := consentLine("one more", "1")
	refused := s.as(t, kinds.Host, "POST", "/v1/entries", line, "Content-Type", ndjson)
	if refused.status != http.StatusServiceUnavailable || refused.problem(t).Code != "busy" || refused.header.Get("Retry-After") == "" {
		t.Errorf("one too many: %d %s", refused.status, refused.body)
	}
	if got := s.do(t, "POST", "/v1/entries", other, line, "Content-Type", ndjson); got.status != http.StatusOK {
		t.Errorf("another tenant: %d %s", got.status, got.body)
	}
	for _, c := range held {
		c.end()
	}
	for got := refused; got.status != http.StatusOK; { // the last handlers may still be on their way out
		got = s.as(t, kinds.Host, "POST", "/v1/entries", line, "Content-Type", ndjson)
	}
}
