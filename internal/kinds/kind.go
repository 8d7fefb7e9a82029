// Package kinds is the registry of what the ledger records. A kind ties together everything that is particular to one sort
// of entry: the shape and bounds of what is posted, the core that checks it, its key, who may post and read it, and the
// projection rows derived from it. Single posts, bulk, audit and fsck all work off this table; a new kind is one file here.
//
// The package is pure: time, policy and limits come in as parameters.
package kinds

import (
	"time"

	"ledgerd/frames"
	"ledgerd/internal/strictjson"
	"ledgerd/ledger"
	"ledgerd/receipts/air"
)

// Role is what a bearer token may be used for (spec "Roles").
type Role string

// The roles. All but Operator are bound to one tenant.
const (
	Host     Role = "host"
	Auditor  Role = "auditor"
	Billing  Role = "billing"
	Admin    Role = "admin"
	Operator Role = "operator"
)

// Roles lists every role, for input checks and for tests that must not forget one.
var Roles = [...]Role{Host, Auditor, Billing, Admin, Operator}

// Kind is one row of the registry.
type Kind struct {
	Name          string
	Core          string // what Project judges again of a recorded content, for reports of re-verification
	Unjudged      string // what it can't, because only the door knew; "" for nothing
	Gated         bool   // its entries report egress, which consent must have covered at its instant
	PostedBy      []Role // whose tokens may post it; empty: only the server itself appends it
	ReadBy        []Role // who may read it beside the auditor and the token that posted it
	MaxBytes      int    // of the submitted artifact, in bytes, at most ContentLimit
	MaxContent    int    // of the whole content, in bytes, where it is more than ledger.MaxContent; 0 for most kinds
	UsesPolicy    bool   // Accept needs Env.Policy
	OfLog         bool   // its entries belong to the log and to no tenant: every tenant's auditor may read them
	KeepsPersonal bool   // though no host posts it: it keeps what a host posted, or names whom it is about, so an erasure may name it
	Erases        bool   // appending it destroys the contents that it names: see Accepted.Erases
	Alone         bool   // never a line of bulk: its check needs what only its own route reads
	// KeepsConflicts: a second content under a known id is kept as an entry of kind conflict.
	KeepsConflicts bool
	Tables         []*Table
	ClaimSpace     string // where its entries claim names; "" for nowhere

	check   func(Submission, Env) (*Accepted, error)
	project func(ledger.Content) (Projection, error)  // from what check recorded; it reads and derives with the same functions
	shape   func(*strictjson.Decoder)                 // reads an artifact for its shape only; nil for any JSON value
	joins   func(Submission) (joined, error)          // reads a record that is judged together with other entries; nil for the others
	refers  func(ledger.Content) ([]Reference, error) // the entries that a content names and its check takes; nil for none
}

// ReadShape reads over an artifact, so that the decoder's error names the place of what makes it malformed. It checks
// nothing else: see Accept.
func (k *Kind) ReadShape(d *strictjson.Decoder) {
	if k.shape == nil {
		d.Skip()
		return
	}
	k.shape(d)
}

// Accept verifies a submission and makes it ready to append. A refusal is a *TooLargeError, a *strictjson.Error
// (malformed) or a *Rejection (well-formed, but not acceptable). It has no side effects and always gives the same answer
// to the same arguments.
func (k *Kind) Accept(s Submission, env Env) (*Accepted, error) {
	if len(s.Artifact) > k.MaxBytes {
		return nil, &TooLargeError{Limit: int64(k.MaxBytes)}
	}
	a, err := k.check(s, env)
	if err != nil {
		return nil, err
	}
	a.Kind = k
	return a, nil
}

// ContentLimit bounds an entry's canonical content in bytes.
func (k *Kind) ContentLimit() int { return max(k.MaxContent, ledger.MaxContent) }

// MayPost says whether a token of the role may post the kind.
func (k *Kind) MayPost(r Role) bool { return contains(k.PostedBy, r) }

// MayRead says whether a token of the role may read entries of the kind that others posted.
func (k *Kind) MayRead(r Role) bool { return r == Auditor || contains(k.ReadBy, r) }

func contains[T comparable](list []T, x T) bool {
	for _, have := range list {
		if have == x {
			return true
		}
	}
	return false
}

// Submission is what a poster sent, still unverified.
type Submission struct {
	Artifact   []byte // JSON, as received
	ArtifactAt string // JSON pointer of the artifact in the request body, the prefix of error pointers
	Context    []byte // a JSON object, as received; nil means {}
	ContextAt  string
	Key        string // the Idempotency-Key, or ""; kinds with a natural key ignore it
}

// Env is what a check may depend on beside the submission.
type Env struct {
	Now    time.Time    // the receiver's clock, UTC
	Policy *TrustPolicy // the tenant's trust policy in force, nil when it never set one

	Billing   *BillingConfig // the tenant's billing configuration in force, nil when it never set one
	Corrected *Corrected     // what a correction corrects

	Needs   *ContextNeeds // what Needs gave for the submission, nil where it names nothing
	Context *ContextParts // what was found of that
}

// TrustPolicy is a tenant's trust policy as recorded: its entry and what it says.
type TrustPolicy struct {
	Seq        int64
	Revision   int64
	Fields     air.PolicyFields // VerifiedAt is unset: see At
	Artifact   []byte           // canonical
	RecordedAt time.Time
}

// Accepted is a verified submission, ready to append.
type Accepted struct {
	Kind     *Kind
	Key      string // "" when the kind has no natural key and the poster sent none: the store derives one
	Content  ledger.Content
	Findings []frames.Finding
	Claims   []Claim
	Rows     []Rows
	Erases   []int64 // seqs whose contents the append destroys; nil for all kinds but erasures
}

// Claim says that an entry uses a name within its tenant for one value. The first entry whose claim reserves the name fixes
// the value for good; later claims of the same value are fine, and an entry that claims another is refused.
type Claim struct {
	Space    string
	Name     string
	Value    string
	Reserves bool
}

// Table describes a projection table of schema ledger. Its first two columns are always seq and tenant, which the store
// fills in; Columns are the rest.
type Table struct {
	Name    string
	Columns []Column
}

// Column is one projection column. A personal one is nulled by an erasure.
type Column struct {
	Name     string
	Personal bool
}

// Rows are the projection rows of one entry in one table; each has one value per column.
type Rows struct {
	Table  *Table
	Values [][]any
}
