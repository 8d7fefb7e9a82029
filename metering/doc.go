// Package metering holds the usage report of the Context Graph protocol and what money needs from it: the arithmetic
// identity and the events that are summed and billed. It is pure: no I/O, no clock, no randomness, no globals.
//
// # The report
//
// A usage report (context-reuse §2, "Usage reports") is a host's roll-up of one request:
//
//	{"budget_requested":2000,"budget_consumed":403,"as_of":"2031-03-04T05:06:07Z","providers":[
//	  {"provider_id":"wiki-index","frames_served":2,"frames_rejected":0,"token_cost":403,"served_frames":[
//	    {"frame":{"provider_id":"wiki-index","frame_id":"page/onboarding","content_digest":"sha256:c6ff…"},"token_cost":311},
//	    {"frame":{"provider_id":"wiki-index","frame_id":"page/oncall"},"token_cost":92}]}]}
//
// budget_requested, frames_served, frames_rejected and a frame's token_cost are 32-bit, budget_consumed and a row's
// token_cost 64-bit unsigned integer literals. All members are required but providers, served_frames (absent is empty,
// null is an error) and content_digest (null is absent). Names are case-sensitive; a member twice is an error, an unknown
// one a finding.
//
// # The identity
//
// A report is consistent (context-reuse UR1) when budget_consumed = Σ providers[].token_cost, and in every row
// frames_served = the number of served_frames and token_cost = Σ served_frames[].token_cost. In the example 403 = 403,
// 2 = 2 and 403 = 311 + 92. Nothing else is part of it: not the budget, not duplicates, not whose frames a row names.
// Those are findings. Sums are exact, so an overflow is an inconsistency.
//
// Check says which equation fails. Verify returns a Verified, the only thing that becomes events, so nothing is billed
// from an unchecked report.
//
// # Events
//
// Events makes one event per provider and report, merging rows of one provider. The second frame of the example, which is
// not verifiable since it has no digest (context-reuse D4), is billed like the first and reported as unverifiable-frame.
package metering
