package frames

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseInstant(t *testing.T) {
	for s, want := range map[string]string{
		"2031-03-04T05:06:07Z":                        "2031-03-04T05:06:07Z",
		"2031-03-04T05:06:07.5Z":                      "2031-03-04T05:06:07.5Z",
		"2031-03-04T05:06:07.000000001Z":              "2031-03-04T05:06:07.000000001Z",
		"2031-03-04T05:06:07.0000000019999999999999Z": "2031-03-04T05:06:07.000000001Z",
		"0000-01-01T00:00:00Z":                        "0000-01-01T00:00:00Z",
		"0000-02-29T00:00:00Z":                        "0000-02-29T00:00:00Z",
		"9999-12-31T23:59:59Z":                        "9999-12-31T23:59:59Z",
		"2000-02-29T00:00:00Z":                        "2000-02-29T00:00:00Z",
		"2028-02-29T00:00:00Z":                        "2028-02-29T00:00:00Z",
		"2031-06-30T23:59:60Z":                        "2031-07-01T00:00:00Z",
		"2031-06-30T12:34:60Z":                        "2031-06-30T12:35:00Z",
	} {
		got, ok := ParseInstant(s)
		if !ok || got.Format(time.RFC3339Nano) != want {
			t.Errorf("%s: got %v, %v", s, got, ok)
		}
	}
	for _, s := range []string{
		"", "Z", "2031-03-04", "2031-03-04T05:06:07", "2031-03-04T05:06Z",
		"2031-03-04t05:06:07Z", "2031-03-04T05:06:07z", "2031-03-04 05:06:07Z",
		"2031-03-04T05:06:07+00:00", "2031-03-04T05:06:07-00:00", "2031-03-04T05:06:07+02:00",
		"2031-03-04T05:06:07.Z", "2031-03-04T05:06:07,5Z", "2031-03-04T05:06:07.5", "2031-03-04T05:06:07.5ZZ",
		"2031-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2031-04-31T00:00:00Z", "2031-00-01T00:00:00Z",
		"2031-13-01T00:00:00Z", "2031-01-00T00:00:00Z", "2031-01-32T00:00:00Z",
		"2031-03-04T24:00:00Z", "2031-03-04T05:60:00Z", "2031-03-04T05:06:61Z",
		"+031-03-04T05:06:07Z", "12031-03-04T05:06:07Z", "31-03-04T05:06:07Z", "2031-3-04T05:06:07Z",
		" 2031-03-04T05:06:07Z", "2031-03-04T05:06:07Z ", "2031-03-04T05:06:07Z\n", "٢٠٣١-03-04T05:06:07Z",
	} {
		if got, ok := ParseInstant(s); ok {
			t.Errorf("%q was read as %v", s, got)
		}
	}
}

func TestParseRFC3339(t *testing.T) {
	for s, want := range map[string]string{
		"2031-03-04t05:06:07z":        "2031-03-04T05:06:07Z",
		"2031-03-04T05:06:07+02:00":   "2031-03-04T03:06:07Z",
		"2031-01-01T00:30:00.5+01:30": "2030-12-31T23:00:00.5Z",
		"2031-03-04T05:06:07-23:59":   "2031-03-05T05:05:07Z",
		"2031-03-04T05:06:07-00:00":   "2031-03-04T05:06:07Z",
	} {
		got, ok := ParseRFC3339(s)
		if !ok || got.Format(time.RFC3339Nano) != want {
			t.Errorf("%s: got %v, %v", s, got, ok)
		}
	}
	for _, s := range []string{
		"2031-03-04 05:06:07Z", "2031-03-04T05:06:07+24:00", "2031-03-04T05:06:07+02:60", "2031-03-04T05:06:07+0200",
		"2031-03-04T05:06:07+2:00", "2031-03-04T05:06:07", "2031-03-04T05:06:07 02:00", "2031-03-04T05:06:07+0a:00",
	} {
		if got, ok := ParseRFC3339(s); ok {
			t.Errorf("%q was read as %v", s, got)
		}
	}
}

// TestEveryInstantOfGoIsOne holds ParseInstant against the standard library where the two profiles agree.
func TestEveryInstantOfGoIsOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := time.Unix(rapid.Int64Range(-62167219200, 253402300799).Draw(t, "s"), rapid.Int64Range(0, 999999999).Draw(t, "ns")).UTC()
		got, ok := ParseInstant(want.Format(time.RFC3339Nano))
		if !ok || !got.Equal(want) {
			t.Fatalf("%v: got %v, %v", want, got, ok)
		}
	})
}

func FuzzParseInstant(f *testing.F) {
	for _, s := range []string{"2031-03-04T05:06:07Z", "2031-06-30T23:59:60.5Z", "2031-03-04t05:06:07+02:00", "2031-03-04T05:06:07."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		strict, ok := ParseInstant(s)
		wide, wideOK := ParseRFC3339(s)
		if ok && (!wideOK || !strict.Equal(wide)) {
			t.Errorf("%q: strict %v, wide %v %v", s, strict, wide, wideOK)
		}
		// Go refuses second 60 and is laxer elsewhere; what both accept must be the same instant.
		if std, err := time.Parse(time.RFC3339Nano, s); ok && err == nil && !std.Equal(strict) {
			t.Errorf("%q: Go reads %v, we %v", s, std, strict)
		} else if ok && err != nil && s[17:19] != "60" {
			t.Errorf("%q: Go refuses it: %v", s, err)
		}
	})
}
