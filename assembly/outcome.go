package assembly

// Outcome is an assembly's outcome (section 3.8): the recorded one, or the one that the contract dictates. For a failed,
// cancelled or timed out assembly there are no contributions and no final part; for a failure in stage profile, bind or
// plan there are no positions and no allocations either.
type Outcome struct {
	Outcome       Word                  `json:"outcome"`
	Code          Code                  `json:"code"`
	FailureCodes  []Code                `json:"failure_codes"`
	Stage         Word                  `json:"stage"`
	Allocations   []Allocation          `json:"allocations"`
	Positions     []PositionOutcome     `json:"positions"`
	Contributions []ContributionOutcome `json:"contributions"`
	Conflicts     []Conflict            `json:"conflicts"`
	Final         *Final                `json:"final"`
}

// PositionOutcome is what one position came to.
type PositionOutcome struct {
	Position    int64  `json:"position"`
	BindingID   string `json:"provider_binding_id"`
	ReleaseID   string `json:"provider_release_id"`
	Event       Word   `json:"event"`
	Outcome     Word   `json:"outcome"`
	Code        Code   `json:"code"`
	CacheStatus Word   `json:"cache_status"`
}

// SourceRef is where a contribution came from.
type SourceRef struct {
	SourceClass string `json:"source_class"`
	Namespace   string `json:"namespace"`
	StableRef   string `json:"stable_ref"`
}

// ContributionOutcome is what became of one contribution, with the labels that the kernel derived. A label is null where
// there is none.
type ContributionOutcome struct {
	Position           int64     `json:"position"`
	Ordinal            int64     `json:"ordinal"`
	Disposition        Word      `json:"disposition"`
	DuplicateOf        *Ref      `json:"duplicate_of"`
	SourceRef          SourceRef `json:"source_ref"`
	Freshness          Word      `json:"freshness"`
	Sensitivity        Word      `json:"sensitivity"`
	EffectiveAuthority Word      `json:"effective_authority"`
	Wrapper            Word      `json:"wrapper"`
	TargetSlot         Word      `json:"target_slot"`
	PayloadDigest      string    `json:"payload_digest"`
	OriginalBytes      int64     `json:"original_bytes"`
	AcceptedBytes      int64     `json:"accepted_bytes"`
}

// failedAt is the outcome of an assembly that a stage without positions failed.
func failedAt(stage Word, code Code) Outcome {
	return Outcome{
		Outcome: Failed, Code: code, FailureCodes: []Code{code}, Stage: stage, Allocations: []Allocation{},
		Positions: []PositionOutcome{}, Contributions: []ContributionOutcome{}, Conflicts: []Conflict{},
	}
}
