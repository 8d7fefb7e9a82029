package frames

import "strconv"

// Findings is what an auditor wants to know about a request although the reference accepts it.
func (r VerifyRequest) Findings() []Finding {
	var f Findings
	r.notes.addTo(&f)
	for i, id := range r.Frames {
		f.AddIdentity(id, "/frames/"+strconv.Itoa(i))
	}
	return f.List()
}

// Findings is what an auditor wants to know about a response although the reference accepts it: among others that it
// answers one identity in two ways, of which the first counts (context-reuse V2).
func (r VerifyResponse) Findings() []Finding {
	var f Findings
	r.notes.addTo(&f)
	first := make(map[FrameID]Verdict, len(r.Verdicts))
	for i, v := range r.Verdicts {
		at := "/verdicts/" + strconv.Itoa(i)
		f.AddIdentity(v.Frame, at+"/frame")
		v.addOwn(&f, at)
		if earlier, seen := first[v.Frame]; !seen {
			first[v.Frame] = v.Verdict
		} else if earlier != v.Verdict {
			f.Add(ContradictoryVerdicts, DocReuseV2, at)
		}
	}
	return f.List()
}

func (v FrameVerdict) addOwn(f *Findings, at string) {
	if v.stray {
		f.Add(ReplacementWithoutStale, "", at+"/replacement_digest")
	}
	if _, given := v.ReplacementDigest.Value(); given && !v.ReplacementDigest.IsSHA256() {
		f.Add(DigestNotSHA256, DocSpecD1, at+"/replacement_digest")
	}
}

// Findings is what an auditor wants to know about a verdict that stands alone.
func (v FrameVerdict) Findings() []Finding {
	var f Findings
	f.AddIdentity(v.Frame, "/frame")
	v.addOwn(&f, "")
	return f.List()
}
