package stripefake

import (
	"net"
	"net/http"
	"strconv"
	"time"
)

// Fault is what befalls calls. It answers nothing by itself when Answer is "": then the other members change what becomes of
// the event, and the answer is the usual one.
type Fault struct {
	Call     string `json:"call"`     // create, meter, summaries, customer, subscriptions or event; "" for each
	Customer string `json:"customer"` // of a create; "" for each
	Skip     int    `json:"skip"`     // calls that pass first
	Times    int    `json:"times"`    // how many calls it befalls; 0 for all

	Answer     string `json:"answer"`      // drop, reset, hang, html, garbage or error; "" for the usual one
	Status     int    `json:"status"`      // of html (502 when 0) and error (500 when 0)
	RetryAfter int    `json:"retry_after"` // seconds, of html and error; 0 for none
	Recorded   bool   `json:"recorded"`    // the event is taken before the answer goes wrong
	Sticky     bool   `json:"sticky"`      // an error is kept under the Idempotency-Key, as Stripe keeps its own 500s
	DelayMS    int    `json:"delay_ms"`    // before the answer

	Uncounted   string `json:"uncounted"`    // the event is taken and does not count; this is the code of the report to the webhook
	LateSeconds int    `json:"late_seconds"` // summaries have the event only so much later
}

// SetFaults replaces the faults.
func (f *Fake) SetFaults(faults ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append([]Fault(nil), faults...)
}

// take counts a call and finds what befalls it: the first fault that matches.
func (f *Fake) take(call, customer string) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[call]++
	for i := range f.faults {
		t := &f.faults[i]
		if (t.Call != "" && t.Call != call) || (t.Customer != "" && t.Customer != customer) {
			continue
		}
		if t.Skip > 0 {
			t.Skip--
			continue
		}
		found := *t
		switch t.Times {
		case 0: // for good
		case 1:
			f.faults = append(f.faults[:i:i], f.faults[i+1:]...)
		default:
			t.Times--
		}
		return found
	}
	return Fault{}
}

// faulty lets a fault take the place of an answer.
func (f *Fake) faulty(call string, h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		t := f.take(call, "")
		if t.Answer == "" {
			t.wait(r)
			h(w, r)
			return
		}
		t.answer(w, r)
	}
}

// wait is over early when the caller goes away.
func (t Fault) wait(r *http.Request) {
	if t.DelayMS <= 0 {
		return
	}
	timer := time.NewTimer(time.Duration(t.DelayMS) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
}

// answer goes wrong as the fault says.
func (t Fault) answer(w http.ResponseWriter, r *http.Request) {
	t.wait(r)
	if t.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(t.RetryAfter))
	}
	switch t.Answer {
	case "reset":
		reset(w)
	case "hang":
		<-r.Context().Done()
	case "html":
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(or(t.Status, http.StatusBadGateway))
		_, _ = w.Write([]byte("<html><body><h1>Bad Gateway</h1></body></html>"))
	case "garbage":
		write(w, http.StatusOK, `{"object": "billing.meter_ev`)
	case "error":
		refuse(w, t.refusal())
	default: // drop
		panic(http.ErrAbortHandler)
	}
}

func (t Fault) refusal() *refusal {
	e := &refusal{status: or(t.Status, http.StatusInternalServerError), Type: "api_error", Message: "An unknown error occurred."}
	switch e.status {
	case http.StatusTooManyRequests:
		e.Type, e.Code, e.Message = "invalid_request_error", "rate_limit", "Request rate limit exceeded."
	case http.StatusConflict:
		e.Type, e.Code, e.Message = "invalid_request_error", "lock_timeout", "This object cannot be accessed right now because another API request is currently accessing it."
	case http.StatusBadRequest, http.StatusNotFound, http.StatusForbidden, http.StatusUnauthorized:
		e.Type, e.Message = "invalid_request_error", "The request is refused."
	}
	return e
}

func or(status, otherwise int) int {
	if status == 0 {
		return otherwise
	}
	return status
}

// reset ends the connection without a goodbye.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
