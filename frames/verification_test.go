package frames

import (
	"errors"
	"strings"
	"testing"
)

const verification = `{"provider_id":"wiki","verified_at":"2031-03-04T05:06:07Z","capability":{"verify":true},` +
	`"request":{"frames":[{"provider_id":"wiki","frame_id":"a","content_digest":"sha256:1"},{"provider_id":"wiki","frame_id":"b"}]},` +
	`"response":{"verdicts":[{"frame":{"provider_id":"wiki","frame_id":"a","content_digest":"sha256:1"},"status":"valid"}]},` +
	`"outcome":{"retained":[{"provider_id":"wiki","frame_id":"a","content_digest":"sha256:1"}],` +
	`"dropped":[{"frame":{"provider_id":"wiki","frame_id":"b"},"reason":{"kind":"no_digest"},"warrants_requery":true}]}}`

const droppedA = `{"frame":{"provider_id":"wiki","frame_id":"a","content_digest":"sha256:1"},"reason":{"kind":"KIND"},"warrants_requery":true}`

// dropped is the verification in which frame a was dropped for a reason instead of retained.
func dropped(kind string) string {
	s := strings.Replace(verification, `"retained":[{"provider_id":"wiki","frame_id":"a","content_digest":"sha256:1"}]`, `"retained":[]`, 1)
	return strings.Replace(s, `"dropped":[`, `"dropped":[`+strings.Replace(droppedA, "KIND", kind, 1)+",", 1)
}

func without(s, member, value, by string) string {
	return strings.Replace(s, `"`+member+`":`+value, `"`+member+`":`+by, 1)
}

const answered = `{"verdicts":[{"frame":{"provider_id":"wiki","frame_id":"a","content_digest":"sha256:1"},"status":"valid"}]}`

func TestVerificationCheck(t *testing.T) {
	t.Parallel()
	failed := without(dropped("verify_failed"), "response", answered, "null")
	unsupported := strings.ReplaceAll(without(dropped("verify_unsupported"), "capability", `{"verify":true}`, `{"verify":false}`), "no_digest", "verify_unsupported")
	unknown := strings.ReplaceAll(without(dropped("unknown_provider"), "capability", `{"verify":true}`, "null"), "no_digest", "unknown_provider")
	for name, c := range map[string]struct {
		doc     string
		pointer string // "" when it is accepted
	}{
		"as it should be":           {verification, ""},
		"failed":                    {failed, ""},
		"not supported":             {unsupported, ""},
		"unknown provider":          {unknown, ""},
		"kept although it failed":   {without(verification, "response", answered, "null"), "/outcome/retained/0"},
		"kept although it is stale": {strings.Replace(verification, `"status":"valid"`, `"status":"stale"`, 1), "/outcome/retained/0"},
		"dropped although valid":    {dropped("unknown"), "/outcome/dropped/0"},
		"lost":                      {strings.Replace(verification, `"retained":[{"provider_id":"wiki","frame_id":"a","content_digest":"sha256:1"}]`, `"retained":[]`, 1), "/outcome"},
		"of nobody":                 {without(verification, "provider_id", `"wiki","verified_at"`, `"","verified_at"`), "/provider_id"},
		"at no time":                {strings.Replace(verification, "2031-03-04T05", "2031-03-04 05", 1), "/verified_at"},
	} {
		v, err := ParseVerification([]byte(c.doc))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		err = v.Check()
		var refused *VerificationError
		if errors.As(err, &refused) != (c.pointer != "") || refused != nil && refused.Pointer != c.pointer {
			t.Errorf("%s: %v, want a refusal at %q", name, err, c.pointer)
		}
	}
}

func TestVerificationFindings(t *testing.T) {
	t.Parallel()
	v, err := ParseVerification([]byte(strings.NewReplacer(
		`"request":{`, `"request":{"content":"text",`,
		`"capability":{"verify":true}`, `"capability":{"verify":false}`,
		`"frame_id":"b"}]`, `"frame_id":"b"},{"provider_id":"other","frame_id":"c","content_digest":"x"}]`,
		`"status":"valid"}]`, `"status":"valid"},{"frame":{"provider_id":"wiki","frame_id":"z","content_digest":"x"},"status":"gone"}]`,
	).Replace(verification)))
	if err != nil {
		t.Fatal(err)
	}
	found := map[Code]string{}
	for _, f := range v.Findings() {
		if _, seen := found[f.Code]; !seen {
			found[f.Code] = f.Pointer
		}
	}
	for code, at := range map[Code]string{
		V4Body: "/request", ForeignFrame: "/request/frames/2/provider_id", AskedWithoutCapability: "/response",
		UnaskedVerdict: "/response/verdicts/1", UnverifiableFrame: "/request/frames/1",
	} {
		if found[code] != at {
			t.Errorf("%s at %q, want %q", code, found[code], at)
		}
	}
	if !v.HasBody() {
		t.Error("the body went unnoticed")
	}
}

func TestVerificationIsClosed(t *testing.T) {
	t.Parallel()
	for name, doc := range map[string]string{
		"unknown member":           strings.Replace(verification, `{"provider_id"`, `{"content":"x","provider_id"`, 1),
		"unknown in the outcome":   strings.Replace(verification, `"outcome":{`, `"outcome":{"x":1,`, 1),
		"no capability":            strings.Replace(verification, `"capability":{"verify":true},`, ``, 1),
		"no response, not even so": strings.Replace(verification, `"response":`+answered+`,`, ``, 1),
	} {
		if _, err := ParseVerification([]byte(doc)); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if _, err := ParseVerification([]byte(strings.Replace(verification, `"request":{`, `"request":{"later":1,`, 1))); err != nil {
		t.Errorf("an unknown member of a message is refused: %v", err)
	}
}

// Whatever can be read can be judged, and a claim that is made from the partition itself is accepted.
func FuzzVerification(f *testing.F) {
	for _, doc := range []string{verification, dropped("gone"), strings.Replace(verification, answered, "null", 1), `{}`} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		v, err := ParseVerification(src)
		if err != nil {
			return
		}
		v.Findings()
		v.Outcome = v.Partition()
		var refused *VerificationError
		if errors.As(v.Check(), &refused) && strings.HasPrefix(refused.Pointer, "/outcome") {
			t.Errorf("the partition itself is refused: %v", refused)
		}
	})
}
