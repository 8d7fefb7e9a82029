package ledger

import (
	"errors"
	"fmt"
	"math"

	"filippo.io/torchwood"
)

// MaxBundleEntry is the longest entry that an entry bundle can carry, in bytes: its length is a uint16.
const MaxBundleEntry = math.MaxUint16

// ErrBundle says that bytes are not an entry bundle, or that an entry does not fit into one.
var ErrBundle = errors.New("entry bundle is malformed")

// AppendBundleEntry adds an envelope to an entry bundle: a big-endian uint16 length, then the bytes (C2SP tlog-tiles "Log
// entries"). An envelope of more than MaxBundleEntry bytes is ErrBundle.
func AppendBundleEntry(bundle, envelope []byte) ([]byte, error) {
	longer, err := torchwood.AppendTileEntry(bundle, envelope)
	if err != nil {
		return bundle, fmt.Errorf("%w: %w", ErrBundle, err)
	}
	return longer, nil
}

// ParseBundle splits an entry bundle into its envelopes, which alias it. A bundle has 1 to TileWidth entries.
func ParseBundle(bundle []byte) ([][]byte, error) {
	var entries [][]byte
	for len(bundle) > 0 && len(entries) < TileWidth {
		entry, rest, err := torchwood.ReadTileEntry(bundle)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrBundle, err)
		}
		entries = append(entries, entry[:len(entry):len(entry)])
		bundle = rest
	}
	if len(bundle) > 0 || len(entries) == 0 {
		return nil, fmt.Errorf("%w: it has 1 to %d entries", ErrBundle, TileWidth)
	}
	return entries, nil
}
