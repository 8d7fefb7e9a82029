package postgres

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"

	"ledgerd/frames"
	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// pending is one submission on its way into the log, a member of the unit that its caller waits for.
type pending struct {
	unit      *unit
	prepared  ledger.Prepared
	submitted []byte // the part of the content that the poster determined
	keyHash   [16]byte
	findings  []frames.Finding
	claims    []kinds.Claim
	rows      []kinds.Rows
	erases    []int64 // what an erasure names; it is carried out in its own transaction
	refused   error   // why an erasure can't be carried out; the attempt's

	// What the attempt at hand decided. Nobody is told before answer.
	newClaims []kinds.Claim // of claims those that this entry is the first to make
	twin      *pending      // an earlier submission of the same batch that is the same
	result    kinds.Recorded
	err       error
}

// newPending commits to a content with fresh salts. keySecret is the tenant's, for kinds without a key of their own.
func newPending(who kinds.Poster, acc *kinds.Accepted, keySecret []byte) (pending, error) {
	content := acc.Content.Encode()
	if limit := acc.Kind.ContentLimit(); len(content) > limit {
		return pending{}, &kinds.Rejection{Code: "content-too-large", Detail: fmt.Sprintf("the canonical content of such an entry has at most %d MiB", limit>>20)}
	}
	submitted := content[:len(content)-len(acc.Content.Receiver)-len("}")] // what Content.Submitted returns, without its copy
	key := acc.Key
	if key == "" {
		key = derivedKey(keySecret, submitted)
	}
	meta := ledger.Meta{Actor: ledger.Actor{Role: string(who.Role), TokenID: who.TokenID}, Key: key, Kind: acc.Kind.Name, Tenant: who.Tenant}
	var salts [2]ledger.Salt
	for i := range salts {
		if _, err := rand.Read(salts[i][:]); err != nil {
			return pending{}, err
		}
	}
	return pending{
		prepared: ledger.Prepare(meta, content, salts[0], salts[1]), submitted: submitted,
		keyHash:  keyHash(meta.Tenant, meta.Kind, meta.Key),
		findings: acc.Findings, claims: acc.Claims, rows: acc.Rows, erases: acc.Erases,
	}, nil
}

func (p *pending) bytes() int { return p.prepared.Meta().Bytes }

// answer tells the caller what was decided. Of a unit the last answer wakes it.
func (p *pending) answer() {
	if p.twin != nil {
		p.result, p.err = p.twin.result, p.twin.err
		p.result.Replayed = true
	}
	p.unit.open--
	if p.unit.open == 0 {
		close(p.unit.done)
	}
}

// fail answers with an error.
func (p *pending) fail(err error) {
	p.result, p.err, p.twin = kinds.Recorded{}, err, nil
	p.answer()
}

// derivedKey makes the same submission find itself again. It is keyed, because a bare digest would outlive an erasure and
// let anybody test guesses of the erased content.
func derivedKey(secret, submitted []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write(submitted)
	return "hmac-sha256:" + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// keyHash is the primary key of ledger.keys: the first 16 bytes of SHA-256 over tenant, kind and key. None of them holds a
// NUL, so the parts can't run into each other.
func keyHash(tenant, kind, key string) [16]byte {
	sum := sha256.Sum256([]byte(tenant + "\x00" + kind + "\x00" + key))
	return [16]byte(sum[:16])
}
