package assembly

// The contract's "Ordered merge, duplicates, freshness, and authority", rule 3; section 6.5, C0-R670.

// mapping is the profile's versioned equivalence of sources.
type mapping struct {
	version string
	entries []equivalence
	to      map[pair]pair // the entries by their source
}

type equivalence struct{ from, to pair }

// identity is a ContextDedupeIdentity. Under one mapping version two are equal exactly when their digests are, so that the
// merge compares them without hashing.
type identity struct {
	pair
	ref string
}

// identify derives the identity of a validated source. An equivalence holds only where the position was itself admitted
// for the canonical pair (D-23).
func (m mapping) identify(admitted sources, p pair, ref string) identity {
	if to, ok := m.to[p]; ok && admitted.has(to) {
		p = to
	}
	return identity{p, ref}
}

// sources are the pairs that a position is admitted for, in the profile's order and as a set.
type sources struct {
	list []pair
	set  map[pair]struct{}
}

func (s sources) has(p pair) bool {
	_, ok := s.set[p]
	return ok
}

// digest is the identity as the contract writes it.
func (i identity) digest(mappingVersion string) string {
	c := canonical(identityDomain)
	c = c.text(`{"mapping_version":`, mappingVersion)
	c = c.text(`,"namespace":`, i.namespace)
	c = c.text(`,"source_class":`, i.class)
	c = c.text(`,"stable_ref":`, i.ref)
	return digestOf(append(c, '}'))
}

func (r reader) mapping() (m mapping) {
	r.Object(
		into("version", &m.version, r.token),
		into("entries", &m.entries, func() []equivalence {
			return list(r, func() (e equivalence) {
				r.Object(into("from", &e.from, r.pair), into("to", &e.to, r.pair))
				return e
			})
		}),
	)
	m.to = make(map[pair]pair, len(m.entries))
	for _, e := range m.entries {
		m.to[e.from] = e.to
	}
	return m
}

func (r reader) sources() (s sources) {
	s.list = list(r, r.pair)
	s.set = make(map[pair]struct{}, len(s.list))
	for _, p := range s.list {
		s.set[p] = struct{}{}
	}
	return s
}
