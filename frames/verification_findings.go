package frames

import "strconv"

// Findings is what an auditor wants to know about a verification, whether Check accepts it or not.
func (v Verification) Findings() []Finding {
	var f Findings
	f.addAll("/request", v.Request.Findings())
	asked := make(map[FrameID]bool, len(v.Request.Frames))
	for i, id := range v.Request.Frames {
		asked[id] = true
		if id.ProviderID != v.ProviderID {
			f.Add(ForeignFrame, "", "/request/frames/"+strconv.Itoa(i)+"/provider_id")
		}
	}
	if v.Response == nil {
		return f.List()
	}
	f.addAll("/response", v.Response.Findings())
	if v.Capability == nil || !v.Capability.Verify {
		f.Add(AskedWithoutCapability, DocReuseV3, "/response")
	}
	for i, verdict := range v.Response.Verdicts {
		if !asked[verdict.Frame] {
			f.Add(UnaskedVerdict, "", "/response/verdicts/"+strconv.Itoa(i))
		}
	}
	return f.List()
}

// addAll takes over the findings of a part that stands at the pointer.
func (f *Findings) addAll(at string, part []Finding) {
	for _, p := range part {
		f.Add(p.Code, p.Document, at+p.Pointer)
		if p.More > 0 {
			f.list[f.last[p.Code]].More += p.More
			f.count[p.Code] += p.More
		}
	}
}
