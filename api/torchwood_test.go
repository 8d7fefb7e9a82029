package api_test

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"

	"filippo.io/torchwood"
	"golang.org/x/mod/sumdb/tlog"

	"ledgerd/internal/kinds"
)

// A C2SP client, unchanged, reads our log over HTTP: the checkpoint under a policy of our key, every entry, one entry with
// a proof that it makes from our tiles, and the proof text that we make.
func TestTorchwoodReadsOurLog(t *testing.T) {
	t.Parallel()
	s := newService(t)
	const entries = 600 // two full tiles and a partial one
	s.fill(t, entries)
	fetch, err := torchwood.NewTileFetcher(s.url+"/log/", torchwood.WithHTTPClient(http.DefaultClient))
	if err != nil {
		t.Fatal(err)
	}
	policy := torchwood.ThresholdPolicy(2, torchwood.OriginPolicy(s.Keys.Signer.Name()), torchwood.SingleVerifierPolicy(s.Keys.Verifier))
	signed, err := fetch.ReadEndpoint(t.Context(), "checkpoint")
	if err != nil {
		t.Fatal(err)
	}
	checkpoint, _, err := torchwood.VerifyCheckpoint(signed, policy)
	if err != nil || checkpoint.N != entries {
		t.Fatalf("the checkpoint reads as %+v: %v", checkpoint, err)
	}
	client, err := torchwood.NewClient(fetch)
	if err != nil {
		t.Fatal(err)
	}
	var leaves [][]byte
	for i, entry := range client.AllEntries(t.Context(), checkpoint.Tree, 0) {
		if i != int64(len(leaves)) {
			t.Fatalf("entry %d comes as number %d", i, len(leaves))
		}
		leaves = append(leaves, bytes.Clone(entry))
	}
	if err := client.Err(); err != nil || len(leaves) != entries {
		t.Fatalf("%d of %d entries: %v", len(leaves), entries, err)
	}
	for _, index := range []int64{0, 255, 256, 511, 512, entries - 1} {
		entry, proof, err := client.Entry(t.Context(), checkpoint.Tree, index)
		if err != nil || !bytes.Equal(entry, leaves[index]) {
			t.Errorf("entry %d: %v", index, err)
			continue
		}
		leaf := tlog.RecordHash(entry)
		if err := torchwood.VerifyProof(policy, leaf, torchwood.FormatProof(index, proof, signed)); err != nil {
			t.Errorf("the proof of %d that the client makes: %v", index, err)
		}
		ours := s.proof(t, kinds.Auditor, fmt.Sprintf("/v1/entries/%d/proof", index))
		text := []byte(*ours.TlogProof)
		if err := torchwood.VerifyProof(policy, leaf, text); err != nil {
			t.Errorf("our proof of %d: %v", index, err)
		}
		if err := torchwood.VerifyProof(policy, tlog.RecordHash(append(entry, ' ')), text); err == nil {
			t.Errorf("our proof of %d proves another entry too", index)
		}
	}
}
