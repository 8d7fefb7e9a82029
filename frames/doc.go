// Package frames is frame identity, canonical order and composition, and the verification of held frames (context-reuse
// §1 and §4), with the protocol's timestamps and the findings that all of the protocol's artifacts share. It is pure: no
// I/O, no clock, no randomness, no globals that change.
//
// # Identity and order
//
// A frame's exact bytes are named by a FrameId:
//
//	{"provider_id":"wiki","frame_id":"a","content_digest":"sha256:6e73…"}
//
// content_digest is opaque and may be absent or null, which is another identity than "" and can't be verified
// (context-reuse D4). The canonical order compares provider_id, then frame_id, then content_digest, absent first, by
// UTF-8 bytes.
//
// # Composition
//
// Compose renders a set of frames so that an unchanged set gives unchanged bytes, whatever its scores, costs and
// arrival order (context-reuse D2, D3). A frame a of provider wiki, of kind doc, with citation label "a p. 1" and
// content "See <frame>." becomes
//
//	<frame provider="wiki" id="a" kind="doc" cite="a p. 1">
//	See <\frame>.
//	</frame>
//
// with a line feed at the end of the last line too, and blocks follow each other directly. In attributes & " < > become
// entities and each CR or LF a space; in content every <frame and </frame, in any case, gets a backslash, so content
// can't leave its fence. A blank citation label is replaced by the title.
//
// # Verification
//
// A host asks {"frames":[FrameId…]} and is answered
//
//	{"verdicts":[{"frame":{"provider_id":"wiki","frame_id":"a","content_digest":"sha256:6e73…"},"status":"stale",
//	              "replacement_digest":"sha256:4814…"}]}
//
// with a status of valid, stale, gone or unknown. Partition is what a host must do with it (context-reuse V2, V3): keep
// only what was explicitly called valid under its full identity. No frame body travels either way (context-reuse V4);
// documents with one are found.
//
// # Timestamps
//
// ParseInstant reads the protocol's profile of RFC 3339 (SPEC F4): 2031-03-04T05:06:07.25Z, upper case, no offset, second
// 60 allowed.
package frames
