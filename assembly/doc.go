// Package assembly re-verifies recorded context assemblies: what a kernel put into a model's context, under the ordered-many
// context-strategy contract C0.
//
// A context assembly is one construction of model input. An operator's profile has ordered positions; strategies bound to
// them return bounded contributions; the kernel budgets, validates, clamps, merges and truncates. A record is digest-only:
// it never has a payload, a prompt, an error or a path. Verify derives from a record the outcome that the contract dictates
// and compares the recorded one with it. "Section" below is the verification model's, C0-R its rules (type Rule), D-nn its
// decisions; a file names the contract's own section that it implements.
//
// # Records
//
// JSON in snake_case, closed: an unknown or missing member is record_schema_invalid (C0-R010), null stands for absent.
// Numbers are integers 0 … 2^53−1, times RFC 3339 in UTC with Z and up to nine fractional digits, compared as instants.
// Digests are "sha256:" and hex, over a domain, a zero byte and the RFC 8785 form of the value. Every other string is a safe
// token, [A-Za-z0-9][A-Za-z0-9._:/@+-]{0,199}: no white space, so no prose. A forbidden member, an unsafe string or a fraction
// anywhere is record_forbidden_content (C0-R020), naming the places and never a value. A record has at most 8 MiB, and a list
// of slots, cues, operations or sensitivities at most 128 words.
//
//	{
//	  "record_version": "c0.assembly.v1",
//	  "identity": {"tenant_id": …, "turn_id": …, "context_assembly_id": …, "assembly_kind": "initial", …},
//	  "profile_resolution": {"lookup_key": {…}, "candidates": [{"profile_revision_id", "content_digest", "origin", "active"}]},
//	  "profile": {…}, "snapshot": {…}, "plan": {…},         // each has entries of its own in a ledger
//	  "anchors": [{"turn_id", "snapshot_id", "snapshot_digest"}],
//	  "parent": {"deadline": …, "cancelled_at": null, "settled_at": …},
//	  "positions": [{"position": 10, "source": "live", "request": {…}, "attempts": [{…}], "result": {…}, …}],
//	  "final": {"ceiling": {…}, "fixed": {…}, "tool_results": […], "transcript_units": […], …},
//	  "report": {"outcome": "degraded", "code": null, "stage": "settled", "positions": […], "contributions": […], …}
//	}
//
// Parse reads a whole record, ParseRow one whose snapshot and plan are named by id and digest; Row.Join makes it whole with
// what ParseProfile, ParseSnapshot and ParsePlan read. Where no profile resolved there is no snapshot and no plan, and the
// three are null. ParseCompaction ("c0.compaction.v1") and ParseRecovery ("c0.recovery.v1") read the other two operations,
// section 3.9 with the recorded outcome in report.
//
// # Pipeline
//
// The stages run in this order and the first that fails decides (section 4); what comes after it is not evaluated.
//
//	profile   exactly one valid effective profile              resolve        context_profile_invalid
//	bind      every required position is eligible              bind           context_strategy_required_unavailable
//	plan      the budget, in items, bytes and tokens           allocate       context_budget_unavailable
//	          attempts, deadlines, cancellation → event        judge
//	          result rules; sensitivity, freshness, authority  validate, assess
//	settle    cancellation, required failures, deadline        settle         the event's code; cancelled; timeout
//	merge     position and ordinal order, duplicates           merge          context_contribution_conflict
//	final     truncation                                       truncate       overflow, or a rebuild after compaction
//
// A parent that was cancelled at or before settlement makes the outcome cancelled also where binding or plan would have
// failed (section 7.2, C0-R465). A profile that does not resolve decides before that: without positions there is nothing to
// cancel.
//
// # Budget, a worked example
//
// Two models take 8000 and 9000 tokens, so the ceiling is 8000; policy allows 12 items and 40000 bytes; the nine reserves need
// 5000 tokens and 14000 bytes. The pool is 12 / 26000 / 3000 (items, bytes, tokens). Position 20 is required with a minimum of
// 2 / 4000 / 600, which is set aside first: 10 / 22000 / 2400 are left. Then in order, up to each cap:
//
//	10 optional, cap 4 /  8000 / 1200   gets 4     / 8000      / 1200       left 6 / 14000 / 1200
//	20 required, cap 6 / 12000 / 2000   gets 2 + 4 / 4000+8000 / 600+1200   left 2 /  6000 /    0
//	30 optional, cap 5 / 10000 / 1500   gets 2     / 6000      / 0          a budget skip: nothing in one dimension
//
// Nothing is given back: what position 30 can't use stays unused.
//
// # Verdict
//
// A Report is verified when every recorded member is the derived one and no rule of conduct is broken, also when the outcome
// is a failure: the record is then a faithful one. Any finding makes it a mismatch. It is indeterminate when an input that a
// derivation needs is missing, such as every model limit. A finding is a rule and a JSON pointer; a member that differs is
// reported under the rule that section 7.3 gives for it, at its first differing row. Report.Faithful gives a verified
// assembly as a type of its own.
//
// Coverage says for each part of a rule whether it was recomputed from the record (A), is consistent with what the kernel
// attests (B), or could be held against other rows of the ledger (X, type Anchors) or a payload presented for the check (P,
// type Presented), and it lists what no record can prove. An accepted live result's own digest is attested: only a cached
// result's is recomputed (C0-R875).
//
// # Readings
//
// Where the model leaves room: a partial result has C0-R550 as its reason. An optional position that lost a contribution to
// sensitivity, inadmissibility or a conflict is accepted_partial, one that only lost an exact duplicate is accepted. A result
// that was rejected as a whole has no rows in the report. Late outputs do not count against the digests of their request,
// since they were discarded. A cached result may not exceed the allocation, and a fallback on one of which nothing is admitted
// is no fallback. Sums beyond 2^63−1 saturate, so that they can't pass for small ones. A source class without a rule in the
// profile makes a record indeterminate.
//
// # Purity
//
// Nothing here reads a clock, a file or a random source, no package variable is written, and nothing panics whatever the
// bytes. Bounds come before work, and the work is linear in the number of contributions.
package assembly
