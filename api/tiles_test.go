package api_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/ledger"
)

// fill appends n entries in bulk, past the API.
func (s *service) fill(t *testing.T, n int) {
	t.Helper()
	var wg sync.WaitGroup
	for w := range 32 {
		wg.Go(func() {
			for i := w; i < n; i += 32 {
				if _, err := s.Appender.Append(t.Context(), ledgertest.Host, ledgertest.Consent(t, fmt.Sprintf("k%d", i), "p")); err != nil {
					t.Errorf("append %d: %v", i, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// stranger reads the log as somebody who knows its URL, C2SP tlog-tiles and its verifier key, and nothing of this code.
type stranger struct {
	t        *testing.T
	url      string
	verifier note.Verifier
	read     map[string]int // paths asked for
}

func (x *stranger) get(path string) []byte {
	x.t.Helper()
	req, err := http.NewRequestWithContext(x.t.Context(), http.MethodGet, x.url+"/log/"+path, nil)
	if err != nil {
		x.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		x.t.Fatal(err)
	}
	defer res.Body.Close()
	var body bytes.Buffer
	if _, err := body.ReadFrom(res.Body); err != nil || res.StatusCode != http.StatusOK {
		x.t.Fatalf("%s: %d, %v", path, res.StatusCode, err)
	}
	x.read[path]++
	return body.Bytes()
}

func (x *stranger) tree() tlog.Tree {
	x.t.Helper()
	n, err := note.Open(x.get("checkpoint"), note.VerifierList(x.verifier))
	if err != nil {
		x.t.Fatal(err)
	}
	var tree tlog.Tree
	var root string
	if _, err := fmt.Sscanf(n.Text, x.verifier.Name()+"\n%d\n%s\n", &tree.N, &root); err != nil {
		x.t.Fatalf("%q: %v", n.Text, err)
	}
	if tree.Hash, err = tlog.ParseHash(root); err != nil {
		x.t.Fatal(err)
	}
	return tree
}

// Height, ReadTiles and SaveTiles are what x/mod's own client of a tiled log needs. Its paths have the height in them and
// say data for entries.
func (x *stranger) Height() int { return 8 }

func (x *stranger) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	var data [][]byte
	for _, t := range tiles {
		data = append(data, x.get(strings.NewReplacer("tile/8/data/", "tile/entries/", "tile/8/", "tile/").Replace(t.Path())))
	}
	return data, nil
}

func (x *stranger) SaveTiles([]tlog.Tile, [][]byte) {}

func (s *service) stranger(t *testing.T) *stranger {
	t.Helper()
	return &stranger{t: t, url: s.url, verifier: s.Keys.Verifier, read: map[string]int{}}
}

// x/mod's client walks the whole log over HTTP: every entry of every bundle is where the signed tree has it, every proof
// that it makes itself from tiles is the one that the API answers, and earlier trees are the beginning of later ones.
func TestStrangerVerifiesTheLog(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.fill(t, 300)
	x := s.stranger(t)
	early := x.tree()
	s.fill(t, 700) // 400 more
	tree := x.tree()
	if early.N != 300 || tree.N != 700 {
		t.Fatalf("checkpoints of %d and %d", early.N, tree.N)
	}
	verified := tlog.TileHashReader(tree, x)
	for n := int64(0); n*256 < tree.N; n++ {
		bundle := tlog.Tile{H: 8, L: -1, N: n, W: int(min(256, tree.N-n*256))}
		data, err := x.ReadTiles([]tlog.Tile{bundle})
		if err != nil {
			t.Fatal(err)
		}
		for i := n * 256; len(data[0]) > 0; i++ {
			length := int(data[0][0])<<8 | int(data[0][1])
			entry := data[0][2 : 2+length]
			data[0] = data[0][2+length:]
			stored, err := verified.ReadHashes([]int64{tlog.StoredHashIndex(0, i)})
			if err != nil || stored[0] != tlog.RecordHash(entry) {
				t.Fatalf("entry %d is not the tree's: %v", i, err)
			}
		}
	}
	for _, seq := range []int64{0, 1, 255, 256, 511, 512, 698, 699} {
		want, err := tlog.ProveRecord(tree.N, seq, verified)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.proof(t, kinds.Auditor, fmt.Sprintf("/v1/entries/%d/proof", seq)); fmt.Sprint(got.Hashes) != fmt.Sprint(want) {
			t.Errorf("entry %d: the API's proof is another: %v", seq, got.Hashes)
		}
	}
	grown, err := tlog.ProveTree(tree.N, early.N, verified)
	if err != nil {
		t.Fatal(err)
	}
	if err := tlog.CheckTree(grown, tree.N, tree.Hash, early.N, early.Hash); err != nil {
		t.Error(err)
	}
	for path := range x.read {
		if strings.HasPrefix(path, "tile/") && !strings.HasPrefix(path, "tile/entries/") {
			if _, err := ledger.ParseTilePath(path); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}

func TestTileAnswers(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.fill(t, 300)
	for path, size := range map[string]int{
		"/log/tile/0/000": 8192, "/log/tile/0/000.p/17": 17 * 32, "/log/tile/0/001.p/44": 44 * 32, "/log/tile/1/000.p/1": 32, "/log/tile/entries/000": 0, "/log/tile/entries/001.p/44": 0, "/log/0/tile/1/000.p/1": 32,
	} {
		got := s.do(t, "GET", path, "", "", "Accept-Encoding", "identity")
		if got.status != 200 || got.header.Get("Content-Type") != "application/octet-stream" || got.header.Get("Cache-Control") != "public, max-age=31536000, immutable" {
			t.Errorf("%s: %d %v", path, got.status, got.header)
		}
		if length := got.header.Get("Content-Length"); size > 0 && length != fmt.Sprint(size) {
			t.Errorf("%s has %s bytes, want %d", path, length, size)
		}
		if head := s.do(t, "HEAD", path, "", "", "Accept-Encoding", "identity"); head.status != 200 || head.header.Get("Content-Length") != got.header.Get("Content-Length") {
			t.Errorf("HEAD %s: %d %v", path, head.status, head.header)
		}
	}
	for _, path := range []string{
		"/log/tile/", "/log/tile/0", "/log/tile/0/002", "/log/tile/0/001", "/log/tile/0/001.p/45", "/log/tile/1/000", "/log/tile/1/000.p/2", "/log/tile/2/000.p/1", "/log/tile/63/000",
		"/log/tile/64/000", "/log/tile/0/0", "/log/tile/0/x000/000", "/log/tile/00/000", "/log/tile/0/000.p/256", "/log/tile/0/000/", "/log/tile/0/%30%30%30", "/log/tile/data/000",
		"/log/tile/entries/", "/log/1/tile/0/000", "/log/00/tile/0/000", "/log/-1/checkpoint", "/log/1/checkpoint", "/log/x/checkpoint", "/log//checkpoint", "/log//tile/0/000", "/log//tile/entries/000",
		"/log/2147483647/checkpoint", "/log/2147483648/checkpoint", "/log/3000000000/tile/0/000", "/log/3000000000/tile/entries/000", "/log/99999999999999999999/checkpoint", "/log/%30/checkpoint", "/log/tile/entries/001", "/log/tile/entries/002.p/1", "/log/tile/entries/000.p/0", "/log/tile/entries/entries/000", "/log/tile/Entries/000",
	} {
		got := s.do(t, "GET", path, "", "")
		if p := got.problem(t); got.status != 404 || p.Code != "not-found" || got.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %s, %s", path, got.status, p.Code, got.header.Get("Cache-Control"))
		}
	}
}

// Bundles are compressed for who can read it, and are the same bytes for who can't.
func TestBundleCompression(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.fill(t, 256)
	plain := s.do(t, "GET", "/log/tile/entries/000", "", "", "Accept-Encoding", "identity")
	for accept, want := range map[string]bool{"gzip": true, "br, GZIP;q=0.5": true, "gzip;q=0": false, "gzip; q=0.0, br": false, "gzip;q=x": false, "br": false, "xgzip": false} {
		got := s.do(t, "GET", "/log/tile/entries/000", "", "", "Accept-Encoding", accept)
		if (got.header.Get("Content-Encoding") == "gzip") != want || got.header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: %v", accept, got.header)
		}
		if want && len(got.body) > len(plain.body)*2/3 {
			t.Errorf("%d bytes shrink to %d only", len(plain.body), len(got.body))
		}
	}
	if unpacked := s.do(t, "GET", "/log/tile/entries/000", "", ""); !bytes.Equal(unpacked.body, plain.body) {
		t.Error("the compressed bundle is another")
	}
}
