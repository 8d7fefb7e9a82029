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
//	envelope     {"content":"8Q4Y…","meta":"…","origin":"example.org/log","recorded_at":"2026-11-30T15:20:48.123456Z","v":1}
//	leaf hash    SHA-256(0x00 ‖ envelope)                                                       RFC 9162 §2.1.1
//
// (golden_test.go holds the complete bytes.)
//
// # Tree, tiles, checkpoint
//
// The tree is that of RFC 6962/9162. Full tiles of 256 hashes are what the store keeps, each with its own root; partial
// tiles are derived (C2SP tlog-tiles). A checkpoint is a C2SP tlog-checkpoint: a signed note (golang.org/x/mod/sumdb/note)
// of the three lines origin, size, base64 root, whose key name is the origin.
package ledger
