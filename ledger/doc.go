// Package ledger is the log's pure core: how an entry becomes bytes, how bytes become a leaf, how leaves become a tree, and
// how a tree becomes a signed checkpoint. It does no I/O and reads no clock.
//
// # From record to leaf
//
// Everything recorded is an entry. An entry has two parts that stay with the ledger and one that is public:
//
//	content   RFC 8785 of {"artifact":…,"context":{…},"receiver":{…}}
//	meta      RFC 8785 of {"actor":{"role","token_id"},"bytes":<length of content>,"key","kind","tenant"}
//	envelope  RFC 8785 of {"content":C,"meta":M,"origin":…,"recorded_at":…,"v":1}
//
// C and M are salted commitments in standard base64:
//
//	C = SHA-256("ledgerd/content/v1" 0x00 ‖ content_salt ‖ content)
//	M = SHA-256("ledgerd/meta/v1"    0x00 ‖ meta_salt    ‖ meta)
//
// with salts of 16 random bytes. The envelope is the leaf of the Merkle tree, so the whole log can be served to anybody: a
// leaf shows its time and nothing else, and destroying a content with its salt leaves a commitment that says nothing about
// it, while every proof still verifies.
//
// A worked example, the entry with seq 0 of the log "example.org/log":
//
//	content      {"artifact":{"n":1},"context":{},"receiver":{}}
//	content_salt 000102030405060708090a0b0c0d0e0f
//	meta         {"actor":{"role":"host","token_id":"t1"},"bytes":47,"key":"r-1","kind":"usage-report","tenant":"acme"}
//	meta_salt    101112131415161718191a1b1c1d1e1f
//	envelope     {"content":"PwWSY+I37mS7B2vyK++HJp7rf9HXI4UK+/E0hR34oUs=","meta":"gEQReOyWxotOW7elLbbkL9WBlBaU0TEWBz0+SOQukfU=","origin":"example.org/log","recorded_at":"2026-11-30T15:20:48.123456Z","v":1}
//	leaf hash    f50602e3214089812438a3a59fa665d5695913050818274339d378faa091f676
//
// where the leaf hash is SHA-256(0x00 ‖ envelope), RFC 9162 §2.1.1. A test holds these lines and the code equal.
//
// # Tree, tiles, checkpoint
//
// The tree is that of RFC 6962/9162. It is stored and served as C2SP tlog-tiles: tiles of 256 hashes, below the log's prefix
// at tile/<L>/<N>[.p/<W>], and the entries themselves at tile/entries/<N>[.p/<W>]. Full tiles are what the store keeps, each
// with its own root; partial tiles are derived. See ParseTilePath, AppendBundleEntry and Frontier.
//
// A checkpoint is a C2SP tlog-checkpoint: a signed note (golang.org/x/mod/sumdb/note) of the three lines origin, size,
// base64 root, whose key name is the origin. Of the forms that those specifications admit, extension lines, a second
// signature by one key and base64 with unused bits set are refused.
//
// # Proofs
//
// An inclusion proof is the hashes from the leaf's sibling up to the root's child (RFC 9162 §2.1.3.1), a consistency proof
// those of §2.1.4.1. Tree makes both from tiles, and proves every hash against the tree's root before it gives it away.
// CheckInclusion and CheckConsistency verify them; what they return is a type of its own (Inclusion, Consistency), as
// SignedCheckpoint is of OpenCheckpoint, so that what was verified can't be confused with what was merely read.
//
// A proof that travels alone is a C2SP tlog-proof:
//
//	c2sp.org/tlog-proof@v1
//	index 1
//	<base64 of a hash, one a line>
//
//	<checkpoint>
//
// ParseProof reads no other spelling of it than Proof.Format writes.
package ledger
