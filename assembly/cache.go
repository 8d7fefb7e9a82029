package assembly

import "crypto/sha256"

// The contract's "Deadlines, cancellation, failure, and recovery", cache; section 6.7, C0-R860 … C0-R885.

// cachedResult is a normalised result that stands in for an invocation.
type cachedResult struct {
	key           cacheKey
	ordinals      []int64 // in stored order
	storedDigest  string
	contributions []contribution // in fresh envelopes
	checkedAt     instant
	policyOK      bool
}

// cacheKey has the eleven parts that must all be the current ones.
type cacheKey struct {
	kind, binding, release, configuration, revision string
	position                                        int64
	operation                                       Word
	inputSet, scope, redaction, outputContract      string
}

// cacheInput is what the validity of a cached result follows from.
type cacheInput struct {
	permitted      bool
	isRequired     bool
	needsFresh     bool
	key, current   cacheKey
	policyOK       bool
	ordinals       []int64
	digestsHold    bool // each payload digest and the result digest recompute
	freshness      []Word
	contentFailure []Rule // what the fresh envelopes' contents break
}

// cacheVerdict says whether a cached result is valid, and which of its ordinals must be attributed as not fresh.
type cacheVerdict struct {
	status     Word // valid or rejected
	reasons    []Rule
	code       Code
	attributed []int64
}

// judge revalidates a cached result. Cache storage or retrieval order has no authority: the ordinals must stand in order.
func (in cacheInput) judge() cacheVerdict {
	v := cacheVerdict{status: hit, attributed: []int64{}}
	b := broken(in.contentFailure)
	b.unless(in.permitted, R860)
	b.unless(in.key == in.current, R865)
	b.unless(len(in.ordinals) > 0 && inOrder(in.ordinals), R870)
	b.unless(in.digestsHold, R875)
	b.unless(in.policyOK, R880)
	isUsable := len(b) == 0
	for i, label := range in.freshness {
		if label != fresh {
			b.unless(!in.isRequired || !in.needsFresh, R885)
			v.attributed = append(v.attributed, in.ordinals[i])
		}
	}
	if v.reasons = b.sorted(); len(b) > 0 {
		v.status, v.attributed, v.code = rejected, []int64{}, CacheUnavailable
		if isUsable { // nothing is wrong but its age (D-26)
			v.code = ContributionStale
		}
	}
	return v
}

// inOrder: 0 … n−1.
func inOrder(ordinals []int64) bool {
	for i, n := range ordinals {
		if n != int64(i) {
			return false
		}
	}
	return true
}

// resultDigest is the accepted result digest of pieces in ordinal order: normalised metadata without the ids of request,
// assembly and contribution, so that it survives re-enveloping (D-19).
func resultDigest(pieces []piece) string {
	h := sha256.New()
	c := append(make(canonical, 0, 1024), resultDomain...)
	c = append(c, '[')
	for i := range pieces {
		if i > 0 {
			c = append(c, ',')
		}
		h.Write(pieces[i].input.normalised(c))
		c = c[:0]
	}
	h.Write(append(c, ']'))
	return digestText([sha256.Size]byte(h.Sum(nil)))
}

func (v *contribution) normalised(c canonical) canonical {
	c = c.text(`{"authority":`, string(v.authority))
	c = c.number(`,"bytes":`, v.kernelBytes)
	c = c.nullText(`,"observed_at":`, v.times.observedAt.text)
	c = c.number(`,"ordinal":`, v.ordinal)
	c = c.text(`,"payload_digest":`, v.kernelDigest)
	c = c.nullText(`,"retrieved_at":`, v.times.retrievedAt.text)
	c = c.nullText(`,"sensitivity":`, string(v.sensitivity))
	c = c.text(`,"source":{"namespace":`, v.source.namespace)
	c = c.text(`,"source_class":`, v.source.class)
	c = c.text(`,"stable_ref":`, v.source.ref)
	c = c.text(`},"source_revision":{"kind":`, string(v.times.revision.kind))
	c = c.nullText(`,"value":`, v.times.revision.value)
	c = c.text(`},"target_slot":`, string(v.slot))
	c = c.nullText(`,"valid_until":`, v.times.validUntil.text)
	return append(c, '}')
}

// scopeDigest pins the tenant, agent, workspace and conversation of a cached result.
func (id Identity) scopeDigest() string {
	c := canonical(scopeDomain)
	c = c.text(`{"agent_id":`, id.AgentID)
	c = c.text(`,"conversation_id":`, id.ConversationID)
	c = c.text(`,"tenant_id":`, id.TenantID)
	c = c.text(`,"workspace_id":`, id.WorkspaceID)
	return digestOf(append(c, '}'))
}
