package assembly

import "strings"

// isSafe: a safe token, the only kind of text that a record may hold (section 1). It has no white space, so no prose.
func isSafe(s string) bool {
	if len(s) == 0 || len(s) > 200 || !isAlphanumeric(s[0]) {
		return false
	}
	for i := 1; i < len(s); i++ {
		if !isAlphanumeric(s[i]) && strings.IndexByte("._:/@+-", s[i]) < 0 {
			return false
		}
	}
	return true
}

func isAlphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// isUUID: the text form of RFC 9562, in either case.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if s[i] != '-' {
				return false
			}
		} else if c := s[i] | 0x20; (s[i] < '0' || s[i] > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// isForbidden names the members that no record may have at any depth (section 9.1, C0-R020).
func isForbidden(name string) bool {
	switch name {
	case "payload", "payload_text", "text", "content", "body", "prompt", "rendered", "message", "messages", "raw",
		"diagnostics", "provider_error", "error", "error_message", "stack", "stack_trace", "exception", "secret",
		"credential", "api_key", "password", "handoff_md", "summary", "path":
		return true
	}
	return false
}
