package stripe

import (
	"context"
	"errors"
	"net/http"

	"github.com/stripe/stripe-go/v76"

	"ledgerd/metering/billing"
)

// The types of the events that say that meter events did not count.
const (
	ErrorReportTriggered = "v1.billing.meter.error_report_triggered"
	NoMeterFound         = "v1.billing.meter.no_meter_found"
)

// eventsVersion is the first version of the API that has /v2/core/events.
const eventsVersion = "2024-09-30.acacia"

// errorEvent is the part that concerns us of an event that was fetched. The library's version has no type for it.
type errorEvent struct {
	stripe.APIResource
	ID            string `json:"id"`
	Type          string `json:"type"`
	RelatedObject *struct {
		ID   string `json:"id"`
		Type string `json:"type"`
	} `json:"related_object"`
	Data struct {
		Reason struct {
			ErrorCount int64       `json:"error_count"`
			ErrorTypes []errorType `json:"error_types"`
		} `json:"reason"`
	} `json:"data"`
}

type errorType struct {
	Code         string `json:"code"`
	SampleErrors []struct {
		ErrorMessage string `json:"error_message"`
		Request      struct {
			Identifier string `json:"identifier"`
		} `json:"request"`
	} `json:"sample_errors"`
}

const maxSamples = 1000

// ErrorReport fetches what an event is about, from the API and from nowhere that the event itself might name.
func (c *Client) ErrorReport(ctx context.Context, eventID string) (billing.ErrorReport, error) {
	if err := safeID("event", eventID); err != nil {
		return billing.ErrorReport{}, err
	}
	ctx, x, cancel := c.begin(ctx)
	defer cancel()
	p := &stripe.Params{Context: ctx, Headers: http.Header{"Stripe-Version": {eventsVersion}}}
	got := &errorEvent{}
	err := c.backend.CallRaw(http.MethodGet, stripe.FormatURLPath("/v2/core/events/%s", eventID), c.key, nil, p, got)
	if err == nil && got.ID != eventID {
		err = errors.New("the answer is not the event that was asked for")
	}
	if err := c.failed("the event", x, err); err != nil {
		return billing.ErrorReport{}, err
	}
	return c.report(got), nil
}

func (c *Client) report(e *errorEvent) billing.ErrorReport {
	r := billing.ErrorReport{EventID: e.ID, Type: clip(e.Type, maxCode), Count: e.Data.Reason.ErrorCount}
	if e.RelatedObject != nil && e.RelatedObject.Type == "billing.meter" {
		r.MeterID = clip(e.RelatedObject.ID, maxKey)
	}
	for _, kind := range e.Data.Reason.ErrorTypes {
		for _, s := range kind.SampleErrors {
			if len(r.Samples) == maxSamples {
				return r
			}
			r.Samples = append(r.Samples, billing.ReportedError{
				Identifier: clip(s.Request.Identifier, billing.MaxIdentifier), Code: clip(kind.Code, maxCode), Detail: c.clean(s.ErrorMessage),
			})
		}
	}
	return r
}
