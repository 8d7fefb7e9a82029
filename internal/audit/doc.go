// Package audit re-verifies what was recorded or published, from bytes alone: the same answer for the API, the command
// line, the tests and whoever holds the evidence. It is pure: time and policy are parameters, files come as an fs.FS.
package audit
