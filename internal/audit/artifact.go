package audit

import (
	"errors"

	"ledgerd/frames"
	"ledgerd/internal/strictjson"
	"ledgerd/metering"
	"ledgerd/receipts"
)

// ArtifactVerdict is what the protocol says about one artifact, as leniently as its reference: what a ledger demands beyond
// it at its door (bounds, representable numbers, how far as_of is from now) is not asked.
type ArtifactVerdict struct {
	Kind     string           `json:"kind"`
	Verdict  string           `json:"verdict" jsonschema:"accept or reject"`
	Stage    string           `json:"stage,omitzero" jsonschema:"of a refusal: parse, when it can't be read, or check"`
	Pointer  *string          `json:"pointer,omitzero" jsonschema:"JSON pointer of the place of a refusal"`
	Problem  string           `json:"problem,omitzero" jsonschema:"why it is refused; a fixed text"`
	Findings []frames.Finding `json:"findings" jsonschema:"what an auditor wants to know beside the verdict"`
}

// Accepted says whether the verdict is accept.
func (v ArtifactVerdict) Accepted() bool { return v.Verdict == accept }

// judged is what a core says about one document: what makes it unreadable, else what refuses it and what there is to know.
type judged struct {
	parse, check error
	findings     []frames.Finding
}

// artifactKinds is every artifact that can be judged by itself, in the order of the documentation.
var artifactKinds = [...]struct {
	name  string
	judge func([]byte) judged
}{
	{"usage-report", func(src []byte) judged {
		r, err := metering.ParseUsageReport(src)
		return judged{err, metering.Check(r), metering.Findings(r)}
	}},
	{"consent-receipt", func(src []byte) judged {
		r, err := receipts.ParseConsentReceipt(src)
		return judged{err, r.Check(), r.Findings()}
	}},
	{"consent-revocation", func(src []byte) judged {
		r, err := receipts.ParseRevocation(src)
		return judged{err, r.Check(), nil}
	}},
	{"consent-record", func(src []byte) judged {
		r, err := receipts.ParseConsentRecord(src)
		return judged{err, nil, r.Findings()}
	}},
	{"provider-declaration", func(src []byte) judged {
		r, err := receipts.ParseDeclaration(src)
		return judged{err, r.Check(), r.Findings()}
	}},
	{"data-flow", func(src []byte) judged {
		flow, findings, err := receipts.ParseDataFlow(src)
		return judged{err, flow.Check(), findings}
	}},
	{"frame-verdict", func(src []byte) judged {
		v, err := frames.ParseFrameVerdict(src)
		return judged{err, nil, v.Findings()}
	}},
	{"frame-verification", func(src []byte) judged {
		v, err := frames.ParseVerification(src)
		return judged{err, v.Check(), v.Findings()}
	}},
}

// ArtifactKinds names the artifacts that VerifyArtifact judges.
func ArtifactKinds() []string {
	names := make([]string, len(artifactKinds))
	for i, k := range artifactKinds {
		names[i] = k.name
	}
	return names
}

// VerifyArtifact judges one document. ok is false for a kind that is not in ArtifactKinds.
func VerifyArtifact(kind string, src []byte) (v ArtifactVerdict, ok bool) {
	for _, k := range artifactKinds {
		if k.name == kind {
			return k.judge(src).verdict(kind), true
		}
	}
	return ArtifactVerdict{}, false
}

func (j judged) verdict(kind string) ArtifactVerdict {
	v := ArtifactVerdict{Kind: kind, Verdict: accept, Findings: []frames.Finding{}}
	if j.parse != nil {
		v.Verdict, v.Stage = reject, stageParse
		v.Pointer, v.Problem = placeOf(j.parse)
		return v
	}
	v.Findings = append(v.Findings, j.findings...)
	if j.check != nil {
		v.Verdict, v.Stage = reject, stageCheck
		v.Pointer, v.Problem = placeOf(j.check)
	}
	return v
}

// placeOf is where and why the cores refuse something.
func placeOf(err error) (*string, string) {
	var (
		shape        *strictjson.Error
		check        *receipts.CheckError
		inconsistent *metering.InconsistentError
		verification *frames.VerificationError
	)
	switch {
	case errors.As(err, &shape):
		return &shape.Pointer, string(shape.Rule) + ": " + shape.Detail
	case errors.As(err, &check):
		return &check.Pointer, cited(check.Problem, check.Document)
	case errors.As(err, &inconsistent):
		at := inconsistent.Pointer()
		return &at, cited(inconsistent.Error(), "context-reuse UR1")
	case errors.As(err, &verification):
		return &verification.Pointer, cited(verification.Problem, verification.Document)
	}
	return nil, err.Error()
}

func cited(problem, document string) string {
	if document == "" {
		return problem
	}
	return problem + " (" + document + ")"
}
