package billing

import "time"

// Balance is what the ledger knows of a customer's meter in a billing period, in tokens: the values of its intents whose
// timestamps lie in it, by what is known of them.
type Balance struct {
	Confirmed     int64     `json:"confirmed"`
	Adding        int64     `json:"adding"`      // attempted without a known outcome: what they may have added
	TakingBack    int64     `json:"taking_back"` // the same of negative ones, 0 or less
	Planned       int64     `json:"planned"`     // not attempted
	Parked        int64     `json:"parked"`      // not counted, or not known to be, until a person has looked
	Intents       int64     `json:"intents"`     // how many, without replaced ones
	LastConfirmed time.Time `json:"last_confirmed,omitzero"`
}

// Agreement is how the ledger and the processor stand.
type Agreement string

// The agreements. Higher and Lower are to be looked at; neither is ever put right silently.
const (
	Agrees     Agreement = "agrees"
	Settling   Agreement = "settling"   // lower, and something was confirmed within SummaryLag
	Unresolved Agreement = "unresolved" // within what attempts without a known outcome may have done
	Lower      Agreement = "lower"      // something that was confirmed does not count
	Higher     Agreement = "higher"     // more counts than was ever sent
)

// Reconcile compares what the processor has with the ledger's balance.
func Reconcile(b Balance, total int64, now time.Time) Agreement {
	most, ok := add(b.Confirmed, b.Adding, true)
	least, ok := add(b.Confirmed, b.TakingBack, ok)
	switch {
	case !ok, total > most:
		return Higher
	case total == b.Confirmed:
		return Agrees
	case total >= least:
		return Unresolved
	case now.Before(b.LastConfirmed.Add(SummaryLag)):
		return Settling
	}
	return Lower
}
