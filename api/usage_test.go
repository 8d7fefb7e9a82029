package api_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledgerd/api"
	"ledgerd/internal/clickhouse"
	"ledgerd/internal/devstack/chtest"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/internal/relay"
	"ledgerd/metering"
)

// newProjection is an empty projection in a database of its own.
func newProjection(t *testing.T) *clickhouse.Client {
	t.Helper()
	dsn := chtest.NewDatabase(t)
	if _, err := clickhouse.Migrate(t.Context(), dsn); err != nil {
		t.Fatal(err)
	}
	ch, err := clickhouse.Open(dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ch.Close() })
	return ch
}

// usageService is a service with a projection, and what ships to it.
func usageService(t *testing.T) (*service, *relay.Shipper) {
	t.Helper()
	ch := newProjection(t)
	s := newServiceWith(t, ch)
	return s, relay.NewShipper(relay.Options{
		Log: s.Store, Projection: ch, Rejects: func(err error) bool { return errors.Is(err, clickhouse.ErrRejected) }, Holder: "test", Logger: slog.New(slog.DiscardHandler),
	})
}

func ship(t *testing.T, s *relay.Shipper) {
	t.Helper()
	for more := true; more; {
		var err error
		if more, err = s.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// use records a report of the tokens given for each provider, one frame each. The clock that it is accepted by is the
// report's: what was used long ago is recorded like what was used today.
func (s *service) use(t *testing.T, request, customer string, asOf time.Time, tokens map[string]int) {
	t.Helper()
	var rows []string
	total := 0
	for _, provider := range []string{"north", "south"} {
		n, ok := tokens[provider]
		if !ok {
			continue
		}
		total += n
		rows = append(rows, fmt.Sprintf(`{"provider_id":%q,"frames_served":1,"frames_rejected":2,"token_cost":%d,"served_frames":[{"frame":{"provider_id":%q,`+
			`"frame_id":"page","content_digest":"sha256:%064x"},"token_cost":%d}]}`, provider, n, provider, n%2, n))
	}
	artifact := fmt.Sprintf(`{"budget_requested":9,"budget_consumed":%d,"as_of":%q,"providers":[%s]}`, total, asOf.UTC().Format("2006-01-02T15:04:05.000Z"), strings.Join(rows, ","))
	about := fmt.Sprintf(`{"request_id":%q,"turn_id":"t-%s","customer_id":%q}`, request, customer, customer)
	a, err := kinds.UsageReport.Accept(kinds.Submission{Artifact: []byte(artifact), Context: []byte(about)}, kinds.Env{Now: asOf})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Appender.Append(t.Context(), ledgertest.Host, a); err != nil {
		t.Fatal(err)
	}
}

const year2026, year2027 = "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"

// ask asks for the usage of 2026 and wants an answer.
func (s *service) ask(t *testing.T, path string, query ...string) api.UsageBody {
	t.Helper()
	a := s.as(t, kinds.Billing, http.MethodGet, path+"?"+yearOf(query...), "")
	if a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	var body api.UsageBody
	a.into(t, &body)
	return body
}

func yearOf(pairs ...string) string {
	q := url.Values{"from": {year2026}, "to": {year2027}}
	for i := 0; i+1 < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	return q.Encode()
}

var may = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// twoNights are reports over the nights in which Berlin's clocks are put forward, and back.
func twoNights(t *testing.T, s *service) {
	t.Helper()
	for i := range 60 {
		at := time.Date(2026, 3, 28, 21, 17, 30, 0, time.UTC).Add(time.Duration(i) * time.Hour)
		if i >= 30 {
			at = time.Date(2026, 10, 24, 20, 17, 30, 0, time.UTC).Add(time.Duration(i-30) * time.Hour)
		}
		s.use(t, fmt.Sprintf("r-%d", i), fmt.Sprintf("c-%d", i%3), at, map[string]int{"north": i, "south": 2 * i})
	}
}

// Both sources give one answer to every question that both can answer.
func TestBothSourcesOfUsageAgree(t *testing.T) {
	t.Parallel()
	s, shipper := usageService(t)
	twoNights(t, s)
	ship(t, shipper)
	for _, by := range metering.Groupings() {
		if by == metering.ByFrame {
			continue
		}
		for _, filter := range [][]string{
			nil, {"customer_id", "c-1"}, {"provider_id", "north", "frame_id", "page"}, {"turn_id", "t-c-2"}, {"request_id", "r-7"}, {"frame_id", "none"}, {"size", "20"},
		} {
			ask := append([]string{"group_by", string(by), "tz", "Europe/Berlin"}, filter...)
			truth := s.ask(t, "/v1/usage", append(ask, "source", "postgres")...)
			projected := s.ask(t, "/v1/usage", append(ask, "source", "clickhouse")...)
			if !reflect.DeepEqual(truth.Groups, projected.Groups) || truth.Source != "postgres" || projected.Source != "clickhouse" || truth.Freshness != projected.Freshness {
				t.Errorf("by %s, %v:\n%+v\n%+v", by, filter, truth.Groups, projected.Groups)
			}
		}
	}
}

// For any reports and any question both sources give one answer, totals included.
func TestBothSourcesOfUsageAlwaysAgree(t *testing.T) {
	t.Parallel()
	s, shipper := usageService(t)
	s.api.SetWideLines(-1) // every question is wide, so totals come from ClickHouse, too
	recorded := 0
	some := func(rt *rapid.T, name string, among ...string) []string {
		if value := rapid.SampledFrom(append(among, "")).Draw(rt, name); value != "" {
			return []string{name, value}
		}
		return nil
	}
	rapid.Check(t, func(rt *rapid.T) {
		for range rapid.IntRange(0, 4).Draw(rt, "reports") {
			at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(rapid.Int64Range(0, 364*24*3600*1000).Draw(rt, "as_of")) * time.Millisecond)
			tokens := map[string]int{"north": rapid.IntRange(0, 1000).Draw(rt, "north"), "south": rapid.IntRange(0, 1000).Draw(rt, "south")}
			s.use(t, fmt.Sprintf("r-%d", recorded), rapid.SampledFrom([]string{"c-1", "c-2", "ü/3"}).Draw(rt, "customer"), at, tokens)
			recorded++
		}
		ship(t, shipper)
		ask := slices.Concat(some(rt, "customer_id", "c-1", "ü/3"), some(rt, "provider_id", "north"), some(rt, "turn_id", "t-c-2"), some(rt, "request_id", "r-1"),
			some(rt, "frame_id", "page", "none"), some(rt, "tz", "America/Sao_Paulo", "Asia/Kathmandu"), some(rt, "from", "2026-03-29T01:00:00Z"),
			some(rt, "group_by", "provider", "turn", "request", "hour", "day", "month"))
		if !slices.Contains(ask, "group_by") {
			ask = append(ask, "group_by", "customer")
		}
		truth, projected := s.ask(t, "/v1/usage", append(ask, "source", "postgres")...), s.ask(t, "/v1/usage", ask...)
		if projected.Source != "clickhouse" || projected.Totals.Source != "clickhouse" || truth.Source != "postgres" || truth.Totals.Source != "postgres" {
			rt.Fatalf("from %s and %s, %s and %s", projected.Source, projected.Totals.Source, truth.Source, truth.Totals.Source)
		}
		truth.Source, truth.Totals.Source = projected.Source, projected.Totals.Source
		if !reflect.DeepEqual(truth, projected) {
			rt.Fatalf("%v:\n%+v\n%+v", ask, truth, projected)
		}
	})
}

// What is wide goes to ClickHouse unless Postgres is asked for, and what is not comes from the truth.
func TestWideQuestionsGoToClickHouse(t *testing.T) {
	t.Parallel()
	s, shipper := usageService(t)
	s.api.SetWideLines(40)
	twoNights(t, s) // 120 lines, 40 of each customer
	ship(t, shipper)
	for _, c := range []struct {
		query          []string
		groups, totals string
	}{
		{[]string{"group_by", "provider"}, "clickhouse", "clickhouse"},
		{[]string{"group_by", "provider", "source", "postgres"}, "postgres", "postgres"},
		{[]string{"group_by", "day", "customer_id", "c-1"}, "postgres", "postgres"},
		{[]string{"group_by", "day", "customer_id", "c-1", "source", "clickhouse"}, "clickhouse", "postgres"},
		{[]string{"group_by", "request", "request_id", "r-7"}, "clickhouse", "clickhouse"}, // no index finds it
		{[]string{"group_by", "customer", "frame_id", "page"}, "clickhouse", "clickhouse"},
		{[]string{"group_by", "customer", "to", "2026-03-29T00:00:00Z"}, "postgres", "postgres"},
		{[]string{"group_by", "frame"}, "clickhouse", "clickhouse"},
		{[]string{"group_by", "frame", "customer_id", "c-1"}, "clickhouse", "postgres"},
	} {
		if body := s.ask(t, "/v1/usage", c.query...); body.Source != c.groups || body.Totals.Source != c.totals {
			t.Errorf("%v: from %s, totals from %s", c.query, body.Source, body.Totals.Source)
		}
	}
	if body := s.ask(t, "/v1/usage/top", "by", "provider", "limit", "1"); body.Source != "clickhouse" || body.Groups[0].Key != "south" || body.Totals.Tokens != "5310" {
		t.Errorf("%+v", body)
	}
}

func TestDaysFollowTheirZone(t *testing.T) {
	t.Parallel()
	s := newService(t)
	twoNights(t, s)
	days := s.ask(t, "/v1/usage", "group_by", "day", "tz", "Europe/Berlin")
	long := map[string]time.Duration{}
	for i := range days.Groups[1:] {
		from, to := *days.Groups[i].Start, *days.Groups[i+1].Start
		long[from.Format(time.DateOnly)] = to.Sub(from)
	}
	if long["2026-03-29"] != 23*time.Hour || long["2026-10-25"] != 25*time.Hour || days.Totals.Tokens != "5310" || days.Totals.Reports != 60 {
		t.Errorf("days of %v, %+v", long, days.Totals)
	}
}

func TestAPeriodOfUsageIsHalfOpen(t *testing.T) {
	t.Parallel()
	s, shipper := usageService(t)
	from, to := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	for i, at := range []time.Time{from.Add(-time.Millisecond), from, to.Add(-time.Millisecond), to} {
		s.use(t, fmt.Sprint("r", i), "c", at, map[string]int{"north": 1 << i})
	}
	ship(t, shipper)
	for _, source := range []string{"postgres", "clickhouse"} {
		body := s.ask(t, "/v1/usage", "from", from.Format(time.RFC3339), "to", to.Format(time.RFC3339), "group_by", "customer", "source", source)
		if len(body.Groups) != 1 || body.Groups[0].Tokens != "6" || body.Groups[0].FramesRejected != "4" || body.Totals.Tokens != "6" {
			t.Errorf("%s: %+v", source, body)
		}
	}
}

// A month in which the clocks change begins and ends by its own zone, from both sources.
func TestAMonthOfAZone(t *testing.T) {
	t.Parallel()
	s, shipper := usageService(t)
	from, to := time.Date(2026, 2, 28, 23, 0, 0, 0, time.UTC), time.Date(2026, 3, 31, 22, 0, 0, 0, time.UTC) // Berlin's March, of 743 hours
	for i, at := range []time.Time{from.Add(-time.Millisecond), from, to.Add(-time.Millisecond), to} {
		s.use(t, fmt.Sprint("r", i), "c", at, map[string]int{"north": 1 << i})
	}
	ship(t, shipper)
	for _, source := range []string{"postgres", "clickhouse"} {
		var months []string
		for _, g := range s.ask(t, "/v1/usage", "group_by", "month", "tz", "Europe/Berlin", "source", source).Groups {
			months = append(months, g.Start.Format(time.RFC3339)+" "+g.Tokens)
		}
		if want := []string{"2026-02-01T00:00:00+01:00 1", "2026-03-01T00:00:00+01:00 6", "2026-04-01T00:00:00+02:00 8"}; !slices.Equal(months, want) {
			t.Errorf("%s: %q, want %q", source, months, want)
		}
		march := s.ask(t, "/v1/usage", "group_by", "day", "tz", "Europe/Berlin", "from", "2026-03-01T00:00:00+01:00", "to", "2026-04-01T00:00:00+02:00", "source", source)
		if len(march.Groups) != 2 || march.Groups[1].Start.Format(time.DateOnly) != "2026-03-31" || march.Totals.Tokens != "6" {
			t.Errorf("%s: %+v", source, march)
		}
	}
}

// From a sum by way of the top frames down to entries, which verify.
func TestDrillDownOfUsage(t *testing.T) {
	t.Parallel()
	s, shipper := usageService(t)
	for i := range 5 {
		s.use(t, fmt.Sprint("r", i), "c", may, map[string]int{"north": i, "south": 10})
	}
	ship(t, shipper)
	top := s.ask(t, "/v1/usage/top", "by", "frame", "limit", "2")
	if len(top.Groups) != 2 || top.Groups[0].ProviderID != "south" || top.Groups[0].Tokens != "50" || top.Groups[0].FramesServed != "5" || top.Groups[1].Tokens != "6" || top.Source != "clickhouse" {
		t.Fatalf("%+v", top)
	}
	providers := s.ask(t, "/v1/usage/top", "by", "provider", "limit", "1")
	if len(providers.Groups) != 1 || providers.Groups[0].Key != "south" || providers.Source != "postgres" {
		t.Fatalf("%+v", providers)
	}
	var seqs []int64
	for after := ""; ; {
		var page api.UsageLinesBody
		s.as(t, kinds.Auditor, http.MethodGet, "/v1/usage/lines?"+yearOf("provider_id", "south", "limit", "2")+after, "").into(t, &page)
		for _, l := range page.Lines {
			if l.ProviderID != "south" || l.Tokens != "10" || len(l.Frames) != 1 || l.Frames[0].FrameID != "page" || l.CustomerID != "c" {
				t.Fatalf("%+v", l)
			}
			seqs = append(seqs, l.Seq)
		}
		if page.Next == nil {
			break
		}
		after = fmt.Sprint("&after=", *page.Next)
	}
	if !reflect.DeepEqual(seqs, []int64{0, 1, 2, 3, 4}) {
		t.Fatalf("%v", seqs)
	}
}

// A log's first entry can be corrected like any other.
func TestDrillDownOfACorrection(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.use(t, "r", "c", may, map[string]int{"north": 5})
	if a := s.as(t, kinds.Billing, http.MethodPost, "/v1/corrections", `{"request_id":"r","reason":"counted twice"}`); a.status != http.StatusCreated {
		t.Fatalf("%d %s", a.status, a.body)
	}
	var page api.UsageLinesBody
	s.as(t, kinds.Auditor, http.MethodGet, "/v1/usage/lines?"+yearOf(), "").into(t, &page)
	if l := page.Lines; len(l) != 2 || l[0].Seq != 0 || l[0].Corrects != nil || l[1].Corrects == nil || *l[1].Corrects != 0 || l[1].Tokens != "-5" {
		t.Fatalf("%+v", l)
	}
}

func TestUsageIsVerifiedAgain(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for i := range 3 {
		if _, err := s.Appender.Append(t.Context(), ledgertest.Host, ledgertest.Sample(t, &kinds.UsageReport, i)); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now()
	body := s.ask(t, "/v1/usage", "from", now.Add(-time.Hour).UTC().Format(time.RFC3339), "to", now.Add(time.Hour).UTC().Format(time.RFC3339), "group_by", "provider", "verify", "true")
	if v := body.Verification; v == nil || !v.Verified || v.Entries != 3 || v.Failed != 0 || v.Checkpoint == "" {
		t.Fatalf("%+v", body.Verification)
	}
}

// during is a projection beside which something happens while it is asked.
type during struct {
	api.UsageProjection
	happens func()
}

func (d *during) Usage(ctx context.Context, q metering.Question) ([]metering.Group, error) {
	groups, err := d.UsageProjection.Usage(ctx, q)
	d.happens()
	return groups, err
}

// An answer says that ClickHouse was being rewritten: before it, during it, and whole within it. One from Postgres is never short.
func TestUsageSaysThatItMayBeShort(t *testing.T) {
	t.Parallel()
	ch := newProjection(t)
	beside := &during{UsageProjection: ch, happens: func() {}}
	s := newServiceWith(t, beside)
	s.use(t, "r", "c", may, map[string]int{"north": 5})
	begin := func() {
		if err := s.Store.BeginRebuild(t.Context()); err != nil {
			t.Error(err)
		}
	}
	end := func() {
		if err := s.Store.RestartShipping(t.Context()); err != nil {
			t.Error(err)
		}
	}
	for _, c := range []struct {
		name   string
		within func()
		source string
		want   bool
	}{
		{"nothing happens", func() {}, "clickhouse", false},
		{"it begins within", begin, "clickhouse", true},
		{"it goes on", func() {}, "clickhouse", true},
		{"it goes on, and the truth is asked", func() {}, "postgres", false},
		{"it ends within", end, "clickhouse", true},
		{"it is over", func() {}, "clickhouse", false},
		{"it begins and ends within", func() { begin(); end() }, "clickhouse", true},
	} {
		beside.happens = c.within
		if body := s.ask(t, "/v1/usage", "group_by", "day", "source", c.source); body.Freshness.Changing != c.want {
			t.Errorf("%s: %+v", c.name, body.Freshness)
		}
	}
}

// A caller who is gone while ClickHouse works is not told that it is away, and nobody is warned.
func TestCallerGoesWhileClickHouseIsAsked(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	gone := &cancelled{cancel: cancel}
	s := newServiceWith(t, gone)
	s.use(t, "r", "c", may, map[string]int{"north": 5})
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/usage?"+yearOf("group_by", "frame"), nil)
	r.Header.Set("Authorization", "Bearer "+s.tokens[kinds.Auditor])
	w := httptest.NewRecorder()
	s.api.Handler().ServeHTTP(w, r)
	if !gone.asked || w.Body.Len() > 0 {
		t.Fatalf("asked: %v; %d %s", gone.asked, w.Code, w.Body)
	}
}

// cancelled is a projection whose caller goes while it is asked.
type cancelled struct {
	api.UsageProjection
	cancel context.CancelFunc
	asked  bool
}

func (c *cancelled) Usage(ctx context.Context, _ metering.Question) ([]metering.Group, error) {
	c.asked = true
	c.cancel()
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestUsageAsCSV(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.use(t, "r", "=evil()", may, map[string]int{"north": 5})
	a := s.as(t, kinds.Auditor, http.MethodGet, "/v1/usage?"+yearOf("group_by", "customer"), "", "Accept", "text/csv")
	rows, err := csv.NewReader(strings.NewReader(string(a.body))).ReadAll()
	if err != nil || len(rows) != 3 || rows[1][1] != "'=evil()" || rows[1][9] != "5" || rows[2][0] != "total" || rows[2][9] != "5" {
		t.Fatalf("%v %v", rows, err)
	}
}

// Without ClickHouse, and with one that is behind or away, sums are there; what needs it says so.
func TestUsageWithoutTheProjection(t *testing.T) {
	t.Parallel()
	away, err := clickhouse.Open("http://127.0.0.1:1/default")
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*service{"none": newService(t), "away": newServiceWith(t, away)} {
		s.api.SetWideLines(1)
		s.use(t, "r", "c", may, map[string]int{"north": 5})
		if body := s.ask(t, "/v1/usage", "group_by", "provider"); body.Groups[0].Tokens != "5" {
			t.Errorf("%s: %+v", name, body)
		}
		for _, query := range []string{yearOf("group_by", "frame"), yearOf("group_by", "day", "source", "clickhouse")} {
			a := s.as(t, kinds.Auditor, http.MethodGet, "/v1/usage?"+query, "")
			if p := a.problem(t); a.status != http.StatusServiceUnavailable || p.Code != "projection-unavailable" {
				t.Errorf("%s, %s: %d %s", name, query, a.status, a.body)
			}
		}
	}
	for name, wide := range map[string]int{"none": http.StatusOK, "away": http.StatusServiceUnavailable} {
		s := newServiceWith(t, map[string]api.UsageProjection{"away": away}[name])
		s.api.SetWideLines(-1)
		s.use(t, "r", "c", may, map[string]int{"north": 5})
		a := s.as(t, kinds.Auditor, http.MethodGet, "/v1/usage?"+yearOf("group_by", "provider"), "")
		if a.status != wide || wide != http.StatusOK && !strings.Contains(a.problem(t).Detail, "source=postgres") {
			t.Errorf("%s, a wide question: %d %s", name, a.status, a.body)
		}
		if body := s.ask(t, "/v1/usage", "group_by", "provider", "source", "postgres"); body.Groups[0].Tokens != "5" || body.Totals.Tokens != "5" {
			t.Errorf("%s: %+v", name, body)
		}
	}
	behind, _ := usageService(t)
	behind.use(t, "r", "c", may, map[string]int{"north": 5})
	body := behind.ask(t, "/v1/usage", "group_by", "frame")
	if len(body.Groups) != 0 || body.Freshness.Covers != 0 || body.Freshness.TreeSize != 1 || body.Totals.Tokens != "5" {
		t.Errorf("%+v", body)
	}
}

func TestUsageRefusesWhatItDoesNotUnderstand(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for path, param := range map[string]string{
		"/v1/usage?" + yearOf("group_by", "planet"):                      "group_by",
		"/v1/usage?" + yearOf():                                          "group_by",
		"/v1/usage?" + yearOf("group_by", "day", "tz", "Local"):          "tz",
		"/v1/usage?" + yearOf("group_by", "day", "tz", "Mars/Olympus"):   "tz",
		"/v1/usage?" + yearOf("group_by", "day", "tz", "./UTC"):          "tz",
		"/v1/usage?" + yearOf("group_by", "day", "tz", "Etc//UTC"):       "tz",
		"/v1/usage?" + yearOf("group_by", "day", "tz", "localtime"):      "tz",
		"/v1/usage?" + yearOf("group_by", "day", "tz", "right/UTC"):      "tz",
		"/v1/usage?" + yearOf("group_by", "frame", "source", "postgres"): "source",
		"/v1/usage?" + yearOf("group_by", "day", "source", "disk"):       "source",
		"/v1/usage?" + yearOf("group_by", "day", "format", "ndjson"):     "format",
		"/v1/usage?group_by=day&to=" + year2026:                          "from",
		"/v1/usage/top?" + yearOf("by", "customer"):                      "by",
		"/v1/usage/top?" + yearOf("by", "frame", "limit", "0"):           "limit",
		"/v1/usage/lines?" + yearOf("limit", "1001"):                     "limit",
		"/v1/usage/lines?" + yearOf("from", year2027, "to", year2026):    "to",
	} {
		a := s.as(t, kinds.Billing, http.MethodGet, path, "")
		if p := a.problem(t); a.status != http.StatusBadRequest || p.Param != param {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	if a := s.as(t, kinds.Host, http.MethodGet, "/v1/usage?"+yearOf("group_by", "day"), ""); a.status != http.StatusForbidden {
		t.Errorf("a host: %d", a.status)
	}
}

func TestOperatorsSeeHowFarClickHouseIsBehind(t *testing.T) {
	t.Parallel()
	s, shipper := usageService(t)
	s.use(t, "r", "c", may, map[string]int{"north": 5})
	var before, after api.ShippingBody
	s.as(t, kinds.Operator, http.MethodGet, "/v1/shipping", "").into(t, &before)
	ship(t, shipper)
	s.as(t, kinds.Operator, http.MethodGet, "/v1/shipping", "").into(t, &after)
	private := httptest.NewServer(s.api.ReadyDetail())
	defer private.Close()
	res, err := http.Get(private.URL + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var ready api.ReadyBody
	if err := json.NewDecoder(res.Body).Decode(&ready); err != nil || res.StatusCode != http.StatusOK || ready.Status != "ready" || ready.Entries != 1 || !reflect.DeepEqual(ready.ClickHouse, after) {
		t.Errorf("%d %+v, %v", res.StatusCode, ready, err)
	}
	if !before.Configured || before.LagEntries != 1 || before.NextSeq != 0 || after.LagEntries != 0 || after.NextSeq != 1 || after.LastError != "" {
		t.Errorf("%+v, then %+v", before, after)
	}
}
