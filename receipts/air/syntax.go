package air

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"
	"time"
)

const (
	digestPrefix = "sha256:"
	keyRefPrefix = "ed25519:sha256:"
	maxCount     = 65535     // k, n and leaf_index
	maxSafe      = 1<<53 - 1 // the largest integer that RFC 8785 carries exactly
)

func isDigest(s string) bool { return isHexAfter(s, digestPrefix) }

func isKeyRef(s string) bool { return isHexAfter(s, keyRefPrefix) }

func isHexAfter(s, prefix string) bool {
	if len(s) != len(prefix)+64 || s[:len(prefix)] != prefix {
		return false
	}
	for i := len(prefix); i < len(s); i++ {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// isIdentifier accepts ^[A-Za-z0-9][A-Za-z0-9._:/-]*$ of 1 to 256 characters.
func isIdentifier(s string) bool {
	if len(s) == 0 || len(s) > 256 || !isAlphanumeric(s[0]) {
		return false
	}
	for i := 1; i < len(s); i++ {
		if !isAlphanumeric(s[i]) && strings.IndexByte("._:/-", s[i]) < 0 {
			return false
		}
	}
	return true
}

func isAlphanumeric(c byte) bool { return isDigit(c) || isUpper(c) || 'a' <= c && c <= 'z' }
func isDigit(c byte) bool        { return '0' <= c && c <= '9' }
func isUpper(c byte) bool        { return 'A' <= c && c <= 'Z' }

// isJurisdiction accepts ^[A-Z]{2}(?:-[A-Z0-9]{1,3})?$, the form of ISO 3166-1 and 3166-2 codes.
func isJurisdiction(s string) bool {
	if len(s) < 2 || !isUpper(s[0]) || !isUpper(s[1]) {
		return false
	}
	if len(s) == 2 {
		return true
	}
	if s[2] != '-' || len(s) < 4 || len(s) > 6 {
		return false
	}
	for i := 3; i < len(s); i++ {
		if !isUpper(s[i]) && !isDigit(s[i]) {
			return false
		}
	}
	return true
}

// parseTimestamp reads YYYY-MM-DDTHH:MM:SSZ, an existing calendar second, as Unix seconds.
func parseTimestamp(s string) (int64, bool) {
	if len(s) != 20 || s[10] != 'T' || s[13] != ':' || s[16] != ':' || s[19] != 'Z' {
		return 0, false
	}
	day, ok := parseDate(s[:10])
	h, m, sec := twoDigits(s[11:]), twoDigits(s[14:]), twoDigits(s[17:])
	if !ok || uint(h) > 23 || uint(m) > 59 || uint(sec) > 59 {
		return 0, false
	}
	return day + int64(h*3600+m*60+sec), true
}

// parseDate reads YYYY-MM-DD, an existing calendar day, as the Unix seconds of its beginning.
func parseDate(s string) (int64, bool) {
	if len(s) != 10 || s[4] != '-' || s[7] != '-' {
		return 0, false
	}
	century, year, month, day := twoDigits(s), twoDigits(s[2:]), twoDigits(s[5:]), twoDigits(s[8:])
	if century < 0 || year < 0 || month < 1 || day < 1 {
		return 0, false
	}
	t := time.Date(century*100+year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if int(t.Month()) != month || t.Day() != day { // time.Date normalises February 30; the profile refuses it
		return 0, false
	}
	return t.Unix(), true
}

// twoDigits reads two decimal digits, or gives -1.
func twoDigits(s string) int {
	if !isDigit(s[0]) || !isDigit(s[1]) {
		return -1
	}
	return int(s[0]-'0')*10 + int(s[1]-'0')
}

// safeInteger reads a JSON number as the reference runtime does, as an IEEE double, and says whether that is an integer
// within ±(2^53−1). So 1.0 and 1e0 are the integer 1.
func safeInteger(literal string) (int64, bool) {
	if n, err := strconv.ParseInt(literal, 10, 64); err == nil {
		return n, -maxSafe <= n && n <= maxSafe
	}
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > maxSafe {
		return 0, false
	}
	return int64(f), true
}

// decodeBase64 fills dst from unpadded base64url. The length is exact and spare bits must be zero, so a value has one
// spelling; line breaks, which encoding/base64 ignores, make the length wrong.
func decodeBase64(dst []byte, s string) bool {
	var src [86]byte // a 64-byte signature
	n := base64.RawURLEncoding.EncodedLen(len(dst))
	if len(s) != n || n > len(src) {
		return false
	}
	copy(src[:], s)
	wrote, err := strictBase64.Decode(dst, src[:n])
	return err == nil && wrote == len(dst)
}

var strictBase64 = base64.RawURLEncoding.Strict()
