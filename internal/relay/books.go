package relay

import (
	"context"
	"time"

	"ledgerd/metering/billing"
)

// Books is the truth that billing works from, and where it records what it does. Its methods are safe for several
// processes at once. What is recorded is committed when a method returns; after an error that is not one of a caller's own it is
// unknown whether it was, and recording the same again finds out.
type Books interface {
	// BillingTenants lists the tenants that have a configuration.
	BillingTenants(ctx context.Context) ([]string, error)
	// BillingTerms reads the configuration in force; nil when there is none.
	BillingTerms(ctx context.Context, tenant string) (*billing.Terms, error)
	BillingGauges(ctx context.Context) (billing.Gauges, error)

	// DueCustomers lists the customers that have usage in [from, to) which nothing claims.
	DueCustomers(ctx context.Context, tenant string, from, to time.Time) ([]string, error)
	// DueUsage reads a page of such lines of a customer, in the order of as_of, seq and provider, after a line.
	DueUsage(ctx context.Context, tenant, customerID string, from, to time.Time, after *billing.Line, limit int) ([]billing.Line, error)
	// HeldIn tells what periods hold, as the planner wants it.
	HeldIn(ctx context.Context, l billing.Lane, periods []billing.Period) ([]billing.Held, error)
	// RecordIntents appends intents with their claims, each on its own, and returns how many. billing.ErrClaimed: another intent
	// claims a line of one of them.
	RecordIntents(ctx context.Context, tenant string, intents []billing.Intent) (recorded int, err error)

	// HoldLane takes or prolongs the lease of a lane; false when another has it. The clock is the store's.
	HoldLane(ctx context.Context, l billing.Lane, holder string, lease time.Duration) (bool, error)
	ReleaseLane(ctx context.Context, l billing.Lane, holder string) error
	// OpenLanes lists the lanes that have intents which are planned, or confirmed events that were seen to be absent.
	OpenLanes(ctx context.Context, tenant string) ([]billing.Lane, error)
	// LaneStopped says whether an intent of the lane is stopped.
	LaneStopped(ctx context.Context, l billing.Lane) (bool, error)
	// LaneIntents reads planned intents of a lane in the order of seq, above a seq.
	LaneIntents(ctx context.Context, l billing.Lane, after int64, limit int) ([]billing.Pending, error)
	// StampAttempts commits that calls are about to be made.
	StampAttempts(ctx context.Context, tenant string, seqs []int64, now time.Time) error
	// UnstampAttempts takes back what was stamped for calls that were not made.
	UnstampAttempts(ctx context.Context, tenant string, seqs []int64) error
	// NoteAttempt keeps when to try or look again, and since when an event was seen to be absent.
	NoteAttempt(ctx context.Context, tenant string, seq int64, next, absentSince time.Time, detail string) error
	// RecordOutcomes appends outcomes, with a replacement where one replaces, each pair together. An outcome that another
	// process has recorded is no error, nor is a replacement that does not fit into its period: it is left out, as Intent shows.
	RecordOutcomes(ctx context.Context, tenant string, list []billing.Closing) error
	// Moment sums up the intents of a lane whose timestamps lie in a stretch of time.
	Moment(ctx context.Context, l billing.Lane, p billing.Period) (billing.Balance, error)
	// Intent reads an intent; billing.ErrNoIntent when the tenant has none with the seq, or with the identifier.
	Intent(ctx context.Context, tenant string, seq int64) (billing.Pending, error)
	IntentNamed(ctx context.Context, tenant, identifier string) (billing.Pending, error)

	// BilledLanes lists the lanes that have events with timestamps from an instant on.
	BilledLanes(ctx context.Context, tenant string, from time.Time) ([]billing.Lane, error)
	// ConfirmedIn reads the confirmed intents of a lane whose timestamps lie in a stretch of time, in the order of seq.
	ConfirmedIn(ctx context.Context, l billing.Lane, p billing.Period) ([]billing.Pending, error)
	// NoteAbsent keeps that confirmed events are missing from the summaries, and that all others of the stretch are not. It
	// returns since when each has been.
	NoteAbsent(ctx context.Context, l billing.Lane, p billing.Period, seqs []int64, now time.Time) (map[int64]time.Time, error)
	// ConfirmedLately is the earliest timestamp in a stretch of time of an event that was confirmed after an instant, zero for none, and the
	// sum of those that take back, 0 or less.
	ConfirmedLately(ctx context.Context, l billing.Lane, p billing.Period, after time.Time) (from time.Time, takenBack int64, err error)
	// NoteStanding keeps what a reconciliation has found, in place of what an earlier one did.
	NoteStanding(ctx context.Context, l billing.Lane, s billing.Standing) error
}
