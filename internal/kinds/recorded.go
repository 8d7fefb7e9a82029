package kinds

import (
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"ledgerd/frames"
)

// Poster is who a token says is posting: proven to the server, claimed to everybody else.
type Poster struct {
	Tenant  string
	Role    Role
	TokenID string
}

// Recorded is the acknowledgement of an append: the entry is committed, and a signed checkpoint covers it.
type Recorded struct {
	Seq        int64
	Kind       string
	Key        string
	RecordedAt time.Time
	LeafHash   tlog.Hash
	Findings   []frames.Finding
	Replayed   bool // the same submission was recorded before
}

// Outcome is what became of one of several submissions.
type Outcome struct {
	Recorded Recorded
	Err      error
}

// Visibility says which entries of a tenant an asker may see: all of them and those of the log itself, those of some kinds,
// or those posted under its own token. The zero value sees nothing.
type Visibility struct {
	All     bool
	Kinds   []string
	TokenID string // "" for none
}

// Sees says whether an entry of the kind, posted under the token, is visible.
func (v Visibility) Sees(kind, tokenID string) bool {
	if v.All || (v.TokenID != "" && v.TokenID == tokenID) {
		return true
	}
	for _, k := range v.Kinds {
		if k == kind {
			return true
		}
	}
	return false
}

// LogKinds names the kinds whose entries are of the log and of no tenant, and are visible beside a tenant's own. It is never
// nil.
func (v Visibility) LogKinds() []string {
	names := []string{}
	for _, k := range registry {
		if v.All && k.OfLog {
			names = append(names, k.Name)
		}
	}
	return names
}

// TenantOf is whose entries of a kind are visible to an asker of the tenant: the tenant's, or "" for the log's own.
func (v Visibility) TenantOf(kind, tenant string) string {
	for _, name := range v.LogKinds() {
		if name == kind {
			return ""
		}
	}
	return tenant
}

// EntryQuery selects entries by what the log proves of them. Times are recorded times, half-open.
type EntryQuery struct {
	Kind  string // "" for all
	Key   string // "" for all
	From  *time.Time
	To    *time.Time
	After int64 // seq of the last entry seen, -1 to begin
	Size  int64 // entries from this seq on are left out, so that pages are of one tree
	Limit int
	Bytes int64 // contents of a page, which has one entry at least; 0 for no bound
}
