// Package frames is frame identity, canonical order and composition, and the verification of held frames (context-reuse
// §1 and §4), with the protocol's timestamps and the findings that all of the protocol's artifacts share. It is pure: no
// I/O, no clock, no randomness, no globals.
package frames
