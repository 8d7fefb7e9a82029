package audit

import "slices"

// Behind lists the entries behind a line, each once, in order.
func (l EgressLine) Behind() []int64 {
	seqs := slices.Clone(l.Seqs)
	if l.Declaration != nil {
		seqs = append(seqs, l.Declaration.Seq)
	}
	if l.KnownDeclaration != nil {
		seqs = append(seqs, l.KnownDeclaration.Seq)
	}
	for _, s := range l.Scopes {
		seqs = append(seqs, s.Seqs...)
	}
	for _, x := range l.Exchanges {
		seqs = append(seqs, x.Seqs...)
	}
	slices.Sort(seqs)
	return slices.Compact(seqs)
}

// Behind lists the entries behind an answer, each once, in order.
func (a EgressAnswer) Behind() []int64 {
	var seqs []int64
	for _, l := range a.Lines {
		seqs = append(seqs, l.Behind()...)
	}
	slices.Sort(seqs)
	return slices.Compact(seqs)
}
