package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"ledgerd/api"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
)

// A revocation that comes while the token is being read counts at once: what was read before it is not believed again.
func TestRevocationOvertakesARead(t *testing.T) {
	t.Parallel()
	s := newService(t)
	victim, _ := api.NewToken(ledgertest.Tenant, kinds.Auditor, "victim", time.Now(), time.Hour)
	secret := "ldg_victim"
	victim.Hash = api.HashToken(secret)
	if err := s.Store.CreateToken(t.Context(), victim); err != nil {
		t.Fatal(err)
	}
	slow := &slowTokens{Store: s.Store, hash: victim.Hash, reads: make(chan struct{}), goOn: make(chan struct{})}
	s.serve(t, slow)
	first := make(chan int)
	go func() { first <- s.do(t, "GET", "/v1/entries", secret, "").status }()
	<-slow.reads
	if got := s.as(t, kinds.Admin, "DELETE", "/v1/tokens/"+victim.ID, ""); got.status != http.StatusOK {
		t.Errorf("revoking: %d %s", got.status, got.body)
	}
	close(slow.goOn)
	if got := <-first; got != http.StatusOK {
		t.Errorf("a request that was there before: %d", got)
	}
	if got := s.do(t, "GET", "/v1/entries", secret, ""); got.status != http.StatusUnauthorized {
		t.Errorf("the revoked token still answers %d", got.status)
	}
}

// slowTokens is a store whose first answer about one token is on its way until goOn is closed.
type slowTokens struct {
	api.Store
	hash  [32]byte
	reads chan struct{} // told of that read
	goOn  chan struct{}
}

func (s *slowTokens) TokenByHash(ctx context.Context, hash [32]byte) (kinds.Token, error) {
	token, err := s.Store.TokenByHash(ctx, hash)
	if hash != s.hash {
		return token, err
	}
	select {
	case s.reads <- struct{}{}:
		<-s.goOn
	case <-s.goOn: // a later read
	}
	return token, err
}

// serve puts another API before the same ledger, one on the given store.
func (s *service) serve(t *testing.T, store api.Store) {
	t.Helper()
	s.api = newAPI(t, s.Ledger, store, nil)
	server := httptest.NewServer(s.api.Handler())
	t.Cleanup(server.Close)
	s.url = server.URL
}
