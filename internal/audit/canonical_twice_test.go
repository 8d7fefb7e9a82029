package audit

import "testing"

// The second encoder is asked at all, and disagrees with what is not canonical.
func TestCanonicalTwice(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{"artifact":{"a":1,"b":"é"},"context":{},"receiver":{}}`:      true,
		`{"artifact":{"b":1,"a":1},"context":{},"receiver":{}}`:        false,
		`{"artifact":{"a":1.0},"context":{},"receiver":{}}`:            false,
		`{"artifact":{"a":"\u00e9"},"context":{},"receiver":{}}`:       false,
		`{"artifact":{"a":1},"context":{},"receiver":{}`:               false,
		`{"artifact":{"a":1e-7,"b":1e+21},"context":{},"receiver":{}}`: true,
	} {
		if got := (EntryCheck{}).canonicalTwice([]byte(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
