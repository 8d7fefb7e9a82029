package audit

import (
	"slices"
	"strings"

	"ledgerd/frames"
	"ledgerd/internal/strictjson"
)

// The verdicts and stages of the published corpus.
const (
	accept     = "accept"
	reject     = "reject"
	stageParse = "parse"
	stageCheck = "check"
)

// judgement is what the cores say about one artifact.
type judgement struct {
	stage string        // where it was refused, "" if it was accepted
	why   string        // the reason of a refusal
	flags []frames.Code // sorted, each once
	unmet []string      // what the case file itself expects and did not get
}

func (j judgement) verdict() string {
	if j.stage != "" {
		return reject
	}
	return accept
}

func (j judgement) reasons() []string {
	if j.why == "" {
		return nil
	}
	return []string{j.why}
}

func (j judgement) String() string {
	flags := make([]string, len(j.flags))
	for i, f := range j.flags {
		flags[i] = string(f)
	}
	return describe(j.verdict(), j.stage, flags)
}

// describe writes a verdict: "accept", "reject at check [overflow]".
func describe(verdict, stage string, flags []string) string {
	if stage != "" {
		verdict += " at " + stage
	}
	if len(flags) > 0 {
		verdict += " [" + strings.Join(slices.Sorted(slices.Values(flags)), " ") + "]"
	}
	return verdict
}

func unparsed(err error) judgement { return judgement{stage: stageParse, why: err.Error()} }

// checked is the judgement on an artifact that could be read.
func checked(err error, findings []frames.Finding) judgement {
	var j judgement
	if err != nil {
		j.stage, j.why = stageCheck, err.Error()
	}
	for _, f := range findings {
		j.flags = append(j.flags, f.Code)
	}
	slices.Sort(j.flags)
	j.flags = slices.Compact(j.flags)
	return j
}

// expect notes what a case file itself states and did not come out.
func (j *judgement) expect(holds bool, what string) {
	if !holds {
		j.unmet = append(j.unmet, what)
	}
}

// judgeOf is what judges a kind of case, or nil for a kind that is not built.
func judgeOf(kind string) func([]byte) judgement {
	for _, k := range artifactKinds {
		if k.name == kind {
			return func(src []byte) judgement { return k.judge(src).judgement() }
		}
	}
	switch kind {
	case "receipt-liveness":
		return judging(decodeLivenessCase)
	case "consent-gate":
		return judging(decodeGateCase)
	case "frame-order":
		return judging(decodeOrderCase)
	case "compose":
		return judging(decodeComposeCase)
	case "verify-partition":
		return judging(decodePartitionCase)
	}
	return nil
}

// judging is a judge of a case file that holds more than the artifact. Its wrapper is open, as the published one may grow.
func judging[T interface{ judge() judgement }](decode func(*strictjson.Decoder) T) func([]byte) judgement {
	return func(src []byte) judgement {
		c, err := strictjson.Parse(src, strictjson.Open, decode)
		if err != nil {
			return unparsed(err)
		}
		return c.judge()
	}
}

// judgement is the verdict as the corpus words it.
func (j judged) judgement() judgement {
	if j.parse != nil {
		return unparsed(j.parse)
	}
	return checked(j.check, j.findings)
}
