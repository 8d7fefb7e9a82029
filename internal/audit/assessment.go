package audit

import (
	"cmp"
	"slices"

	"ledgerd/receipts"
)

// joiner is the evidence, indexed. The egress answer and the findings are made from its assessments, so they can't disagree.
type joiner struct {
	book      *book
	declared  map[string]*declarations
	exchanges map[string][]Exchange // by request id
}

func newJoiner(e Evidence) *joiner {
	return &joiner{book: newBook(e.Consents), declared: declarationsOf(e.Declarations), exchanges: exchangesOf(e.Exchanges)}
}

// group is the usage of one line, in order of seq: of one provider, under one declaration by its own instant and one by
// what had been recorded.
type group struct {
	provider string
	dated    *Declaration // in force by its own instant, nil for none
	known    *Declaration // in force of those that had been recorded by then, nil for none
	usage    []UsageLine
	asked    []asked
}

// asked is one scope that a report must be judged by.
type asked struct {
	scope receipts.EgressScope
	basis Basis
	by    []*Declaration // that ask for it
}

func (j *joiner) groups(usage []UsageLine) []group {
	type key struct {
		provider     string
		dated, known int64
	}
	index := map[key]int{}
	var list []group
	for _, u := range usage {
		dated, known := j.declared[u.ProviderID].at(moment{u.AsOf, u.Seq})
		k := key{u.ProviderID, seqOf(dated), seqOf(known)}
		i, listed := index[k]
		if !listed {
			i = len(list)
			index[k] = i
			list = append(list, group{provider: u.ProviderID, dated: dated, known: known})
		}
		list[i].usage = append(list[i].usage, u)
	}
	for i := range list {
		slices.SortFunc(list[i].usage, func(a, b UsageLine) int { return cmp.Compare(a.Seq, b.Seq) })
		list[i].asked = j.askedScopes(list[i])
	}
	slices.SortFunc(list, func(a, b group) int {
		return cmp.Or(cmp.Compare(a.provider, b.provider), compareDeclarations(a.dated, b.dated), compareDeclarations(a.known, b.known))
	})
	return list
}

func seqOf(d *Declaration) int64 {
	if d == nil {
		return -1
	}
	return d.Seq
}

// askedScopes is what the declarations, or for want of any the record of consent, say about where content goes. A scope
// that both declarations name is asked for once.
func (j *joiner) askedScopes(g group) []asked {
	var list []asked
	if g.dated == nil {
		list = j.agreedScopes(g.provider)
	} else {
		list = declaredScopes(g.dated)
	}
	if g.known != nil && g.known != g.dated {
		list = append(list, declaredScopes(g.known)...)
	}
	slices.SortStableFunc(list, func(a, b asked) int { return cmp.Or(cmp.Compare(a.scope, b.scope), cmp.Compare(a.basis, b.basis)) })
	merged := list[:0]
	for _, a := range list {
		if n := len(merged); n > 0 && merged[n-1].scope == a.scope && merged[n-1].basis == a.basis {
			merged[n-1].by = append(merged[n-1].by, a.by...)
			continue
		}
		merged = append(merged, a)
	}
	return merged
}

// declaredScopes may hold a scope twice, as a declaration may.
func declaredScopes(d *Declaration) []asked {
	flow := d.Event.Provider.DataFlow
	var list []asked
	for i, scope := range flow.EgressScopes {
		if !slices.Contains(flow.EgressScopes[:i], scope) {
			list = append(list, asked{scope, BasisDeclared, []*Declaration{d}})
		}
	}
	switch {
	case len(flow.OffMachine()) > 0:
	case flow.Egress:
		list = append(list, asked{"", BasisBoolean, []*Declaration{d}})
	case len(list) == 0:
		list = append(list, asked{receipts.LocalOnly, BasisDeclared, []*Declaration{d}})
	}
	return list
}

// agreedScopes are what somebody agreed to, of a provider that declared nothing. Agreeing that nothing leaves says nothing
// about where content goes: only the provider itself can say that.
func (j *joiner) agreedScopes(provider string) []asked {
	var list []asked
	for _, scope := range j.book.scopes[provider] {
		if scope.IsOffMachine() {
			list = append(list, asked{scope, BasisGranted, nil})
		}
	}
	if len(j.book.records[provider]) > 0 {
		list = append(list, asked{"", BasisBoolean, nil})
	}
	if len(list) == 0 {
		list = append(list, asked{"", BasisNone, nil})
	}
	return list
}

// assessment is what the record says about one report of one provider.
type assessment struct {
	verdict Verdict
	scopes  []ruling // of group.asked
}

// assess judges one report of a group: the worst of what its scopes get, and undeclared-provider where no declaration was on
// record by then, whatever was declared or agreed to later. scratch is used for the rulings.
func (j *joiner) assess(g group, u UsageLine, scratch []ruling) assessment {
	m := moment{u.AsOf, u.Seq}
	out := assessment{verdict: LocalOnly, scopes: scratch[:0]}
	for _, a := range g.asked {
		r := j.rule(g.provider, a, m)
		r.verdict = r.verdict.of(u)
		out.scopes = append(out.scopes, r)
		if g.dated != nil { // else they are what somebody agreed to, for all that is known about something else
			out.verdict = worse(out.verdict, r.verdict)
		}
	}
	if g.known == nil {
		out.verdict = worse(out.verdict, Undeclared.of(u))
	}
	return out
}

func (j *joiner) rule(provider string, a asked, m moment) ruling {
	switch {
	case a.basis == BasisNone:
		return ruling{verdict: Undeclared}
	case a.basis == BasisBoolean:
		return j.book.boolean(provider, m)
	case a.basis == BasisDeclared && !a.scope.IsOffMachine():
		return ruling{verdict: LocalOnly}
	}
	return j.book.scope(target{provider, a.scope}, m)
}

// of is the verdict on a report that may have served nothing: then it is not known whether the query reached the provider.
func (v Verdict) of(u UsageLine) Verdict {
	if u.FramesServed == 0 && !v.covers() {
		return ReachUnknown
	}
	return v
}

// drifted says that consent was given to a provider of another name or version than a declared one that asks for it.
func (j *joiner) drifted(g group, a asked, u UsageLine) bool {
	return a.basis == BasisDeclared && a.scope.IsOffMachine() && slices.ContainsFunc(a.by, func(d *Declaration) bool {
		return j.book.store.Drifted(g.provider, a.scope, d.Event.Provider, u.AsOf)
	})
}
