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

// Visibility says which entries of a tenant an asker may see: all of them, those of some kinds, or those posted under its
// own token. The zero value sees nothing.
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

// EntryQuery selects entries by what the log proves of them. Times are recorded times, half-open.
type EntryQuery struct {
	Kind  string // "" for all
	Key   string // "" for all
	From  *time.Time
	To    *time.Time
	After int64 // seq of the last entry seen, -1 to begin
	Size  int64 // entries from this seq on are left out, so that pages are of one tree
	Limit int
}
