package assembly

// The contract's "Ordered merge, duplicates, freshness, and authority", rule 3; section 6.5, C0-R670.

// mapping is the profile's versioned equivalence of sources.
type mapping struct {
	version string
	entries []equivalence
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
func (m mapping) identify(admitted []pair, p pair, ref string) identity {
	for _, e := range m.entries {
		if e.from == p && admits(admitted, e.to) {
			return identity{e.to, ref}
		}
	}
	return identity{p, ref}
}

func admits(admitted []pair, p pair) bool {
	for _, a := range admitted {
		if a == p {
			return true
		}
	}
	return false
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
	return m
}
