//go:build linux && amd64 && !noengine

package engine

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Supported says whether this build can load the engine at all.
const Supported = true

// library is libchdb.so, loaded without cgo. github.com/chdb-io/chdb-go binds the same functions, but loads the library in
// an init function and panics without it, which no command of ours could survive.
type library struct {
	connect   func(argc int32, argv **byte) *uintptr
	closeConn func(conn *uintptr)
	query     func(conn uintptr, text string, size uint, format string, formatSize uint) uintptr
	destroy   func(result uintptr)
	buffer    func(result uintptr) *byte
	length    func(result uintptr) uint
	message   func(result uintptr) string
}

func loadLibrary(path string) (*library, error) {
	if _, err := os.Stat(path); err != nil { // dlopen would search elsewhere for a bare name
		return nil, fmt.Errorf("loading the engine: %w", err)
	}
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return nil, fmt.Errorf("loading the engine: %w", err)
	}
	l := &library{}
	for name, f := range map[string]any{
		"chdb_connect": &l.connect, "chdb_close_conn": &l.closeConn, "chdb_query_n": &l.query, "chdb_destroy_query_result": &l.destroy,
		"chdb_result_buffer": &l.buffer, "chdb_result_length": &l.length, "chdb_result_error": &l.message,
	} {
		symbol, err := purego.Dlsym(handle, name)
		if err != nil {
			return nil, fmt.Errorf("loading the engine: %w", err)
		}
		purego.RegisterFunc(f, symbol)
	}
	return l, nil
}

// session is one connection to the engine, with settings and parameters of its own. It serves one statement at a time.
type session struct {
	library  *library
	handle   *uintptr
	database string // that it uses
}

// open opens the engine on a data folder, or one more session to it.
func (l *library) open(dir string) (*session, error) {
	args := []*byte{cString("clickhouse"), cString("--path=" + dir)}
	handle := l.connect(int32(len(args)), &args[0])
	if handle == nil {
		return nil, errors.New("opening the engine: it gives no reason; another process may use the folder")
	}
	return &session{library: l, handle: handle, database: "default"}, nil
}

func cString(s string) *byte { return &append([]byte(s), 0)[0] }

func (s *session) close() { s.library.closeConn(s.handle) }

// run executes one statement and returns its result in Native, empty when it has none.
func (s *session) run(text string) ([]byte, error) {
	const format = "Native"
	result := s.library.query(*s.handle, text, uint(len(text)), format, uint(len(format)))
	if result == 0 {
		return nil, nil
	}
	defer s.library.destroy(result)
	if message := s.library.message(result); message != "" {
		return nil, errors.New(message)
	}
	buffer := s.library.buffer(result)
	if buffer == nil {
		return nil, nil
	}
	return append([]byte(nil), unsafe.Slice(buffer, s.library.length(result))...), nil
}
