package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"ledgerd/client"
	"ledgerd/internal/devstack"
	"ledgerd/internal/devstack/pgtest"
	"ledgerd/internal/kinds"
	"ledgerd/receipts"
)

// chaosRounds is how many crashes the chaos test goes through: few in `make test`, LEDGERD_CHAOS_ROUNDS in `make chaos`.
func chaosRounds(t *testing.T) int {
	t.Helper()
	text := os.Getenv("LEDGERD_CHAOS_ROUNDS")
	if text == "" {
		return 4
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("LEDGERD_CHAOS_ROUNDS is %q", text)
	}
	return n
}

// Crashes at random moments under load: the service is killed, or the database server is shut down at once and started
// again, round after round. Whatever was acknowledged is there under its seq, each post has one entry, and every
// checkpoint that was ever seen is consistent with the log at the end.
func TestChaos(t *testing.T) {
	t.Parallel()
	cluster := pgtest.NewCluster(t)
	s := newRealService(t, cluster.AdminURL("postgres"))
	s.start(t)
	defer func() { s.kill(t) }()
	c := newChaos(t, s)
	seed := uint64(os.Getpid())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // moments, not secrets
	for round := range chaosRounds(t) {
		c.during(t, random.IntN(200)+20, func() { crash(t, s, cluster, random.IntN(2) == 0) })
		t.Logf("round %d: %d acknowledged", round, c.acknowledged())
	}
	c.checkAcknowledged(t)
	c.checkLog(t)
}

// crash kills the service and starts it again, or does so with the database server.
func crash(t *testing.T, s *realService, cluster *devstack.Postgres, service bool) {
	t.Helper()
	if service {
		s.kill(t)
		s.start(t)
		return
	}
	if err := cluster.Kill(syscall.SIGQUIT); err != nil { // Postgres's immediate shutdown
		t.Error(err)
	}
	if err := cluster.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.waitReady(t)
}

// chaos posts and remembers what was promised.
type chaos struct {
	service *realService
	host    *client.Client
	next    atomic.Int64

	mu          sync.Mutex
	seqs        map[string]int64 // provider id of the consent → acknowledged seq
	checkpoints [][]byte
}

func newChaos(t *testing.T, s *realService) *chaos {
	t.Helper()
	host, err := client.New(s.URL, s.Tokens[kinds.Host], client.WithMaxAttempts(100))
	if err != nil {
		t.Fatal(err)
	}
	return &chaos{service: s, host: host, seqs: map[string]int64{}}
}

func (c *chaos) acknowledged() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.seqs)
}

// during posts from several clients, lets the crash happen once the given number was acknowledged, and returns when every
// post that was under way has its answer.
func (c *chaos) during(t *testing.T, after int, crash func()) {
	t.Helper()
	goal := c.acknowledged() + after
	reached := make(chan struct{})
	var once sync.Once
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for ctx.Err() == nil {
				c.post(t)
				if c.acknowledged() >= goal {
					once.Do(func() { close(reached) })
				}
			}
		})
	}
	<-reached
	crash()
	stop()
	wg.Wait()
	c.keepCheckpoint(t)
}

func (c *chaos) post(t *testing.T) {
	t.Helper()
	provider := fmt.Sprintf("p%d", c.next.Add(1))
	r, err := c.host.PostConsentReceipt(t.Context(), receipts.ConsentReceipt{
		ProviderID: provider, Scope: receipts.ThirdPartyModel, ProviderName: "N", ProviderVersion: "1",
		Grantor: receipts.Grantor{Kind: receipts.Human, ID: "maria"}, GrantedAt: "2026-01-10T08:00:00Z",
	}, "chaos/"+provider)
	if err != nil {
		t.Errorf("posting %s: %v", provider, err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seqs[provider] = r.Seq
}

// keepCheckpoint remembers the newest checkpoint, as an outside monitor would.
func (c *chaos) keepCheckpoint(t *testing.T) {
	t.Helper()
	i := &instance{connectionFile: c.service.connectionFile}
	status, note, err := i.do(t.Context(), "GET", "/log/checkpoint", kinds.Operator, "")
	if err != nil || status != 200 {
		t.Fatalf("reading the checkpoint: %d, %v", status, err)
	}
	c.checkpoints = append(c.checkpoints, note)
}

func (c *chaos) checkAcknowledged(t *testing.T) {
	t.Helper()
	i := &instance{connectionFile: c.service.connectionFile}
	for provider, seq := range c.seqs {
		status, body, err := i.do(t.Context(), "GET", fmt.Sprintf("/v1/entries/%d", seq), kinds.Auditor, "")
		var e struct {
			Key string `json:"key"`
		}
		if err != nil || status != 200 || json.Unmarshal(body, &e) != nil || e.Key != "chaos/"+provider {
			t.Errorf("%s was acknowledged as %d, which is now %d %s %v", provider, seq, status, body, err)
		}
	}
	if distinct := distinctValues(c.seqs); distinct != len(c.seqs) {
		t.Errorf("%d posts were acknowledged with %d seqs", len(c.seqs), distinct)
	}
}

func distinctValues(m map[string]int64) int {
	seen := map[int64]bool{}
	for _, v := range m {
		seen[v] = true
	}
	return len(seen)
}

// checkLog re-derives the whole log, and proves it a continuation of every checkpoint that was seen on the way.
func (c *chaos) checkLog(t *testing.T) {
	t.Helper()
	for n, note := range c.checkpoints {
		file := filepath.Join(t.TempDir(), strconv.Itoa(n))
		if err := os.WriteFile(file, note, 0o600); err != nil {
			t.Fatal(err)
		}
		code, stdout, stderr := command(t.Context(), "fsck", "--database-url", c.service.PostgresURL, "--log-key", c.service.LogKeys[0], "--since", file)
		if code != 0 {
			t.Fatalf("fsck since checkpoint %d: exit %d\n%s%s", n, code, stdout, stderr)
		}
	}
}
