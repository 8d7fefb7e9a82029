package frames

import (
	"time"
)

// ParseInstant reads a protocol timestamp, the profile of RFC 3339 that SPEC F4 names: YYYY-MM-DDTHH:MM:SS[.digits]Z
// with a real calendar day, years 0000 to 9999, hours to 23, minutes to 59 and seconds to 60 at any minute; no offset,
// no lower case, no comma. (time.Parse is both laxer, with offsets and commas, and stricter, with second 60.)
//
// Second 60 is the first second of the next minute, as in POSIX time. A fraction may have any number of digits; those
// beyond the ninth are read and dropped, so the instant is exact to the nanosecond and never later than what was written.
func ParseInstant(s string) (time.Time, bool) {
	t, zone, ok := parseDateTime(s, 'T')
	return t, ok && zone == "Z"
}

// IsInstant says whether s is a protocol timestamp; see ParseInstant.
func IsInstant(s string) bool {
	_, ok := ParseInstant(s)
	return ok
}

// ParseRFC3339 reads the wider form that RFC 3339 §5.6 allows: lower-case t and z and numeric offsets too. It serves
// questions, and instants of artifacts that are outside the profile (which is a finding of its own) but unambiguous: a
// spelling must not turn a consent into none. The result is in UTC.
func ParseRFC3339(s string) (time.Time, bool) {
	t, zone, ok := parseDateTime(s, 't')
	if !ok {
		return time.Time{}, false
	}
	if zone == "Z" || zone == "z" {
		return t, true
	}
	offset, ok := parseOffset(zone)
	if !ok {
		return time.Time{}, false
	}
	return t.Add(-offset), true
}

// parseDateTime reads all but the zone, as if it were UTC, and returns the zone. The separator is T, or alt.
func parseDateTime(s string, alt byte) (_ time.Time, zone string, ok bool) {
	const shape = "dddd-dd-ddTdd:dd:dd"
	if len(s) <= len(shape) {
		return time.Time{}, "", false
	}
	for i := range len(shape) {
		switch c := s[i]; shape[i] {
		case 'd':
			ok = isDigit(c)
		case 'T':
			ok = c == 'T' || c == alt
		default:
			ok = c == shape[i]
		}
		if !ok {
			return time.Time{}, "", false
		}
	}
	year, month, day := number(s[0:4]), number(s[5:7]), number(s[8:10])
	hour, minute, second := number(s[11:13]), number(s[14:16]), number(s[17:19])
	if month < 1 || month > 12 || day < 1 || day > daysIn(year, month) || hour > 23 || minute > 59 || second > 60 {
		return time.Time{}, "", false
	}
	nanos, zone, ok := parseFraction(s[len(shape):])
	return time.Date(year, time.Month(month), day, hour, minute, second, nanos, time.UTC), zone, ok
}

// parseFraction reads an optional "." and at least one digit.
func parseFraction(s string) (nanos int, rest string, ok bool) {
	if s[0] != '.' {
		return 0, s, true
	}
	i := 1
	for unit := 100_000_000; i < len(s) && isDigit(s[i]); i++ {
		nanos += int(s[i]-'0') * unit
		unit /= 10
	}
	return nanos, s[i:], i > 1
}

// parseOffset reads ±hh:mm.
func parseOffset(zone string) (time.Duration, bool) {
	if len(zone) != 6 || zone[0] != '+' && zone[0] != '-' || zone[3] != ':' {
		return 0, false
	}
	for _, i := range []int{1, 2, 4, 5} {
		if !isDigit(zone[i]) {
			return 0, false
		}
	}
	hours, minutes := number(zone[1:3]), number(zone[4:6])
	if hours > 23 || minutes > 59 {
		return 0, false
	}
	offset := time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	if zone[0] == '-' {
		offset = -offset
	}
	return offset, true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// number reads decimal digits that were checked before.
func number(digits string) int {
	n := 0
	for i := range len(digits) {
		n = n*10 + int(digits[i]-'0')
	}
	return n
}

// daysIn is the length of a month in the proleptic Gregorian calendar, in which year 0000 is a leap year: day 0 of the
// next month is the last of this one.
func daysIn(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}
