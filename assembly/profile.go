package assembly

// The contract's "Scope, identity, selection, and ordered binding": exactly one valid effective profile; C0-R100 … C0-R155.

// resolution is everything that was found for the lookup key.
type resolution struct {
	key        lookupKey
	candidates []profileCandidate
}

type profileCandidate struct {
	revision, digest string
	origin           Word // explicit or compatibility
	active           bool
}

// resolve says why no single valid profile resolves; nothing is broken when one does. The profile is nil when the record
// has none.
func resolve(tenant, agent string, found resolution, p *Profile) broken {
	var b broken
	b.unless(found.key.kind == ProviderKind && found.key.tenant == tenant && found.key.agent == agent, R100)
	active, origins := 0, words{}
	contents := map[string]string{}
	for _, c := range found.candidates {
		if c.active {
			active++
			origins = append(origins, c.origin)
		}
		before, known := contents[c.revision]
		b.unless(!known || before == c.digest, R115)
		contents[c.revision] = c.digest
	}
	b.unless(active == 1, R110)
	b.unless(!origins.has("explicit") || !origins.has("compatibility"), R120)
	if p != nil {
		p.check(&b)
	}
	return b
}

// check is what a profile must be by itself. A profile without positions is valid.
func (p *Profile) check(b *broken) {
	seen := map[int64]bool{}
	proposers := 0
	for i := range p.positions {
		rule := &p.positions[i]
		b.unless(rule.position >= 1 && !seen[rule.position], R130)
		seen[rule.position] = true
		b.unless(!rule.enabled || len(rule.implementations) == 1, R135)
		if rule.enabled && rule.proposer != "" {
			proposers++
		}
		b.unless(rule.requirement != required || !rule.minimum.exceeds(rule.cap.Amount), R145)
		b.unless((rule.optionalRule == nil) == (rule.requirement == required), R155)
		for _, s := range rule.slots {
			b.unless(isSlot(s), R155)
		}
		b.unless(authorityRank(rule.ceiling) >= 0, R155)
	}
	b.unless(proposers <= 1, R140)
	p.mapping.check(b)
	p.checkCeilings(b)
}

func (p *Profile) checkCeilings(b *broken) {
	for _, c := range p.sourceClasses {
		b.unless(authorityRank(c.ceiling) >= 0, R155)
	}
	f, s := p.freshnessAuthority, p.sensitivityPolicies
	for _, ceiling := range []Word{f.fresh, f.stale, f.unknown, s.public.ceiling, s.private.ceiling, s.sensitive.ceiling} {
		b.unless(authorityRank(ceiling) >= 0, R155)
	}
}

// check: no source pair twice, and no chain, so that an equivalence is one step (C0-R150).
func (m mapping) check(b *broken) {
	from := map[pair]bool{}
	for _, e := range m.entries {
		b.unless(!from[e.from], R150)
		from[e.from] = true
	}
	for _, e := range m.entries {
		b.unless(!from[e.to], R150)
	}
}

func (r reader) resolution() (v resolution) {
	r.Object(
		into("lookup_key", &v.key, r.lookupKey),
		into("candidates", &v.candidates, func() []profileCandidate {
			return list(r, func() (c profileCandidate) {
				r.Object(
					into("profile_revision_id", &c.revision, r.token),
					into("content_digest", &c.digest, r.digest),
					into("origin", &c.origin, func() Word { return r.wordOf("explicit", "compatibility") }),
					into("active", &c.active, r.Bool),
				)
				return c
			})
		}),
	)
	return v
}
