package devstack

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDefaultDataDir(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	below := filepath.Join(home, ".local", "share", "ledgerd")
	for xdg, want := range map[string]string{"": below, "relative": below, "/data": "/data/ledgerd"} {
		t.Setenv("XDG_DATA_HOME", xdg)
		if os.Geteuid() == 0 {
			want = systemDataDir // whatever the environment says: it must be within the server's reach
		}
		if got, err := DefaultDataDir(); err != nil || got != want {
			t.Errorf("XDG_DATA_HOME=%q: %s, %v", xdg, got, err)
		}
	}
}

// The server's process shows the path without links, and so must we.
func TestFolderThroughALink(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	link := dir + "-link"
	check(t, os.Mkdir(dir, 0o711))
	check(t, os.Symlink(dir, link))
	if got := folderOf(t, link); got != folderOf(t, dir) {
		t.Errorf("folder %s", got)
	}
}

func TestDataFolderMustBeNamed(t *testing.T) {
	t.Parallel()
	if _, err := StartPostgres(t.Context(), PostgresOptions{}); err == nil {
		t.Error("started nowhere")
	}
}
