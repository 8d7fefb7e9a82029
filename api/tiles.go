package api

import (
	"bytes"
	"compress/gzip"
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"
	"golang.org/x/mod/sumdb/tlog"

	"ledgerd/ledger"
)

// tileReader reads the log as C2SP tlog-tiles: a tile's hashes, or the entries of one of level ledger.EntriesLevel.
// kinds.ErrNotFound when the log does not have them (yet).
type tileReader interface {
	Tile(ctx context.Context, incarnation int, t tlog.Tile) ([]byte, error)
	EntryBundle(ctx context.Context, incarnation int, t tlog.Tile) ([]byte, error)
}

const (
	bytesType = "application/octet-stream"
	// forGood lets caches keep what never changes; a partial tile doesn't either, its width is part of its path.
	forGood = "public, max-age=31536000, immutable"
)

func (a *API) tileRoutes() []*Route {
	tile := Route{
		Method: "GET", Path: "/log/tile/*", Name: "getTile", Summary: "A tile of the Merkle tree, /log/tile/<L>/<N>[.p/<W>]",
		Doc: "C2SP tlog-tiles: W hashes of 32 bytes, 256 without .p/<W>, of level 8·L. N is in groups of three digits, x001/234. " +
			"A tile of any width that the tree has is served, and never changes.",
		Public: true, Replies: []Reply{{Status: 200, Doc: "The hashes.", Body: "", Type: bytesType}}, Problems: []string{"not-found"}, handle: a.getTile,
	}
	bundle := Route{
		Method: "GET", Path: "/log/tile/entries/*", Name: "getEntryBundle", Summary: "A bundle of entries, /log/tile/entries/<N>[.p/<W>]",
		Doc: "C2SP tlog-tiles: W entries, 256 without .p/<W>, each after its length as a big-endian 16-bit integer. An entry is an envelope: " +
			"its time, and salted commitments to what it records. Compressed for who accepts gzip.",
		Public: true, Replies: []Reply{{Status: 200, Doc: "The entries.", Body: "", Type: bytesType}}, Problems: []string{"not-found"}, handle: a.getEntryBundle,
	}
	return []*Route{&tile, ofIncarnation(tile), &bundle, ofIncarnation(bundle)}
}

func (a *API) getTile(c *call) (reply, error) {
	t, err := tileOf(c, "tile/")
	if err != nil {
		return reply{}, err
	}
	n, err := incarnationOf(c)
	if err != nil {
		return reply{}, err
	}
	hashes, err := a.store.Tile(c.ctx(), n, t)
	return reply{status: 200, raw: hashes, header: map[string]string{"Content-Type": bytesType, "Cache-Control": forGood}}, err
}

func (a *API) getEntryBundle(c *call) (reply, error) {
	t, err := tileOf(c, "tile/entries/")
	if err != nil {
		return reply{}, err
	}
	n, err := incarnationOf(c)
	if err != nil {
		return reply{}, err
	}
	bundle, err := a.store.EntryBundle(c.ctx(), n, t)
	if err != nil {
		return reply{}, err
	}
	answer := reply{status: 200, raw: bundle, header: map[string]string{"Content-Type": bytesType, "Cache-Control": forGood, "Vary": "Accept-Encoding"}}
	if acceptsGzip(c.http.Header) { // hashes don't shrink, envelopes do
		answer.header["Content-Encoding"] = "gzip"
		answer.raw, err = gzipped(bundle)
	}
	return answer, err
}

// tileOf reads the path of a tile, of which the route has matched the beginning. A path in another spelling names nothing.
func tileOf(c *call, begin string) (tlog.Tile, error) {
	t, err := ledger.ParseTilePath(begin + chi.URLParam(c.http, "*"))
	if err != nil {
		return t, &fault{code: "not-found", detail: "a tile's path is tile/<level>/<index> or tile/entries/<index>, with .p/<width> for a partial one; see C2SP tlog-tiles"}
	}
	return t, nil
}

// acceptsGzip reads Accept-Encoding (RFC 9110 §12.5.3) as far as it matters here: gzip is named, and not with weight 0.
func acceptsGzip(h http.Header) bool {
	for part := range strings.SplitSeq(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		coding, params, _ := strings.Cut(part, ";")
		if !strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			continue
		}
		_, q, weighted := strings.Cut(params, "=")
		weight, err := strconv.ParseFloat(strings.TrimSpace(q), 64)
		return !weighted || (err == nil && weight > 0)
	}
	return false
}

func gzipped(b []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(b); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}
