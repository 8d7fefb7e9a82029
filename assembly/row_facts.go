package assembly

// ContributionFact is what a ledger joins a contribution to its other records by: what the row says of it, unverified.
type ContributionFact struct {
	Ref         Ref
	RequestID   string // of the request that it answers, "" where it came from a cache
	Source      SourceRef
	Sensitivity Word  // the label that the kernel recorded
	Tokens      int64 // as the kernel measured the payload, before wrapper and redaction
	Included    bool  // it went into the model's context
}

// Facts are the contributions that the row's report has, in its order.
func (r *Row) Facts() []ContributionFact {
	tokens, requests := map[Ref]int64{}, map[int64]string{}
	for i := range r.rest.rows {
		row := &r.rest.rows[i]
		if row.cache != nil {
			row.tokens(row.cache.contributions, tokens)
		}
		if row.result != nil {
			row.tokens(row.result.contributions, tokens)
		}
		if row.request != nil && row.source == live {
			requests[row.position] = row.request.id
		}
	}
	facts := make([]ContributionFact, 0, len(r.rest.recorded.Contributions))
	for _, c := range r.rest.recorded.Contributions {
		ref := Ref{c.Position, c.Ordinal}
		facts = append(facts, ContributionFact{ref, requests[c.Position], c.SourceRef, c.Sensitivity, tokens[ref], c.Disposition == included})
	}
	return facts
}

func (row *runtimeRow) tokens(list []contribution, into map[Ref]int64) {
	for i := range list {
		into[Ref{row.position, list[i].ordinal}] = list[i].kernelTokens
	}
}

// AcceptedResults are the digests of the results that the row's report calls accepted, by position. A cached result's is the
// one that it was stored under.
func (r *Row) AcceptedResults() map[int64]string {
	all := map[int64]string{}
	for _, p := range r.rest.recorded.Positions {
		for i := range r.rest.rows {
			if row := &r.rest.rows[i]; row.position == p.Position && isAccepted(p.Outcome) {
				if digest := row.resultDigest(p.Outcome == acceptedCache); digest != "" {
					all[p.Position] = digest
				}
			}
		}
	}
	return all
}

func isAccepted(outcome Word) bool {
	return words{accepted, acceptedEmpty, acceptedPartial, acceptedStale, acceptedCache}.has(outcome)
}

// resultDigest is of the cached result, or of the attempt that brought one; "" when there is none.
func (row *runtimeRow) resultDigest(isCached bool) (digest string) {
	if isCached && row.cache != nil {
		return row.cache.storedDigest
	}
	for _, a := range row.attempts {
		if a.end == endResult {
			digest = a.resultDigest
		}
	}
	return digest
}

// Rebuilds says that the recorded final result is to rebuild after compaction.
func (r *Row) Rebuilds() bool {
	return r.rest.recorded.Final != nil && r.rest.recorded.Final.Result == rebuild
}
