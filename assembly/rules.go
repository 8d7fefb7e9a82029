package assembly

import "slices"

// Rule is the id of one rule of the verification model. Group.Section names the part of the contract that it comes from.
type Rule string

// The rules, in the order of the specification's section 5. A comment is what the rule demands.
const (
	R010 Rule = "C0-R010" // closed shape, types, vocabularies
	R020 Rule = "C0-R020" // no forbidden member, every string safe
	R030 Rule = "C0-R030" // digests over stored content recompute
	R040 Rule = "C0-R040" // ids agree in all parts

	R100 Rule = "C0-R100" // lookup key
	R110 Rule = "C0-R110" // exactly one active candidate
	R115 Rule = "C0-R115" // one content per revision id
	R118 Rule = "C0-R118" // profile is the active candidate
	R120 Rule = "C0-R120" // explicit and compatibility not both active
	R130 Rule = "C0-R130" // positions unique, at least 1
	R135 Rule = "C0-R135" // one release per enabled position
	R140 Rule = "C0-R140" // at most one compaction proposer
	R145 Rule = "C0-R145" // required minimum within the cap
	R150 Rule = "C0-R150" // equivalence without repeats and chains
	R155 Rule = "C0-R155" // slots, ceilings, optional rule

	R200 Rule = "C0-R200" // snapshot positions are the enabled ones
	R205 Rule = "C0-R205" // pinned release
	R210 Rule = "C0-R210" // snapshot digest
	R215 Rule = "C0-R215" // one snapshot per turn, one content per id
	R220 Rule = "C0-R220" // snapshot names the profile revision
	R240 Rule = "C0-R240" // rule digest
	R250 Rule = "C0-R250" // eligibility follows from the axes
	R255 Rule = "C0-R255" // degraded health only where allowed
	R260 Rule = "C0-R260" // snapshot written ahead

	R300 Rule = "C0-R300" // plan names snapshot and assembly
	R302 Rule = "C0-R302" // plan digest
	R305 Rule = "C0-R305" // snapshot, plan, attempts in this order
	R310 Rule = "C0-R310" // hard ceiling
	R320 Rule = "C0-R320" // every reserve kind once
	R330 Rule = "C0-R330" // strategy pool
	R340 Rule = "C0-R340" // required reserve fits
	R350 Rule = "C0-R350" // minimums first
	R360 Rule = "C0-R360" // allocation in order
	R370 Rule = "C0-R370" // budget skip
	R380 Rule = "C0-R380" // no redistribution
	R385 Rule = "C0-R385" // per-item bound
	R390 Rule = "C0-R390" // no request where none is allowed

	R400 Rule = "C0-R400" // request identity
	R410 Rule = "C0-R410" // request bounds
	R415 Rule = "C0-R415" // output contract digest
	R420 Rule = "C0-R420" // input set
	R425 Rule = "C0-R425" // cues
	R440 Rule = "C0-R440" // policy revisions
	R445 Rule = "C0-R445" // deadlines

	R450 Rule = "C0-R450" // result by the deadline
	R460 Rule = "C0-R460" // late output is not used
	R465 Rule = "C0-R465" // parent cancellation
	R470 Rule = "C0-R470" // position cancellation
	R475 Rule = "C0-R475" // number of attempts
	R480 Rule = "C0-R480" // same request in every attempt
	R482 Rule = "C0-R482" // backoff
	R484 Rule = "C0-R484" // idempotent, before the deadline
	R486 Rule = "C0-R486" // retry only after a transport error
	R488 Rule = "C0-R488" // one result per request
	R490 Rule = "C0-R490" // no alternate provider

	R500 Rule = "C0-R500" // envelope ids
	R505 Rule = "C0-R505" // contribution ids unique
	R510 Rule = "C0-R510" // contribution ids bound
	R515 Rule = "C0-R515" // ordinals complete
	R520 Rule = "C0-R520" // UTF-8 text
	R525 Rule = "C0-R525" // payload digest
	R530 Rule = "C0-R530" // envelope counts
	R535 Rule = "C0-R535" // within the allocation
	R540 Rule = "C0-R540" // slot allowed
	R545 Rule = "C0-R545" // authority claim
	R550 Rule = "C0-R550" // sensitivity given
	R555 Rule = "C0-R555" // times readable
	R560 Rule = "C0-R560" // source admitted and confirmed
	R565 Rule = "C0-R565" // source revision
	R570 Rule = "C0-R570" // empty only where allowed
	R575 Rule = "C0-R575" // no partial trust

	R600 Rule = "C0-R600" // freshness label
	R610 Rule = "C0-R610" // required and not fresh fails
	R615 Rule = "C0-R615" // optional and not fresh follows its rule
	R620 Rule = "C0-R620" // material that is not fresh is labelled
	R630 Rule = "C0-R630" // effective sensitivity
	R635 Rule = "C0-R635" // admission
	R640 Rule = "C0-R640" // effective authority
	R645 Rule = "C0-R645" // wrapper
	R650 Rule = "C0-R650" // no reserved authority

	R660 Rule = "C0-R660" // order and inclusion
	R665 Rule = "C0-R665" // gaps stay
	R670 Rule = "C0-R670" // dedupe identity
	R675 Rule = "C0-R675" // exact duplicates
	R680 Rule = "C0-R680" // conflict omits all
	R685 Rule = "C0-R685" // conflict at a required position
	R690 Rule = "C0-R690" // nothing else is merged
	R695 Rule = "C0-R695" // inadmissible only with a reference

	R700 Rule = "C0-R700" // required failure closes
	R705 Rule = "C0-R705" // declared outcome only
	R710 Rule = "C0-R710" // code of the event
	R715 Rule = "C0-R715" // lowest position decides
	R725 Rule = "C0-R725" // parent deadline
	R730 Rule = "C0-R730" // outcome and stage
	R735 Rule = "C0-R735" // degraded exactly when something was lost
	R740 Rule = "C0-R740" // nothing included in a failure

	R750 Rule = "C0-R750" // sizes
	R752 Rule = "C0-R752" // final ceiling is the plan's
	R755 Rule = "C0-R755" // tool results
	R760 Rule = "C0-R760" // optional contributions backward
	R765 Rule = "C0-R765" // oldest transcript first
	R770 Rule = "C0-R770" // compaction and rebuild
	R775 Rule = "C0-R775" // overflow
	R780 Rule = "C0-R780" // protected material
	R785 Rule = "C0-R785" // first fit
	R790 Rule = "C0-R790" // removals are attributed

	R800 Rule = "C0-R800" // own operation, designated proposer
	R805 Rule = "C0-R805" // pinned profile revision
	R810 Rule = "C0-R810" // proposal ids
	R815 Rule = "C0-R815" // ten checkpoint fields
	R820 Rule = "C0-R820" // exact coverage
	R825 Rule = "C0-R825" // critical identifiers
	R830 Rule = "C0-R830" // no unsupported addition
	R835 Rule = "C0-R835" // claims cite dropped messages
	R840 Rule = "C0-R840" // proposal size
	R841 Rule = "C0-R841" // proposal digest, redaction
	R842 Rule = "C0-R842" // proposal by the deadline
	R845 Rule = "C0-R845" // action and reason
	R848 Rule = "C0-R848" // committed ids
	R850 Rule = "C0-R850" // pending state
	R855 Rule = "C0-R855" // transcript unchanged

	R860 Rule = "C0-R860" // cache permitted
	R865 Rule = "C0-R865" // cache key
	R870 Rule = "C0-R870" // cached ordinals
	R875 Rule = "C0-R875" // cached digests
	R878 Rule = "C0-R878" // fresh envelopes
	R880 Rule = "C0-R880" // current policy
	R885 Rule = "C0-R885" // cached material that is not fresh

	R900 Rule = "C0-R900" // the turn's snapshot
	R910 Rule = "C0-R910" // the recorded binding
	R920 Rule = "C0-R920" // the accepted result
	R930 Rule = "C0-R930" // binding unavailable

	R940 Rule = "C0-R940" // every other member
	R945 Rule = "C0-R945" // bindings in the report
)

// Evidence says what a rule, or a part of it, is checked against (section 8 of the specification).
type Evidence string

// The four kinds of evidence.
const (
	FromRecord   Evidence = "A" // recomputed from the record alone
	FromKernel   Evidence = "B" // consistency of values that the kernel attests
	FromLedger   Evidence = "X" // needs other rows of the ledger
	FromPayloads Evidence = "P" // needs the payload presented for the check
)

// RuleInfo describes a rule.
type RuleInfo struct {
	Rule  Rule
	Group Group
	// Evidence is one entry for each part of the rule.
	Evidence []Evidence
}

// Rules lists every rule, in rule order.
func Rules() []RuleInfo {
	all := make([]RuleInfo, 0, 140)
	for _, g := range groups() {
		for _, row := range g.rules() {
			all = append(all, RuleInfo{Rule: row.rule, Group: g, Evidence: row.parts()})
		}
	}
	slices.SortFunc(all, func(a, b RuleInfo) int { return compareRules(a.Rule, b.Rule) })
	return all
}
