package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// LibraryVersion is the pinned version of the engine's library, which scripts/deps fetches and checks.
const LibraryVersion = "26.5.3"

// ErrNoLibrary says that the engine can't run here. Its text is for a person.
var ErrNoLibrary = errors.New("no embedded ClickHouse engine")

// FindLibrary returns the path of the fetched library, or ErrNoLibrary with the reason.
func FindLibrary() (string, error) {
	if !Supported {
		return "", fmt.Errorf("%w: it needs Linux on amd64, and a build that includes it", ErrNoLibrary)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoLibrary, err)
	}
	path := filepath.Join(cache, "ledgerd", "chdb-"+LibraryVersion, "libchdb.so")
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%w: its library is not at %s; scripts/deps run fetches it", ErrNoLibrary, path)
	}
	return path, nil
}
