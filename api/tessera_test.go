package api_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	tlogapi "github.com/transparency-dev/tessera/api"
	"github.com/transparency-dev/tessera/client"
	"github.com/transparency-dev/tessera/fsck"
)

// leafHashes reads a C2SP entry bundle with another's code, and hashes what is in it.
func leafHashes(bundle []byte) ([][]byte, error) {
	var b tlogapi.EntryBundle
	if err := b.UnmarshalText(bundle); err != nil {
		return nil, err
	}
	hashes := make([][]byte, 0, len(b.Entries))
	for _, e := range b.Entries {
		hashes = append(hashes, rfc6962.DefaultHasher.HashLeaf(e))
	}
	return hashes, nil
}

// The field's own tools, unchanged, verify our log over HTTP: every entry, tile and the checkpoint, and any proof that
// they make from our tiles.
func TestTesseraVerifiesOurLog(t *testing.T) {
	t.Parallel()
	s := newService(t)
	const entries = 600 // two full tiles and a partial one
	s.fill(t, entries)
	root, err := url.Parse(s.url + "/log/")
	if err != nil {
		t.Fatal(err)
	}
	fetch, err := client.NewHTTPFetcher(root, http.DefaultClient)
	if err != nil {
		t.Fatal(err)
	}
	origin := s.Keys.Signer.Name()
	if err := fsck.New(origin, s.Keys.Verifier, fetch, leafHashes, fsck.Opts{N: 2}).Check(t.Context()); err != nil {
		t.Errorf("tessera's fsck: %v", err)
	}
	checkpoint, _, _, err := client.FetchCheckpoint(t.Context(), fetch.ReadCheckpoint, s.Keys.Verifier, origin)
	if err != nil || checkpoint.Size != entries {
		t.Fatalf("tessera's client reads the checkpoint as %+v: %v", checkpoint, err)
	}
	builder, err := client.NewProofBuilder(t.Context(), checkpoint.Size, fetch.ReadTile)
	if err != nil {
		t.Fatal(err)
	}
	leaves, err := client.FetchLeafHashes(t.Context(), fetch.ReadTile, 0, entries, entries)
	if err != nil {
		t.Fatal(err)
	}
	for _, index := range []uint64{0, 255, 256, 511, 512, entries - 1} {
		hashes, err := builder.InclusionProof(t.Context(), index)
		if err != nil {
			t.Fatal(err)
		}
		if err := proof.VerifyInclusion(rfc6962.DefaultHasher, index, checkpoint.Size, leaves[index], hashes, checkpoint.Hash); err != nil {
			t.Errorf("the proof of %d that tessera's client makes: %v", index, err)
		}
	}
}
