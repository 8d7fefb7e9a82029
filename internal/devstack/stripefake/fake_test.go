package stripefake_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ledgerd/internal/devstack/stripefake"
)

var start = time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC)

func newFake(t *testing.T, file string) *stripefake.Fake {
	t.Helper()
	f, err := stripefake.New(stripefake.Options{Key: "sk_test_x", Now: func() time.Time { return start }, File: file})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// seed makes a meter and a customer.
func seed(t *testing.T, f *stripefake.Fake) {
	t.Helper()
	if err := f.SetMeter(stripefake.Meter{ID: "mtr", EventName: "tokens"}); err != nil {
		t.Fatal(err)
	}
	if err := f.SetCustomer(stripefake.Customer{ID: "cus"}); err != nil {
		t.Fatal(err)
	}
}

// post sends a meter event with some fields changed, and returns status and body.
func post(t *testing.T, f http.Handler, key string, change ...string) (int, string) {
	t.Helper()
	form := url.Values{
		"event_name": {"tokens"}, "identifier": {"one"}, "timestamp": {strconv.FormatInt(start.Unix(), 10)},
		"payload[stripe_customer_id]": {"cus"}, "payload[value]": {"7"},
	}
	for i := 0; i < len(change); i += 2 {
		form.Set(change[i], change[i+1])
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/billing/meter_events", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Authorization", "Bearer sk_test_x")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func TestWhatAnEventMustBe(t *testing.T) {
	t.Parallel()
	f := newFake(t, "")
	seed(t, f)
	at := func(d time.Duration) string { return strconv.FormatInt(start.Add(d).Unix(), 10) }
	for _, c := range []struct {
		field, value string
		code         string // "" when it is taken
	}{
		{"payload[value]", "999999999999999", ""},
		{"payload[value]", "-999999999999999", ""},
		{"payload[value]", "1000000000000000", "meter_event_invalid_value"},
		{"payload[value]", "1.5", "meter_event_invalid_value"},
		{"payload[value]", "", "meter_event_invalid_value"},
		{"payload[stripe_customer_id]", "cus_other", "resource_missing"},
		{"event_name", "other", "no_meter"},
		{"identifier", strings.Repeat("x", 100), ""},
		{"identifier", strings.Repeat("x", 101), "parameter_invalid_string_long"},
		{"timestamp", at(-35 * 24 * time.Hour), ""},
		{"timestamp", at(-35*24*time.Hour - time.Second), "timestamp_too_far_in_past"},
		{"timestamp", at(5 * time.Minute), ""},
		{"timestamp", at(5*time.Minute + time.Second), "timestamp_in_future"},
		{"timestamp", "soon", "parameter_invalid_integer"},
		{"colour", "red", "parameter_unknown"},
	} {
		status, body := post(t, f, "", "identifier", c.field+c.value, c.field, c.value)
		var said struct {
			Error struct{ Code string }
		}
		if err := json.Unmarshal([]byte(body), &said); err != nil || said.Error.Code != c.code || (status == 200) != (c.code == "") {
			t.Errorf("%s=%s: %d %s", c.field, c.value, status, body)
		}
	}
}

func TestAnswersAreKeptUnderTheirKey(t *testing.T) {
	t.Parallel()
	f := newFake(t, "")
	seed(t, f)
	first, _ := post(t, f, "k")
	again, _ := post(t, f, "k")
	otherwise, conflict := post(t, f, "k", "payload[value]", "8")
	known, exists := post(t, f, "k2")
	if first != 200 || again != 200 || otherwise != 400 || !strings.Contains(conflict, "idempotency_error") || known != 400 || !strings.Contains(exists, "An event already exists with identifier one.") {
		t.Fatal(first, again, otherwise, conflict, known, exists)
	}
	if err := f.Advance(24 * time.Hour); err != nil {
		t.Fatal(err)
	}
	if status, body := post(t, f, "k2"); status != 200 || f.Total("mtr", "cus") != 14 {
		t.Fatal(status, body, f.Total("mtr", "cus"))
	}
}

// Of two calls for a customer at once the second is sent away; another customer's goes through.
func TestOneCallAtATime(t *testing.T) {
	t.Parallel()
	f := newFake(t, "")
	seed(t, f)
	if err := f.SetCustomer(stripefake.Customer{ID: "cus_2"}); err != nil {
		t.Fatal(err)
	}
	f.SetFaults(stripefake.Fault{Call: "create", Customer: "cus", Answer: "hang", Times: 1})
	base, err := f.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	hung := make(chan struct{})
	go func() {
		defer close(hung)
		body := "event_name=tokens&payload[stripe_customer_id]=cus"
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/v1/billing/meter_events", strings.NewReader(body))
		if err != nil {
			return
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Authorization", "Bearer sk_test_x")
		if res, err := http.DefaultClient.Do(r); err == nil {
			res.Body.Close()
		}
	}()
	for f.Calls("create") == 0 { // bounded by the test's own deadline
		if t.Context().Err() != nil {
			t.Fatal("the call never came")
		}
	}
	if status, _ := post(t, f, ""); status != 429 {
		t.Errorf("%d beside a call under way", status)
	}
	if status, body := post(t, f, "", "payload[stripe_customer_id]", "cus_2"); status != 200 {
		t.Error(status, body)
	}
	f.Close()
	<-hung
}

// A meter with an event_time_window counts the last event of each window and drops the others.
func TestSummariesOfAMeterWithWindows(t *testing.T) {
	t.Parallel()
	f := newFake(t, "")
	seed(t, f)
	if err := f.SetMeter(stripefake.Meter{ID: "mtr", EventName: "tokens", EventTimeWindow: "hour"}); err != nil {
		t.Fatal(err)
	}
	for i, minutes := range []int{-90, -61, -30, -1} {
		if status, body := post(t, f, "", "identifier", strconv.Itoa(i), "payload[value]", strconv.Itoa(10*i+1), "timestamp", strconv.FormatInt(start.Add(time.Duration(minutes)*time.Minute).Unix(), 10)); status != 200 {
			t.Fatal(body)
		}
	}
	q := url.Values{"customer": {"cus"}, "start_time": {strconv.FormatInt(start.Add(-2*time.Hour).Unix(), 10)}, "end_time": {strconv.FormatInt(start.Unix(), 10)}}
	if body := get(t, f, "/v1/billing/meters/mtr/event_summaries?"+q.Encode()); !strings.Contains(body, `"aggregated_value": 42`) { // 11 + 31
		t.Fatal(body)
	}
}

func get(t *testing.T, f http.Handler, path string) string {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
	r.Header.Set("Authorization", "Bearer sk_test_x")
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	return w.Body.String()
}

// Late events are invisible to summaries and are billed nevertheless.
func TestSummariesLag(t *testing.T) {
	t.Parallel()
	f := newFake(t, "")
	seed(t, f)
	f.SetFaults(stripefake.Fault{Call: "create", LateSeconds: 3600})
	if status, body := post(t, f, "", "timestamp", strconv.FormatInt(start.Unix()-1, 10)); status != 200 {
		t.Fatal(body)
	}
	path := "/v1/billing/meters/mtr/event_summaries?customer=cus&start_time=" + strconv.FormatInt(start.Unix()-60, 10) + "&end_time=" + strconv.FormatInt(start.Unix(), 10)
	if body := get(t, f, path); strings.Contains(body, "aggregated_value") {
		t.Fatal(body)
	}
	if usage, units := f.Invoice("mtr", "cus", start.Add(-time.Minute), start, 1_000_000); usage != 7 || units != 1 {
		t.Fatal(usage, units)
	}
	if err := f.Advance(time.Hour); err != nil {
		t.Fatal(err)
	}
	if body := get(t, f, path); !strings.Contains(body, `"aggregated_value": 7`) {
		t.Fatal(body)
	}
}

// A restart keeps what was taken; the half line of a process that was killed is dropped.
func TestFileOutlivesTheFake(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "stripe.jsonl")
	f := newFake(t, file)
	seed(t, f)
	if err := f.Advance(time.Hour); err != nil {
		t.Fatal(err)
	}
	if status, body := post(t, f, "k"); status != 200 {
		t.Fatal(body)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(raw, `{"event":{"ident`...), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second opens what the first left
		f = newFake(t, file)
		if status, body := post(t, f, "k"); status != 200 || f.Total("mtr", "cus") != 7 || !f.Now().Equal(start.Add(time.Hour)) {
			t.Fatal(status, body, f.Total("mtr", "cus"), f.Now())
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, []byte("not JSON\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := stripefake.New(stripefake.Options{File: file}); err == nil {
		t.Error("a broken file is read over")
	}
}

// The webhook gets a signed notice of what does not count, and once more when somebody asks.
func TestReportsAreDelivered(t *testing.T) {
	t.Parallel()
	got := make(chan string, 4)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("Stripe-Signature") != "" {
			got <- string(body)
		}
	}))
	defer hook.Close()
	f := newFake(t, "")
	seed(t, f)
	f.SetWebhook(hook.URL, "whsec_x")
	f.SetFaults(stripefake.Fault{Call: "create", Uncounted: "archived_meter"})
	if status, body := post(t, f, ""); status != 200 {
		t.Fatal(body)
	}
	first := <-got
	if d, err := f.Deliver(t.Context(), f.Reports()[0].ID); err != nil || d.Status != 200 {
		t.Fatal(d, err)
	}
	if second := <-got; first != second || strings.Contains(first, "archived") {
		t.Fatal(first, second)
	}
	if full := get(t, f, "/v2/core/events/"+f.Reports()[0].ID); !strings.Contains(full, `"archived_meter"`) || !strings.Contains(full, `"identifier": "one"`) {
		t.Fatal(full)
	}
}

func TestControl(t *testing.T) {
	t.Parallel()
	f := newFake(t, "")
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"PUT", "/_meters", `{"id":"mtr","event_name":"tokens"}`, 200, `"id": "mtr"`},
		{"PUT", "/_customers", `{"id":"cus"}`, 200, `"id": "cus"`},
		{"PUT", "/_clock", `{"now":"2027-03-02T00:00:00Z"}`, 200, "2027-03-02T00:00:00Z"},
		{"PUT", "/_clock", `{"advance":"1h"}`, 200, "2027-03-02T01:00:00Z"},
		{"PUT", "/_clock", `{}`, 400, "now or advance"},
		{"PUT", "/_faults", `[{"call":"create","answer":"html"}]`, 200, `"html"`},
		{"GET", "/_faults", ``, 200, `"html"`},
		{"PUT", "/_faults", `[]`, 200, "[]"},
		{"PUT", "/_faults", `[{"colour":1}]`, 400, "colour"},
		{"GET", "/_events", ``, 200, "[]"},
		{"GET", "/_totals", ``, 200, "{}"},
		{"GET", "/_invoice?meter=mtr&customer=cus&start_time=0&end_time=60&divide_by=10", ``, 200, `"units": 0`},
		{"GET", "/_invoice", ``, 400, "divide_by"},
		{"GET", "/v1/nothing", ``, 404, "Unrecognized"},
		{"GET", "/v1/billing/meters/mtr", ``, 401, "Invalid API Key"},
	} {
		w := httptest.NewRecorder()
		f.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), c.method, c.path, strings.NewReader(c.body)))
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s %s: %d %s", c.method, c.path, w.Code, w.Body)
		}
	}
}
