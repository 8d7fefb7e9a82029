package billing

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
)

func marshal(v any) ([]byte, error) { return json.Marshal(v) }

// cut makes a text of the processor's fit to be recorded: valid UTF-8 without control characters, at most MaxDetail bytes.
func cut(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	for len(s) > MaxDetail {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	return s
}
