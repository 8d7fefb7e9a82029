package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// MaxBundleEntry is the longest entry that an entry bundle can carry, in bytes: its length is a uint16.
const MaxBundleEntry = math.MaxUint16

// ErrBundle says that bytes are not an entry bundle, or that an entry does not fit into one.
var ErrBundle = errors.New("entry bundle is malformed")

// AppendBundleEntry adds an envelope to an entry bundle: a big-endian uint16 length, then the bytes (C2SP tlog-tiles "Log
// entries"). An envelope of more than MaxBundleEntry bytes is ErrBundle.
func AppendBundleEntry(bundle, envelope []byte) ([]byte, error) {
	if len(envelope) > MaxBundleEntry {
		return bundle, fmt.Errorf("%w: an entry has more than %d bytes", ErrBundle, MaxBundleEntry)
	}
	bundle = binary.BigEndian.AppendUint16(bundle, uint16(len(envelope)))
	return append(bundle, envelope...), nil
}

// ParseBundle splits an entry bundle into its envelopes, which alias it. A bundle has 1 to TileWidth entries.
func ParseBundle(bundle []byte) ([][]byte, error) {
	var entries [][]byte
	for len(bundle) > 0 && len(entries) < TileWidth {
		if len(bundle) < 2 {
			return nil, fmt.Errorf("%w: a length is cut off", ErrBundle)
		}
		end := 2 + int(binary.BigEndian.Uint16(bundle))
		if len(bundle) < end {
			return nil, fmt.Errorf("%w: an entry is cut off", ErrBundle)
		}
		entries = append(entries, bundle[2:end:end])
		bundle = bundle[end:]
	}
	if len(bundle) > 0 || len(entries) == 0 {
		return nil, fmt.Errorf("%w: it has 1 to %d entries", ErrBundle, TileWidth)
	}
	return entries, nil
}
