package air

// discloseSlots says of each none-yet slot what it does not prove, whether it is null or not (seed §7.5 to 7.9).
func (c *checker) discloseSlots(list []Disclosure) []Disclosure {
	p := &c.b.proofs
	for _, slot := range [...]struct {
		form            form
		null, committed Disclosure
	}{
		{p.ots.form,
			Disclosure{"ots-not-supplied", "No OpenTimestamps commitment is supplied."},
			Disclosure{"ots-not-checked", "A proof digest and a calendar location are recorded. The external proof was not checked."}},
		{p.keyLog.form,
			Disclosure{"key-transparency-not-supplied", "No key-log commitment is supplied."},
			Disclosure{"key-transparency-not-checked", "A key-log commitment is recorded. Log inclusion, checkpoint signature, " +
				"consistency and operator identity were not checked."}},
		{p.lineage.form,
			Disclosure{"lineage-not-supplied", "No parent receipt is declared."},
			Disclosure{"lineage-not-checked", "A parent digest is recorded. It does not prove that the parent exists or that the " +
				"stated relation is valid."}},
		{p.disclosure.form,
			Disclosure{"disclosure-stance-not-supplied", "No disclosure-stance commitment is supplied."},
			Disclosure{"disclosure-stance-not-checked", "A statement digest is recorded. It does not prove what the statement says " +
				"or that it was followed."}},
		{p.inclusion.form,
			Disclosure{"multi-operator-inclusion-not-supplied", "No multi-operator inclusion commitments are supplied."},
			Disclosure{"multi-operator-inclusion-not-checked", "Distinct operator identifiers and digests are recorded. Inclusion " +
				"proofs, checkpoints and organisational independence were not checked."}},
	} {
		if slot.form.object {
			list = append(list, slot.committed)
		} else {
			list = append(list, slot.null)
		}
	}
	return list
}
