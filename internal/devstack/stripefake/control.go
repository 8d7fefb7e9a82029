package stripefake

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// control reads the JSON of whoever steers the fake.
func control(w http.ResponseWriter, r *http.Request, into any) bool {
	dec := json.NewDecoder(r.Body)
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		refuse(w, invalid("", "", "%v", err))
		return false
	}
	return true
}

// done answers what steers the fake.
func done(w http.ResponseWriter, err error, body any) {
	if err != nil {
		refuse(w, &refusal{status: http.StatusInternalServerError, Type: "api_error", Message: fmt.Sprintf("%v", err)})
		return
	}
	write(w, http.StatusOK, text(body))
}

func (f *Fake) getClock(w http.ResponseWriter, _ *http.Request) {
	done(w, nil, map[string]time.Time{"now": f.Now()})
}

func (f *Fake) putClock(w http.ResponseWriter, r *http.Request) {
	var to struct {
		Now     time.Time `json:"now"`
		Advance string    `json:"advance"`
	}
	if !control(w, r, &to) {
		return
	}
	by := to.Now.Sub(f.Now())
	if to.Advance != "" {
		var err error
		if by, err = time.ParseDuration(to.Advance); err != nil {
			refuse(w, invalid("", "advance", "%v", err))
			return
		}
	} else if to.Now.IsZero() {
		refuse(w, invalid("", "", "now or advance is needed"))
		return
	}
	if err := f.Advance(by); err != nil {
		done(w, err, nil)
		return
	}
	f.getClock(w, r)
}

func (f *Fake) getFaults(w http.ResponseWriter, _ *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	done(w, nil, append([]Fault{}, f.faults...))
}

func (f *Fake) putFaults(w http.ResponseWriter, r *http.Request) {
	var faults []Fault
	if control(w, r, &faults) {
		f.SetFaults(faults...)
		f.getFaults(w, r)
	}
}

func (f *Fake) putMeter(w http.ResponseWriter, r *http.Request) {
	var m Meter
	if control(w, r, &m) {
		done(w, f.SetMeter(m), m)
	}
}

func (f *Fake) putCustomer(w http.ResponseWriter, r *http.Request) {
	var c Customer
	if control(w, r, &c) {
		done(w, f.SetCustomer(c), c)
	}
}

func (f *Fake) getEvents(w http.ResponseWriter, r *http.Request) {
	done(w, nil, f.Events(r.URL.Query().Get("meter"), r.URL.Query().Get("customer")))
}

// getTotals is meter → customer → what counts.
func (f *Fake) getTotals(w http.ResponseWriter, _ *http.Request) {
	totals := map[string]map[string]int64{}
	for _, e := range f.Events("", "") {
		if totals[e.MeterID] == nil {
			totals[e.MeterID] = map[string]int64{}
		}
		if e.Counted {
			totals[e.MeterID][e.Customer] += e.Value
		}
	}
	done(w, nil, totals)
}

func (f *Fake) postDeliver(w http.ResponseWriter, r *http.Request) {
	d, err := f.Deliver(r.Context(), r.URL.Query().Get("event"))
	done(w, err, d)
}
