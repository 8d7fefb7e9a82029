package api_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/ledger"
)

// When what waits for the append is as much as may wait, a post is told to come again, with nothing recorded; what waits is
// recorded once it goes on, and so is what comes again.
func TestFullQueueTellsToComeAgain(t *testing.T) {
	t.Parallel()
	s := newService(t)
	holder, err := pgx.Connect(t.Context(), s.AdminURL) // whose session the service can't end
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close(t.Context())
	for _, sql := range []string{"BEGIN", "SELECT size FROM ledger.head FOR UPDATE"} {
		if _, err := holder.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	report := fmt.Sprintf(`{"budget_requested":100,"budget_consumed":0,"as_of":%q,"pad":%q}`, time.Now().UTC().Format(time.RFC3339), strings.Repeat("x", ledger.MaxContent-4096))
	large, err := kinds.UsageReport.Accept(kinds.Submission{Artifact: []byte(report), Context: []byte(`{"request_id":"r","turn_id":"t","customer_id":"c"}`)}, kinds.Env{Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	const many = 100 // of about a MiB each, where 64 MiB may wait and a batch has 16
	outcomes := make(chan error, many)
	for n := range many {
		own := *large
		own.Key = fmt.Sprint("queued-", n)
		go func() {
			_, err := s.Appender.Append(t.Context(), ledgertest.Host, &own)
			outcomes <- err
		}()
	}
	if err := <-outcomes; !errors.Is(err, kinds.ErrBusy) { // nobody else can have an answer
		t.Errorf("while the head is held: %v", err)
	}
	body := `{"request_id":"posted","turn_id":"t","customer_id":"c","report":` + report + `}`
	got := s.as(t, kinds.Host, http.MethodPost, "/v1/usage-reports", body)
	if got.status != http.StatusServiceUnavailable || got.problem(t).Code != "busy" || got.header.Get("Retry-After") == "" {
		t.Errorf("a post: %d %.300s", got.status, got.body)
	}
	if _, err := holder.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	recorded := 1
	for range many - 1 {
		switch err := <-outcomes; {
		case err == nil:
			recorded++
		case !errors.Is(err, kinds.ErrBusy):
			t.Errorf("what waited: %v", err)
		}
	}
	if again := s.as(t, kinds.Host, http.MethodPost, "/v1/usage-reports", body); again.status != http.StatusCreated {
		t.Errorf("the post again: %d %.300s", again.status, again.body)
	}
	if n := s.Count(t, "ledger.entries"); n != recorded || recorded < 64 {
		t.Errorf("%d entries, and %d were acknowledged", n, recorded)
	}
}
