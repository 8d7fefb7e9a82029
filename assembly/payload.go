package assembly

import "unicode/utf8"

// The contract's "Contribution result" with a presented payload: digest, bytes and tokens; C0-R525, C0-R530, evidence P.

// Presented is a payload that is shown for one check. It is used in memory and kept nowhere.
type Presented struct {
	// Contribution is the contribution's position and ordinal.
	Contribution Ref
	Payload      []byte
}

// Measurement is what a payload measures.
type Measurement struct {
	PayloadDigest string `json:"payload_digest"`
	Bytes         int64  `json:"bytes"`
	Tokens        *int64 `json:"tokens"` // null for an estimator that isn't registered
}

// Measure measures a payload of a type with an estimator, named as id/version. Tokens of an unknown estimator stay unknown.
func Measure(payloadType, estimator string, payload []byte) Measurement {
	m := Measurement{PayloadDigest: PayloadDigest(payloadType, payload), Bytes: int64(len(payload))}
	if estimator == "chars-div-4-ceil/1" {
		tokens := (utf16Units(payload) + 3) / 4
		m.Tokens = &tokens
	}
	return m
}

// utf16Units counts UTF-16 code units without encoding them.
func utf16Units(payload []byte) (units int64) {
	for len(payload) > 0 {
		r, n := utf8.DecodeRune(payload)
		if units++; r > 0xFFFF {
			units++
		}
		payload = payload[n:]
	}
	return units
}

// checkPayloads holds presented payloads against what the kernel measured, by the snapshot's own estimator. It says whether every
// contribution's was shown.
func (v *verifier) checkPayloads(payloads []Presented) (isEvery bool) {
	shown := map[*contribution]bool{}
	for _, p := range payloads {
		c, at := v.rec.contribution(p.Contribution)
		if c == nil {
			v.lack("/positions")
			continue
		}
		shown[c] = true
		m := Measure(string(c.payloadType), v.estimator(), p.Payload)
		v.unless(m.PayloadDigest == c.kernelDigest, R525, at, "/kernel_payload_digest")
		v.unless(m.Bytes == c.kernelBytes, R530, at, "/kernel_bytes")
		if m.Tokens == nil {
			v.lack("/snapshot/token_estimator")
			continue
		}
		v.unless(*m.Tokens == c.kernelTokens, R530, at, "/kernel_tokens")
	}
	return len(shown) > 0 && len(shown) == v.rec.contributionCount()
}

// contributionCount is over all live and cached results.
func (a *Assembly) contributionCount() (n int) {
	for i := range a.rows {
		if r := a.rows[i].result; r != nil {
			n += len(r.contributions)
		}
		if c := a.rows[i].cache; c != nil {
			n += len(c.contributions)
		}
	}
	return n
}

func (v *verifier) estimator() string {
	if v.rec.snapshot == nil {
		return ""
	}
	return v.rec.snapshot.estimator.name()
}

// contribution finds a contribution, live before cached, and its place.
func (a *Assembly) contribution(ref Ref) (c *contribution, at string) {
	for i := range a.rows {
		row := &a.rows[i]
		if row.position != ref[0] {
			continue
		}
		if row.result != nil {
			if c, at = find(row.result.contributions, ref[1], pointer([]any{"/positions", i, "/result/contributions"})); c != nil {
				return c, at
			}
		}
		if row.cache != nil {
			return find(row.cache.contributions, ref[1], pointer([]any{"/positions", i, "/cache/contributions"}))
		}
	}
	return nil, ""
}

func find(list []contribution, ordinal int64, at string) (*contribution, string) {
	for i := range list {
		if list[i].ordinal == ordinal {
			return &list[i], pointer([]any{at, i})
		}
	}
	return nil, ""
}
