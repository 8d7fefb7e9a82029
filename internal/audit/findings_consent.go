package audit

import "context"

// unconsented finds egress that no consent is known to cover at its instant, by the same assessment as the egress answer:
// what that does not call covered is found, with the same verdict.
func (f *finder) unconsented(ctx context.Context, e Evidence) error {
	j := newJoiner(e)
	var scratch []ruling
	for _, g := range j.groups(e.Usage) {
		for _, u := range g.usage {
			if err := ctx.Err(); err != nil {
				return err
			}
			judged := j.assess(g, u, scratch)
			scratch = judged.scopes
			if u.FramesServed > 0 && !judged.verdict.covers() {
				f.uncovered(g, u, judged)
			}
		}
	}
	return nil
}

// uncovered adds what one report shows: that nothing was declared, and each declared scope that nothing covers. The report
// stands first among the entries that show it, then what decided, and the declarations where they differ.
func (f *finder) uncovered(g group, u UsageLine, judged assessment) {
	about := func(scope string, v Verdict, by []int64) {
		seqs := append([]int64{u.Seq}, by...)
		if g.known != g.dated {
			for _, d := range []*Declaration{g.dated, g.known} {
				if d != nil {
					seqs = append(seqs, d.Seq)
				}
			}
		}
		f.add(subject{kind: FindingUnconsented, provider: g.provider, scope: scope, verdict: v}, u.AsOf, seqs...)
	}
	if g.known == nil {
		var by []int64
		for _, r := range judged.scopes {
			by = append(by, r.by...)
		}
		about("", Undeclared, by)
	}
	for i, r := range judged.scopes {
		if g.dated != nil && !r.verdict.covers() {
			about(string(g.asked[i].scope), r.verdict, r.by)
		}
	}
}
