package postgres

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"sync/atomic"

	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// pending is one submission on its way into the log.
type pending struct {
	accepted  *kinds.Accepted
	prepared  ledger.Prepared
	content   []byte
	submitted []byte // the part of content that the poster determined
	keyHash   [16]byte
	newClaims []kinds.Claim // of accepted.Claims those that this entry is the first to make
	tried     bool          // an attempt was sent whose outcome may be unknown
	state     atomic.Int32
	done      chan struct{} // closed once result or err is set
	result    kinds.Recorded
	err       error
}

const (
	waiting int32 = iota
	started
	abandoned
)

// start claims the request for a batch; false when its caller has gone.
func (p *pending) start() bool { return p.state.CompareAndSwap(waiting, started) }

// abandon gives the request up; false when a batch has it already, so that it may still be recorded.
func (p *pending) abandon() bool { return p.state.CompareAndSwap(waiting, abandoned) }

func (p *pending) answer(r kinds.Recorded, err error) {
	p.result, p.err = r, err
	close(p.done)
}

// newPending commits to a content with fresh salts. keySecret is the tenant's, for kinds without a key of their own.
func newPending(who kinds.Poster, acc *kinds.Accepted, keySecret []byte) (*pending, error) {
	content := acc.Content.Encode()
	if len(content) > ledger.MaxContent {
		return nil, &kinds.Rejection{Code: "content-too-large", Detail: "an entry's canonical content has at most 1 MiB"}
	}
	submitted := acc.Content.Submitted()
	key := acc.Key
	if key == "" {
		key = derivedKey(keySecret, submitted)
	}
	meta := ledger.Meta{Actor: ledger.Actor{Role: string(who.Role), TokenID: who.TokenID}, Key: key, Kind: acc.Kind.Name, Tenant: who.Tenant}
	var salts [2]ledger.Salt
	for i := range salts {
		if _, err := rand.Read(salts[i][:]); err != nil {
			return nil, err
		}
	}
	return &pending{
		accepted: acc, content: content, submitted: submitted,
		prepared: ledger.Prepare(meta, content, salts[0], salts[1]),
		keyHash:  keyHash(meta.Tenant, meta.Kind, meta.Key),
		done:     make(chan struct{}),
	}, nil
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
