package audit

// Verdict is what the ledger can say about one scope at the instant of one egress.
type Verdict string

// The verdicts in their fixed precedence, best first. A scope shows the worst that holds for any report of its line, and how
// many have which; a line shows the worst of its reports.
const (
	LocalOnly       Verdict = "local-only"          // by its declaration, nothing leaves the machine
	Consented       Verdict = "consented"           // a grant was in force at that instant and had been recorded by then
	LegacyConsented Verdict = "legacy-consented"    // boolean egress, covered by a boolean consent in the same way
	ReachUnknown    Verdict = "reach-unknown"       // not covered; nothing was served, but the query itself may have gone there
	RecordedAfter   Verdict = "recorded-after"      // in force on paper, but recorded only after the egress
	Expired         Verdict = "expired"             // granted before, and lapsed by then
	Revoked         Verdict = "revoked"             // granted before, and taken back by then
	GrantedAfter    Verdict = "granted-after"       // granted later than the egress
	Undeclared      Verdict = "undeclared-provider" // no declaration was on record by then, so no consent is known to cover what left
	Unconsented     Verdict = "unconsented"         // no readable grant
)

// Verdicts lists every verdict, best first.
var Verdicts = [...]Verdict{
	LocalOnly, Consented, LegacyConsented, ReachUnknown, RecordedAfter, Expired, Revoked, GrantedAfter, Undeclared, Unconsented,
}

// severity is a verdict's place in Verdicts.
var severity = func() map[Verdict]int {
	m := map[Verdict]int{}
	for i, v := range Verdicts {
		m[v] = i
	}
	return m
}()

func worse(a, b Verdict) Verdict {
	if severity[b] > severity[a] {
		return b
	}
	return a
}

// covers says that the verdict leaves nothing open, whether something was served or not.
func (v Verdict) covers() bool { return v == LocalOnly || v == Consented || v == LegacyConsented }
