package stripefake

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Report is an event that says that a meter event did not count.
type Report struct {
	ID         string    `json:"id"`
	MeterID    string    `json:"meter"`
	Identifier string    `json:"identifier"`
	Code       string    `json:"code"`
	At         time.Time `json:"at"`
}

// webhook is where events are sent to.
type webhook struct{ url, secret string }

// Delivery is what came of sending an event.
type Delivery struct {
	EventID string `json:"event"`
	Status  int    `json:"status"` // 0 when there was no answer
}

const (
	reportType       = "v1.billing.meter.error_report_triggered"
	deliveryTimeout  = 10 * time.Second
	deliveryAttempts = 3
)

// SetWebhook says where events are sent to, and what signs them. "" sends none.
func (f *Fake) SetWebhook(url, secret string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.webhook = webhook{url, secret}
}

// Reports lists the events by their time.
func (f *Fake) Reports() []Report {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := []Report{}
	for _, r := range f.state.reports {
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b Report) int { return a.At.Compare(b.At) })
	return list
}

// Deliveries lists what was sent to the webhook.
func (f *Fake) Deliveries() []Delivery {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.delivered)
}

// report makes an event of what does not count and sends it off; the caller holds mu.
func (f *Fake) report(e *Event, code string) error {
	r := Report{ID: "evt_fake_" + rand.Text(), MeterID: e.MeterID, Identifier: e.Identifier, Code: code, At: f.time()}
	if err := f.keep(record{Report: &r}); err != nil {
		return err
	}
	if f.webhook.url == "" {
		return nil
	}
	f.deliveries.Go(func() {
		for range deliveryAttempts {
			if d, err := f.Deliver(f.ctx, r.ID); f.ctx.Err() != nil || (err == nil && d.Status/100 == 2) {
				return
			}
		}
	})
	return nil
}

// Deliver sends an event to the webhook. The signature is made at the machine's time, which is what the receiver has.
func (f *Fake) Deliver(ctx context.Context, id string) (Delivery, error) {
	f.mu.Lock()
	r, known := f.state.reports[id]
	to := f.webhook
	f.mu.Unlock()
	if !known || to.url == "" {
		return Delivery{}, errors.New("no such event, or no webhook")
	}
	ctx, cancel := context.WithTimeout(ctx, deliveryTimeout)
	defer cancel()
	body := []byte(text(r.thin()))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.url, bytes.NewReader(body))
	if err != nil {
		return Delivery{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Stripe-Signature", Sign(body, to.secret, time.Now()))
	d := Delivery{EventID: id}
	res, err := http.DefaultClient.Do(req)
	if err == nil {
		d.Status = res.StatusCode
		err = res.Body.Close()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.delivered = append(f.delivered, d)
	return d, err
}

// Sign is the Stripe-Signature of a body: v1, HMAC-SHA-256 over time and body.
func Sign(body []byte, secret string, at time.Time) string {
	stamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(stamp + "."))
	mac.Write(body)
	return "t=" + stamp + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}

// thin is what a delivery has: what happened, and nothing about it.
func (r Report) thin() map[string]any {
	return map[string]any{
		"object": "v2.core.event", "id": r.ID, "type": reportType, "livemode": false, "created": r.At.Format(time.RFC3339Nano),
		"related_object": map[string]string{"id": r.MeterID, "type": "billing.meter", "url": "/v1/billing/meters/" + r.MeterID},
	}
}

func (f *Fake) readEvent(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	report, ok := f.state.reports[r.PathValue("id")]
	if !ok {
		refuse(w, missing("event", r.PathValue("id")))
		return
	}
	body := report.thin()
	body["data"] = map[string]any{
		"developer_message_summary": "There is 1 invalid event",
		"validation_start":          report.At.Format(time.RFC3339), "validation_end": report.At.Format(time.RFC3339),
		"reason": map[string]any{"error_count": 1, "error_types": []map[string]any{{
			"code": report.Code, "error_count": 1, "sample_errors": []map[string]any{{
				"error_message": fmt.Sprintf("The event does not count: %s.", strings.ReplaceAll(report.Code, "_", " ")),
				"request":       map[string]string{"identifier": report.Identifier},
			}},
		}}},
	}
	write(w, http.StatusOK, text(body))
}
