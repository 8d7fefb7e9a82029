package audit

import (
	"fmt"
	"slices"
	"time"

	"ledgerd/internal/kinds"
	"ledgerd/receipts/air"
)

// BundleVerification compares the verdict that was recorded with a bundle with what the verifier says now.
type BundleVerification struct {
	// Stored is the recorded verdict, with the policy and time under which it was reached.
	Stored BundleVerdict `json:"stored"`
	// Rerun is the verifier's answer to the same question today: same bytes, same policy, same time.
	Rerun BundleVerdict `json:"rerun"`
	// Reproduced says that Rerun agrees with Stored in status, rules, places and evidence class.
	Reproduced bool `json:"reproduced"`
	// Current is the answer under another policy or time, which may differ.
	Current BundleVerdict `json:"current"`
}

// BundleVerdict is a verdict and what it was reached under.
type BundleVerdict struct {
	PolicySeq  *int64     `json:"policy_seq" jsonschema:"the trust-policy entry, null for none"`
	VerifiedAt string     `json:"verified_at"`
	Verdict    air.Result `json:"verdict"`
}

// VerifyBundle judges a bundle under a tenant's policy (nil for none) at an instant.
func VerifyBundle(bundle []byte, policy *kinds.TrustPolicy, at time.Time) (BundleVerdict, error) {
	v := BundleVerdict{VerifiedAt: at.UTC().Format(kinds.ProfileTime)}
	if policy == nil {
		v.Verdict = air.Verify(bundle, nil)
		return v, nil
	}
	p, err := policy.At(at)
	if err != nil {
		return v, err
	}
	v.PolicySeq, v.Verdict = &policy.Seq, air.Verify(bundle, p)
	return v, nil
}

// ReverifyBundle runs the verifier again over a recorded bundle: under the policy and time of its record, and under
// another. stored is the policy that the record names, nil if it names none.
func ReverifyBundle(b *kinds.RecordedBundle, stored, current *kinds.TrustPolicy, at time.Time) (BundleVerification, error) {
	then, err := time.Parse(kinds.ProfileTime, b.Receiver.VerifiedAt)
	if err != nil {
		return BundleVerification{}, fmt.Errorf("reading verified_at of entry %d: %w", b.Seq, err)
	}
	v := BundleVerification{Stored: BundleVerdict{PolicySeq: b.Receiver.PolicySeq, VerifiedAt: b.Receiver.VerifiedAt, Verdict: b.Receiver.Verdict}}
	if v.Rerun, err = VerifyBundle(b.Bundle, stored, then); err != nil {
		return v, err
	}
	v.Reproduced = sameVerdict(v.Stored.Verdict, v.Rerun.Verdict)
	v.Current, err = VerifyBundle(b.Bundle, current, at)
	return v, err
}

// sameVerdict compares what a recorded verdict (a) and a new one say, not how it words it: a later version may improve its texts.
func sameVerdict(a, b air.Result) bool {
	same := func(x, y air.Finding) bool { return x.Rule == y.Rule && x.Path == y.Path }
	return a.Status == b.Status && a.OK == b.OK && a.Evidence == b.Evidence &&
		slices.EqualFunc(a.Errors, b.Errors, same) && slices.EqualFunc(a.Indeterminate, b.Indeterminate, same) &&
		disclosed(a.Disclosures, b.Disclosures)
}

// disclosed says whether a verdict was recorded with disclosures, all of which still apply. A later version may have more to
// say.
func disclosed(recorded, now []air.Disclosure) bool {
	for _, d := range recorded {
		if !slices.ContainsFunc(now, func(n air.Disclosure) bool { return n.Code == d.Code }) {
			return false
		}
	}
	return len(recorded) > 0
}
