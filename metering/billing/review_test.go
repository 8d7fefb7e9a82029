package billing_test

import (
	"testing"

	"ledgerd/metering/billing"
)

func TestCreditNotes(t *testing.T) {
	t.Parallel()
	c := config(t)
	m, _ := c.Mapped("acme")
	now := at("2026-12-03T12:00:00Z")
	carried := billing.Make(ask(t, "2026-12-01T00:55:30Z", line(1, "2026-11-03T05:00:00Z", 5))).Intents[0]
	inTime := intent(t)
	back := func(seq int64, asOf string, tokens int64, i *billing.Intent) billing.TakenBack {
		return billing.TakenBack{Line: line(seq, asOf, tokens), Corrects: seq - 1, Intent: i, IntentAt: 90}
	}
	other := back(7, "2026-11-20T00:00:00Z", -1, nil)
	other.ProviderID = "other"
	notes := billing.CreditNotes(c, m, []billing.TakenBack{
		back(11, "2026-11-03T05:00:00Z", -5, &carried), // taken back in December
		back(12, "2026-11-03T05:00:00Z", -5, &inTime),  // in time
		back(13, "2026-11-20T00:00:00Z", -6, nil),      // nobody took it back yet
		back(14, "2026-12-02T00:00:00Z", -7, nil),      // its invoice is open
		back(15, "2026-10-02T00:00:00Z", -8, nil),      // never billed
		back(16, "2026-11-20T00:00:00Z", 9, nil),       // it adds
		other,
	}, now)
	if len(notes) != 2 || notes[0].Correction != 11 || notes[0].TakenBack != 90 || !notes[0].In.Contains(now) || notes[1].Correction != 13 || notes[1].TakenBack != 0 ||
		!notes[1].Invoice.Contains(at("2026-11-20T00:00:00Z")) || notes[1].Tokens != -6 {
		t.Errorf("%+v", notes)
	}
}

func TestSumWaiting(t *testing.T) {
	t.Parallel()
	c := config(t)
	wait := func(asOf string, tokens int64, r billing.Reason) billing.Waiting {
		return billing.Waiting{Line: line(1, asOf, tokens), Reason: r}
	}
	sums := billing.SumWaiting(c, billing.Mapping{}, []billing.Waiting{
		wait("2026-11-03T05:10:00Z", billing.MaxValue, billing.WindowOpen), wait("2026-11-03T04:10:00Z", 1, billing.TooOld), wait("2026-11-03T05:50:00Z", 2, billing.WindowOpen),
		wait("2026-11-03T05:50:00Z", -3, billing.Capped),
	})
	if len(sums) != 3 || sums[0].Reason != billing.TooOld || sums[1].Reason != billing.Capped || sums[2].Lines != 2 || sums[2].Tokens.String() != "1000000000000001" ||
		!sums[2].Window.Start.Equal(at("2026-11-03T05:00:00Z")) {
		t.Errorf("%+v", sums)
	}
}
