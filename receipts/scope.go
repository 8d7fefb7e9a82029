package receipts

import "strings"

// EgressScope is a class of destination, as written: one of the four base words, or a custom scope. Any string is one,
// since the protocol's parser never refuses a scope; IsValid is the separate question.
type EgressScope string

// The closed core of the vocabulary (context-reuse §3).
const (
	LocalOnly       EgressScope = "local-only"
	OrgTenant       EgressScope = "org-tenant"
	ThirdPartyIndex EgressScope = "third-party-index"
	ThirdPartyModel EgressScope = "third-party-model"
)

// IsBase says whether the scope is one of the four base words, byte for byte.
func (s EgressScope) IsBase() bool {
	switch s {
	case LocalOnly, OrgTenant, ThirdPartyIndex, ThirdPartyModel:
		return true
	}
	return false
}

// IsValid says whether the scope is a base word or a namespaced custom scope: two non-empty sides of its first colon, so
// "a:b:c" and "a::b" are valid, and "a:", ":b", "LOCAL-ONLY" and "" are not (C5, SPEC U3).
func (s EgressScope) IsValid() bool {
	namespace, name, found := strings.Cut(string(s), ":")
	return s.IsBase() || found && namespace != "" && name != ""
}

// IsOffMachine says whether content leaves the machine: always, but for local-only. An unknown destination leaves, and so
// does a malformed one, so that the gate never asks for too little.
func (s EgressScope) IsOffMachine() bool { return s != LocalOnly }

// schemaDisagrees says that the envelope schema (^[^:]+:[^:]+) refuses a scope that the reference's code accepts: one
// whose name begins with a colon.
func (s EgressScope) schemaDisagrees() bool {
	_, name, _ := strings.Cut(string(s), ":")
	return s.IsValid() && strings.HasPrefix(name, ":")
}
