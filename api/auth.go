package api

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"ledgerd/internal/kinds"
)

// tokenReader finds a stored token by the SHA-256 of the bearer token; kinds.ErrNotFound when there is none.
type tokenReader interface {
	TokenByHash(ctx context.Context, hash [32]byte) (kinds.Token, error)
}

// tokenFreshness is how long a found token is believed without asking again. A revocation through this process takes
// effect at once, one through another process after at most this long.
const tokenFreshness = time.Second

// maxCachedTokens bounds the memory that callers can make the cache use. Only tokens that exist are cached.
const maxCachedTokens = 10_000

// tokenCache spares a database round trip per request.
type tokenCache struct {
	mu      sync.Mutex
	known   map[[32]byte]cachedToken
	emptied int // how often; what was read before the last time is not cached, a revocation may have come after it
}

type cachedToken struct {
	token kinds.Token
	until time.Time
}

// get finds a token. emptied belongs to a put of what is read instead.
func (c *tokenCache) get(hash [32]byte, now time.Time) (t kinds.Token, ok bool, emptied int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.known[hash]
	return e.token, ok && now.Before(e.until), c.emptied
}

func (c *tokenCache) put(t kinds.Token, now time.Time, emptied int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if emptied != c.emptied {
		return
	}
	if len(c.known) >= maxCachedTokens {
		clear(c.known)
	}
	c.known[t.Hash] = cachedToken{t, now.Add(tokenFreshness)}
}

// empty forgets all tokens, those too that are being read at the moment. Revocations are rare.
func (c *tokenCache) empty() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.emptied++
	clear(c.known)
}

// errUnauthorized is the one answer to a missing, malformed, unknown, expired or revoked token: which of these it is helps
// only a stranger.
var errUnauthorized = &fault{code: "unauthorized", detail: "the token is missing, unknown, expired or revoked"}

// authenticate says who asks. The tenant and role come from the token and from nowhere else.
func (a *API) authenticate(r *http.Request) (kinds.Poster, error) {
	scheme, bearer, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || bearer == "" {
		return kinds.Poster{}, errUnauthorized
	}
	hash := HashToken(bearer)
	now := a.now()
	token, ok, emptied := a.tokens.get(hash, now)
	if !ok {
		var err error
		token, err = a.store.TokenByHash(r.Context(), hash)
		if errors.Is(err, kinds.ErrNotFound) {
			return kinds.Poster{}, errUnauthorized
		}
		if err != nil {
			return kinds.Poster{}, err
		}
		a.tokens.put(token, now, emptied)
	}
	if token.RevokedAt != nil || !now.Before(token.ExpiresAt) {
		return kinds.Poster{}, errUnauthorized
	}
	return kinds.Poster{Tenant: token.Tenant, Role: token.Role, TokenID: token.ID}, nil
}

// HashToken is what is stored of a bearer token: its SHA-256. A token is 256 random bits, so a slow hash would add nothing.
func HashToken(secret string) [32]byte { return sha256.Sum256([]byte(secret)) }
