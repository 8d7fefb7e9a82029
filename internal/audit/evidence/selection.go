package evidence

import (
	"ledgerd/internal/kinds"
	"ledgerd/metering"
)

// Selection says which entries a file is to have, beside those that they name. Just one of Picks, Entries and Usage is set.
type Selection struct {
	Picks   []Pick             // these entries
	Entries *kinds.EntryQuery  // those of a listing; After, Size and Limit are the store's
	Usage   *metering.Question // the reports behind a sum; Below is the store's
	Since   *int64             // prove that the newest log grew from this size, nil for no proof
}

// Pick is an entry that is asked for, and what it is to the question: see Item.Relation.
type Pick struct {
	Seq      int64
	Relation string
}

// AskedFor is the relation of what a listing or a sum selects.
const AskedFor = "asked-for"

// ErasureRelation is that of an erasure to what it erased.
const ErasureRelation = "erasure"
