package ledgertest

import (
	"fmt"
	"testing"
	"time"

	"ledgerd/internal/kinds"
	"ledgerd/ledger"
	"ledgerd/metering/billing"
)

// BillingStart is when billing begins in samples: usage of samples comes after it.
var BillingStart = time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -20)

// BillingArtifact is a configuration: hours, all providers, and each of the customers mapped to "cus_" and its id, its billing
// periods beginning at BillingStart.
func BillingArtifact(customers ...string) string {
	list := ""
	for i, c := range customers {
		if i > 0 {
			list += ","
		}
		list += fmt.Sprintf(`{"customer_id":%q,"stripe_customer":%q,"billing_anchor":%q}`, c, "cus_"+c, BillingStart.Format(time.RFC3339))
	}
	return fmt.Sprintf(`{"secret_key":"main","meter":{"id":"mtr_1","event_name":"context_tokens"},"window":"hour","start":%q,"customers":[%s]}`,
		BillingStart.Format(time.RFC3339), list)
}

// BillingConfig is an accepted configuration as BillingArtifact has it, to follow the one in force, nil for none.
func BillingConfig(tb testing.TB, inForce *kinds.BillingConfig, customers ...string) *kinds.Accepted {
	tb.Helper()
	a, err := kinds.BillingConfigKind.Accept(kinds.Submission{Artifact: []byte(BillingArtifact(customers...))}, kinds.Env{Billing: inForce})
	if err != nil {
		tb.Fatalf("ledgertest: %v", err)
	}
	return a
}

// Usage is an accepted report of a customer with one provider, "wiki", that served one frame of the given tokens.
func Usage(tb testing.TB, request, customer string, asOf time.Time, tokens uint32) *kinds.Accepted {
	tb.Helper()
	artifact := fmt.Appendf(nil, `{"budget_requested":1,"budget_consumed":%d,"as_of":%q,"providers":[{"provider_id":"wiki","frames_served":1,"frames_rejected":0,"token_cost":%d,`+
		`"served_frames":[{"frame":{"provider_id":"wiki","frame_id":"page/a","content_digest":"sha256:1"},"token_cost":%d}]}]}`,
		tokens, asOf.UTC().Format("2006-01-02T15:04:05.000000Z"), tokens, tokens)
	context := fmt.Appendf(nil, `{"request_id":%q,"turn_id":"turn","customer_id":%q}`, request, customer)
	a, err := kinds.UsageReport.Accept(kinds.Submission{Artifact: artifact, Context: context}, kinds.Env{Now: asOf})
	if err != nil {
		tb.Fatalf("ledgertest: %v", err)
	}
	return a
}

// BillingRole is a poster that may correct usage.
var BillingRole = kinds.Poster{Tenant: Tenant, Role: kinds.Billing, TokenID: "tok_billing"}

func billingSample(tb testing.TB, k *kinds.Kind, n int) *kinds.Accepted {
	tb.Helper()
	var a *kinds.Accepted
	var err error
	switch k {
	case &kinds.Correction:
		a, err = correctionSample(n)
	case &kinds.BillingConfigKind:
		a = BillingConfig(tb, &kinds.BillingConfig{Revision: int64(n)}, "customer", fmt.Sprintf("customer-%d", n))
	case &kinds.BillingIntent:
		a, err = kinds.NewBillingIntent(IntentSample(tb, n))
	default:
		first := BillingStart
		a, err = kinds.NewBillingOutcome(billing.Outcome{Intent: int64(n), Identifier: fmt.Sprintf("led1_%d", n), Number: 1, State: billing.Parked, Cause: billing.ByRefusal,
			Attempts: 2, FirstTry: &first, Status: 400, Code: "resource_missing", RequestID: "req_1", Detail: "no such customer"})
	}
	if err != nil {
		tb.Fatalf("ledgertest: %s: %v", k.Name, err)
	}
	return a
}

// correctionSample corrects a report of two providers that nobody recorded, as if it were entry n.
func correctionSample(n int) (*kinds.Accepted, error) {
	now := time.Now()
	artifact, context := usageSample(now, n+1)
	report, err := kinds.UsageReport.Accept(kinds.Submission{Artifact: artifact, Context: context}, kinds.Env{Now: now})
	if err != nil {
		return nil, err
	}
	corrected, err := kinds.ReadCorrected(ledger.Entry{Seq: int64(n), Meta: ledger.Meta{Kind: kinds.UsageReport.Name}, Content: report.Content.Encode()})
	if err != nil {
		return nil, err
	}
	artifact, _ = usageSample(now, n)
	s := kinds.Submission{Artifact: fmt.Appendf(nil, `{"seq":%d,"reason":"reason","replacement":%s}`, n, artifact)}
	return kinds.Correction.Accept(s, kinds.Env{Corrected: corrected})
}

// IntentSample is an intent of a line that nobody recorded: the n-th differs from others in what it claims.
func IntentSample(tb testing.TB, n int) billing.Intent {
	tb.Helper()
	c, err := billing.ParseConfig([]byte(BillingArtifact("customer")))
	if err != nil {
		tb.Fatalf("ledgertest: %v", err)
	}
	line := billing.Line{Seq: int64(1_000_000 + n), ProviderID: "wiki", AsOf: BillingStart.Add(time.Hour), Tokens: int64(n + 1)}
	return billing.Make(billing.Ask{Origin: "test.example", Revision: 1, Config: c, Mapping: c.Customers[0], Lines: []billing.Line{line}, Now: BillingStart.AddDate(0, 0, 2)}).Intents[0]
}
