package assembly

import "time"

// instant is a point in time to the nanosecond, for every year that RFC 3339 can write. The zero instant is an absent one.
// (time.Duration reaches 292 years; a difference here never saturates.)
type instant struct {
	sec  int64
	nsec int64
	set  bool
	text string // as it was written, which is what digests are over; comparisons ignore it
}

// parseInstant reads RFC 3339 in UTC with the letter Z and up to nine fractional digits (section 1 of the specification).
func parseInstant(s string) (instant, bool) {
	if len(s) < len("2006-01-02T15:04:05Z") || len(s) > len("2006-01-02T15:04:05.999999999Z") || s[len(s)-1] != 'Z' {
		return instant{}, false
	}
	if s[4] != '-' || s[7] != '-' || s[10] != 'T' || s[13] != ':' || s[16] != ':' || len(s) == 21 || len(s) > 20 && s[19] != '.' {
		return instant{}, false
	}
	year, month, day := digits(s[:4]), digits(s[5:7]), digits(s[8:10])
	hour, minute, second := digits(s[11:13]), digits(s[14:16]), digits(s[17:19])
	nsec := 0
	if len(s) > 20 {
		nsec = digits(s[20 : len(s)-1])
		for range 9 - (len(s) - 21) {
			nsec *= 10
		}
	}
	if min(year, day-1, hour, minute, second, nsec) < 0 || month < 1 || month > 12 || hour > 23 || minute > 59 || second > 59 {
		return instant{}, false
	}
	date := time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC)
	if date.Day() != day { // 31 June and the like roll over
		return instant{}, false
	}
	return instant{sec: date.Unix(), nsec: int64(nsec), set: true, text: s}, true
}

// digits is the number that the digits of s write, negative when one is no digit.
func digits(s string) int {
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return -1
		}
		n = n*10 + int(s[i]-'0')
	}
	return n
}

func (t instant) after(u instant) bool {
	return t.sec > u.sec || t.sec == u.sec && t.nsec > u.nsec
}

func (t instant) equal(u instant) bool { return t.set == u.set && t.sec == u.sec && t.nsec == u.nsec }

// plus adds milliseconds, at most 2^53.
func (t instant) plus(ms int64) instant {
	t.sec += ms / 1000
	t.nsec += ms % 1000 * 1_000_000
	if t.nsec >= 1_000_000_000 {
		t.sec, t.nsec = t.sec+1, t.nsec-1_000_000_000
	}
	return t
}

// instantOf is the instant of a time that the ledger itself read.
func instantOf(t time.Time) instant {
	return instant{sec: t.Unix(), nsec: int64(t.Nanosecond()), set: !t.IsZero()}
}
