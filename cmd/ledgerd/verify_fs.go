package main

import (
	"io/fs"

	"ledgerd/internal/audit"
)

// renamed shows one file of a folder under the corpus's own name, so that a copy of it can be run under any.
type renamed struct {
	fs.FS
	name string
}

func (r renamed) Open(name string) (fs.File, error) {
	if name == audit.AIRVectors {
		name = r.name
	}
	return r.FS.Open(name)
}
