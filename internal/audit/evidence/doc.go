// Package evidence is the form of evidence files: entries of a ledger with everything that lets a stranger check them again,
// offline, who has no more than the log's verifier key. It writes and verifies them, and is pure: it reads no clock and no
// file, and is given the bytes by an io.ReaderAt.
//
// # The archive
//
// An evidence file is a zip archive that any unzip program opens, in one strict spelling. Its members are stored without
// compression, in this order and without others:
//
//	entries/000000.ndjson …  the entries, from 000000 on, one per line, in order of seq, at most MaxMember bytes each
//	checkpoints/0.txt …      the signed checkpoint of each incarnation's log, a signed note as the log signed it
//	summary.html             for people, printable: no script, nothing remote, made from the rest and nothing else
//	manifest.json            what the file is of, and every member before it with its length and SHA-256
//	manifest.note            the signed note over the manifest
//
// Local headers, central directory and end record are those that the writer writes: version 2.0, no flags, dates of
// 1980-01-01, no extra fields, no comments, no gap, nothing before or behind. So there is one archive for one set of
// members, a changed byte anywhere is noticed, and nothing unpacks to more than the file's own size. An archive has fewer
// than 65,535 members and 4 GiB, as zip without its 64-bit extension.
//
// # An entry's line
//
//	{"seq":N,"matched":T,"relation":R,"erased_by":N,"proof":B,"meta_salt":B,"content_salt":B,"meta":M,"envelope":E,"content":C}
//
// in this order and without white space; B is standard base64. M, E and C are the entry's bytes themselves, which are
// canonical JSON: see package ledger for how they make the leaf. proof is the hashes of the inclusion proof (RFC 9162
// §2.1.3.1), concatenated, of the leaf at N less the log's base in the tree of the log's checkpoint. An erased entry has
// erased_by, the seq of the erasure, and no content_salt and content; any other has these and no erased_by. matched
// is true of an entry that the question selects, and false of one that is there because another names it. relation says what
// it is to the question, or what the entry that names it calls it (kinds.Reference), such as "trust-policy" or "erasure".
//
// # The manifest
//
// RFC 8785 JSON: see Manifest. Its note (golang.org/x/mod/sumdb/note) is signed with the key of the newest log under the name
// "<origin>/evidence" (ledger.EvidenceSigner), and has four lines:
//
//	<origin>/evidence
//	ledgerd-evidence/v1
//	<tree size: entries below this seq were covered>
//	<standard base64 of the SHA-256 of manifest.json>
//
// # What it proves
//
// See Report. Entries are proven: what was recorded, when, and that it is in the log that its key signs for. That the file
// has all that the question matches is what the server signed, no more.
//
// The same ledger, question and tree size give the same file, byte for byte. A later version of the form has another name
// than v1; within v1 nothing changes, the summary's text included.
package evidence
