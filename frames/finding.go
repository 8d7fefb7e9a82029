package frames

// Code is the stable name of a finding. It is part of the API: a code is added, never renamed.
type Code string

// The findings of this package. Those of a report are in package metering, those of consent in package receipts.
const (
	// UnknownMember: the object at the pointer has members that the protocol does not know. They are ignored and kept.
	UnknownMember Code = "unknown-member"
	// UnverifiableFrame: the frame has no digest, so it can only be re-queried, never reused unchecked.
	UnverifiableFrame Code = "unverifiable-frame"
	// DigestNotSHA256: the digest is not "sha256:" and 64 lower-case hexadecimal digits.
	DigestNotSHA256 Code = "digest-not-sha256"
	// EmptyID: a provider id or frame id is the empty string, which names nothing.
	EmptyID Code = "empty-id"
	// DuplicateIdentity: one identity stands more than once in an emitted order; composition collapses it.
	DuplicateIdentity Code = "duplicate-identity"
	// D1Conflict: one identity with two contents; what is rendered then depends on arrival.
	D1Conflict Code = "d1-conflict"
	// ContradictoryVerdicts: one response answers one identity in two ways; only the first answer counts.
	ContradictoryVerdicts Code = "contradictory-verdicts"
	// ReplacementWithoutStale: a replacement digest beside a status other than stale; it is ignored.
	ReplacementWithoutStale Code = "replacement-without-stale"
	// V4Body: a verify request or response carries what looks like a frame's content.
	V4Body Code = "v4-body"
)

// The requirements that findings refer to. Numbers of the two documents do not map onto each other, so a bare number is
// never used.
const (
	DocReuseD1 = "context-reuse D1"
	DocReuseD2 = "context-reuse D2"
	DocReuseD4 = "context-reuse D4"
	DocReuseV2 = "context-reuse V2"
	DocReuseV4 = "context-reuse V4"
	DocSpecD1  = "SPEC D1"
	DocSpecF4  = "SPEC F4"
	DocSpecU1  = "SPEC U1"
)

// Finding is something that an auditor wants to know about an accepted artifact, or about a refused one beside the
// reason of its refusal. It never holds a value or a name that the artifact's sender chose.
type Finding struct {
	// Code says what was found.
	Code Code `json:"code"`
	// Pointer is the place, an RFC 6901 pointer from the artifact's root, of known member names and indexes only.
	Pointer string `json:"pointer"`
	// Document is the requirement that is touched, document and number ("context-reuse D4"); empty if no requirement is.
	Document string `json:"document,omitzero"`
	// More counts the further places with this code that are left out after MaxPlaces of them.
	More int `json:"more,omitzero"`
}

// MaxPlaces is how many places are listed for one code. Findings are stored with the entry, and a report of ten thousand
// frames must not become an entry of ten thousand findings.
const MaxPlaces = 8

// Findings collects findings in the order in which they are added. The zero value is empty and ready. It is not safe for
// concurrent use.
type Findings struct {
	list  []Finding
	count map[Code]int
	last  map[Code]int // code → index in list of its last listed place
}

// Add notes that code holds at pointer. Beyond MaxPlaces places of one code only More of the last listed one grows.
func (f *Findings) Add(code Code, document, pointer string) {
	if f.count == nil {
		f.count, f.last = map[Code]int{}, map[Code]int{}
	}
	f.count[code]++
	if f.count[code] > MaxPlaces {
		f.list[f.last[code]].More++
		return
	}
	f.last[code] = len(f.list)
	f.list = append(f.list, Finding{Code: code, Pointer: pointer, Document: document})
}

// AddUnknown notes the objects that had unknown members (SPEC U1), as strictjson's Artifact returns them.
func (f *Findings) AddUnknown(pointers []string) {
	for _, at := range pointers {
		f.Add(UnknownMember, DocSpecU1, at)
	}
}

// List is what was collected, or nil. The caller owns it once it adds nothing more.
func (f *Findings) List() []Finding { return f.list }
