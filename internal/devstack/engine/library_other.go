//go:build !linux || !amd64 || noengine

package engine

import "errors"

// Supported says whether this build can load the engine at all.
const Supported = false

type library struct{}

type session struct{ database string }

var errUnsupported = errors.New("the embedded engine is not part of this build")

func loadLibrary(string) (*library, error) { return nil, errUnsupported }

func (*library) open(string) (*session, error) { return nil, errUnsupported }

func (*session) close() {}

func (*session) run(string) ([]byte, error) { return nil, errUnsupported }
