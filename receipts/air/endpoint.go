package air

import "strings"

const (
	maxEndpoint = 2048
	httpsScheme = "https://"
)

// endpointHost returns the lower-case host of an endpoint: an https URL (RFC 3986) of at most 2048 characters without
// user info, port, query or fragment, whose host is a registered name. It is deliberately narrower than a URL parser,
// which would repair backslashes, control characters or an empty port, and two readers may repair differently.
func endpointHost(s string) (string, bool) {
	if len(s) > maxEndpoint || !strings.HasPrefix(s, httpsScheme) {
		return "", false
	}
	host, path := s[len(httpsScheme):], ""
	if i := strings.IndexByte(host, '/'); i >= 0 {
		host, path = host[:i], host[i:]
	}
	if !isHost(host) || !isPath(path) {
		return "", false
	}
	return strings.ToLower(host), true
}

// isHost accepts dot-separated labels of letters, digits and inner hyphens (RFC 1123), 253 characters in all.
func isHost(s string) bool {
	if len(s) == 0 || len(s) > 253 {
		return false
	}
	start := 0
	for i := 0; i <= len(s); i++ {
		if i < len(s) && s[i] != '.' {
			if !isAlphanumeric(s[i]) && s[i] != '-' {
				return false
			}
			continue
		}
		if i == start || i-start > 63 || s[start] == '-' || s[i-1] == '-' {
			return false
		}
		start = i + 1
	}
	return true
}

// isPath accepts the path characters of RFC 3986 §3.3, with whole percent-encodings.
func isPath(s string) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case isAlphanumeric(c), strings.IndexByte("/-._~!$&'()*+,;=:@", c) >= 0:
		case c == '%' && i+2 < len(s) && isHexDigit(s[i+1]) && isHexDigit(s[i+2]):
			i += 2
		default:
			return false
		}
	}
	return true
}

func isHexDigit(c byte) bool { return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F' }

// isCalendarURL accepts ^https://[^?#]+$, the location of an OpenTimestamps calendar.
func isCalendarURL(s string) bool {
	return len(s) > len(httpsScheme) && strings.HasPrefix(s, httpsScheme) && !strings.ContainsAny(s, "?#")
}
