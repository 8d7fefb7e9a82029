package assembly

// The contract's "Ordered merge, duplicates, freshness, and authority", rules 4 to 8; section 6.5, C0-R660 … C0-R695.

// Ref names a contribution by position and ordinal.
type Ref [2]int64

// piece is one contribution on its way through an assembly.
type piece struct {
	ref         Ref
	isRequired  bool // its position is
	identity    identity
	digest      string // kernel's digest of the payload
	disposition Word
	duplicateOf *Ref
	isProtected bool // it stands for a required position's material (D-13)
	labels
	freshness Word
	input     *contribution
}

// Conflict is one identity that carried different payloads.
type Conflict struct {
	Members           []Ref   `json:"members"`
	AffectedPositions []int64 `json:"affected_positions"`
}

// claim is what the merge knows of one identity.
type claim struct {
	first      *piece
	isDisputed bool
	conflict   int // of the list, once it is disputed and listed
}

// merge decides what becomes of the pieces that are still undecided, which must come by position and ordinal. Identities
// with one payload keep their first piece; disputed ones keep none. It is fatal when a required position is touched.
func merge(pieces []*piece) (conflicts []Conflict, isFatal bool) {
	conflicts = []Conflict{}
	claims := make(map[identity]*claim, len(pieces))
	store := make([]claim, 0, len(pieces)) // one allocation for all claims
	for _, p := range pieces {
		c := claims[p.identity]
		if c == nil {
			store = append(store, claim{first: p, conflict: -1})
			claims[p.identity] = &store[len(store)-1]
			continue
		}
		c.isDisputed = c.isDisputed || c.first.digest != p.digest
	}
	for _, p := range pieces {
		c := claims[p.identity]
		switch {
		case c.isDisputed:
			p.disposition = conflictOmitted
			if c.conflict < 0 { // so that conflicts come in the order of their first member
				c.conflict = len(conflicts)
				conflicts = append(conflicts, Conflict{})
			}
			conflicts[c.conflict].add(p.ref)
			isFatal = isFatal || p.isRequired // C0-R685, D-11
		case c.first == p:
			p.disposition = included
		default:
			p.disposition, p.duplicateOf = duplicateOmitted, &c.first.ref
			c.first.isProtected = c.first.isProtected || p.isRequired
		}
	}
	return conflicts, isFatal
}

func (c *Conflict) add(member Ref) {
	c.Members = append(c.Members, member)
	if n := len(c.AffectedPositions); n == 0 || c.AffectedPositions[n-1] != member[0] {
		c.AffectedPositions = append(c.AffectedPositions, member[0])
	}
}

// isMerged: a position whose contributions take part in the merge.
func isMerged(outcome Word) bool {
	switch outcome {
	case accepted, acceptedPartial, acceptedStale, acceptedCache:
		return true
	}
	return false
}

// isGap: a position that stays as an attributed gap; nothing is promoted into it (C0-R665).
func isGap(outcome Word) bool { return !isMerged(outcome) && outcome != acceptedEmpty }

// afterLoss is an optional position's outcome once it is known what it lost. An exact duplicate is no loss: its bytes are
// in the context.
func afterLoss(s settled, pieces []piece) settled {
	lost, left, isConflict := false, false, false
	for i := range pieces {
		switch pieces[i].disposition {
		case included, duplicateOmitted:
			left = true
		case conflictOmitted:
			lost, isConflict = true, true
		case rejected, sensitivityOmitted, kernelInadmissible:
			lost = true
		}
	}
	if !lost {
		return s
	}
	if s.outcome = acceptedPartial; !left {
		s.outcome = skipped
	}
	if isConflict {
		s.code = ContributionClash
	}
	return s
}
