package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"ledgerd/ledger"
)

// maxCheckpoint is the longest checkpoint that is read, in bytes: many cosignatures fit.
const maxCheckpoint = 64 << 10

// logSite reads what a log publishes as C2SP tlog-tiles.
type logSite struct {
	base   string // with a slash at the end
	client *http.Client
}

func newLogSite(service string, incarnation int, timeout time.Duration) (*logSite, error) {
	u, err := url.Parse(service)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || incarnation < 0 {
		return nil, errors.New("--url is an http or https URL with a host and no more than a path, --incarnation 0 or more")
	}
	return &logSite{base: strings.TrimRight(service, "/") + logPath(incarnation), client: &http.Client{Timeout: timeout}}, nil
}

// errGone says that the log does not publish a path.
var errGone = errors.New("it is not there")

// get reads a path below the log, of at most limit bytes.
func (s *logSite) get(ctx context.Context, path string, limit int64) ([]byte, http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+path, nil)
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("User-Agent", "ledgerd-monitor")
	res, err := s.client.Do(req)
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", path, err)
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusNotFound:
		return nil, nil, fmt.Errorf("reading %s: %w", path, errGone)
	case res.StatusCode != http.StatusOK:
		return nil, nil, fmt.Errorf("reading %s: the answer has status %d", path, res.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("reading %s: %w", path, err)
	case int64(len(body)) > limit:
		return nil, nil, fmt.Errorf("reading %s: it has more than %d bytes", path, limit)
	}
	return body, res.Header, nil
}

// checkpoint reads the newest checkpoint, unverified, and whether a later log took this one's place.
func (s *logSite) checkpoint(ctx context.Context) (text []byte, successor bool, err error) {
	text, header, err := s.get(ctx, "checkpoint", maxCheckpoint)
	return text, strings.Contains(header.Get("Link"), "successor-version"), err
}

// ReadTiles reads tiles, as ledger.TileReader says. A partial tile that is gone is cut from the full one, which a log may
// publish in its place (C2SP tlog-tiles "Partial Tiles").
func (s *logSite) ReadTiles(ctx context.Context, tiles []tlog.Tile) ([][]byte, error) {
	data := make([][]byte, len(tiles))
	for i, t := range tiles {
		want := t.W * tlog.HashSize
		raw, _, err := s.get(ctx, ledger.FormatTilePath(t), ledger.TileWidth*tlog.HashSize)
		if errors.Is(err, errGone) && t.W < ledger.TileWidth {
			t.W = ledger.TileWidth
			raw, _, err = s.get(ctx, ledger.FormatTilePath(t), ledger.TileWidth*tlog.HashSize)
			raw = raw[:min(want, len(raw))]
		}
		if err != nil {
			return nil, err
		}
		if len(raw) != want {
			return nil, fmt.Errorf("%w: %s has another length", ledger.ErrTree, ledger.FormatTilePath(t))
		}
		data[i] = raw
	}
	return data, nil
}

// grew proves that the newest tree continues the kept one, from published tiles. *logAlarm when it does not, or they don't
// prove.
func (s *logSite) grew(ctx context.Context, kept, newest ledger.SignedCheckpoint) error {
	before, now := kept.Checkpoint(), newest.Checkpoint()
	alarm := func(format string, args ...any) error {
		return &logAlarm{problem: fmt.Sprintf(format, args...), kept: kept.Note(), is: newest.Note()}
	}
	switch {
	case now.Size < before.Size:
		return alarm("%s shows %d entries and had %d: it was cut back, or an old answer is shown", now.Origin, now.Size, before.Size)
	case now.Size == before.Size && now.Root != before.Root:
		return alarm("FORK: %s signed two trees of %d entries", now.Origin, now.Size)
	}
	hashes, err := ledger.NewTree(now, s).Consistency(ctx, before.Size, now.Size)
	if errors.Is(err, ledger.ErrTree) {
		return alarm("the tiles that %s publishes do not give the root that it signed for %d entries", now.Origin, now.Size)
	}
	if err != nil {
		return err
	}
	if _, err := ledger.CheckConsistency(kept, newest, hashes); err != nil {
		return alarm("FORK: the tree of %d entries that %s signed does not continue the one of %d that it signed before", now.Size, now.Origin, before.Size)
	}
	return nil
}
