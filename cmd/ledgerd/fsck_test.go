package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/audit"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/ledger"
)

// fsckArgs are the arguments for a check of the ledger.
func fsckArgs(t *testing.T, l *ledgertest.Ledger, more ...string) []string {
	t.Helper()
	vkey, err := ledger.VerifierKey(l.SignerKey)
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{"fsck", "--database-url", l.ServiceURL, "--log-key", vkey}, more...)
}

func appendSamples(t *testing.T, l *ledgertest.Ledger) {
	t.Helper()
	for _, a := range ledgertest.SampleFirst(t) {
		if _, err := l.Appender.Append(t.Context(), ledgertest.Host, a); err != nil {
			t.Fatal(err)
		}
	}
	for i, k := range ledgertest.Harmless() {
		if _, err := l.Appender.Append(t.Context(), ledgertest.Host, ledgertest.Sample(t, k, i+1)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFsckExitStatus(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	appendSamples(t, l)
	code, stdout, stderr := command(t.Context(), fsckArgs(t, l, "--paranoid")...)
	if code != 0 || !strings.HasPrefix(stdout, "clean: "+l.Keys.Signer.Name()) || !strings.Contains(stdout, "freshness is not shown") {
		t.Errorf("a clean log: exit %d, %q", code, stdout)
	}
	for line := range strings.Lines(stderr) {
		if !strings.HasPrefix(line, "checked ") { // progress, on a slow machine
			t.Errorf("of a clean log it says %q", line)
		}
	}
	admin, err := pgx.Connect(t.Context(), l.AdminURL)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(t.Context())
	if _, err := admin.Exec(t.Context(), `ALTER TABLE ledger.contents DISABLE TRIGGER USER; UPDATE ledger.contents SET content_salt = decode(repeat('00', 16), 'hex') WHERE seq = 1`); err != nil {
		t.Fatal(err)
	}
	code, stdout, _ = command(t.Context(), fsckArgs(t, l)...)
	if code != 1 || !strings.HasPrefix(stdout, "entry 1: content: ") || !strings.Contains(stdout, "\n1 fault: ") {
		t.Errorf("a changed salt: exit %d, %q", code, stdout)
	}
	code, stdout, _ = command(t.Context(), fsckArgs(t, l, "--json")...)
	var f fsckFault
	var r fsckResult
	d := json.NewDecoder(strings.NewReader(stdout))
	if err := d.Decode(&f); err != nil || f.Type != "fault" || f.Seq == nil || *f.Seq != 1 || f.Code != audit.FaultContent {
		t.Errorf("as JSON: %+v, %v", f, err)
	}
	if err := d.Decode(&r); err != nil || code != 1 || r.Type != "result" || r.Faults != 1 || r.Entries != r.Size || r.Since != nil {
		t.Errorf("as JSON: exit %d, %+v, %v", code, r, err)
	}
}

func TestFsckSinceFile(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	appendSamples(t, l)
	head, err := l.Store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "checkpoint")
	write := func(text []byte) {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write([]byte(head.Checkpoint))
	code, stdout, stderr := command(t.Context(), fsckArgs(t, l, "--since", file)...)
	if code != 0 || !strings.Contains(stdout, fmt.Sprintf("checkpoint of size %d", head.Size)) {
		t.Errorf("its own: exit %d, %q, %q", code, stdout, stderr)
	}
	later, err := ledger.Checkpoint{Origin: head.Origin, Size: head.Size + 1, Root: head.Root}.Sign(l.Keys.Signer)
	if err != nil {
		t.Fatal(err)
	}
	write(later)
	if code, stdout, _ := command(t.Context(), fsckArgs(t, l, "--since", file)...); code != 1 || !strings.Contains(stdout, "truncated") {
		t.Errorf("a later one: exit %d, %q", code, stdout)
	}
	write(bytes.Replace(later, []byte("\n"+fmt.Sprint(head.Size+1)+"\n"), []byte("\n1\n"), 1))
	if code, stdout, stderr := command(t.Context(), fsckArgs(t, l, "--since", file)...); code != 2 || stdout != "" || !strings.Contains(stderr, "older checkpoint") {
		t.Errorf("a forged one: exit %d, %q, %q", code, stdout, stderr)
	}
}

func TestFsckFromDataDir(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	vkey, err := ledger.VerifierKey(l.SignerKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := writeConnection(dir, connectionFile{PostgresURL: l.ServiceURL, LogKeys: []string{vkey}}); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := command(t.Context(), "fsck", "--data-dir", dir); code != 0 || !strings.HasPrefix(stdout, "clean") {
		t.Errorf("exit %d, %q, %q", code, stdout, stderr)
	}
}

// After a drill both logs are checked, each with its own key: a missing one is said, and what was changed in the old log is
// found.
func TestFsckAfterADrill(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	appendSamples(t, l)
	head, err := l.Store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s := &realService{connectionFile: connectionFile{PostgresURL: l.ServiceURL}, key: filepath.Join(dir, "key"), checkpoint: filepath.Join(dir, keptName)}
	for path, text := range map[string]string{s.key: l.SignerKey, s.checkpoint: head.Checkpoint} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if code, _, stderr := command(t.Context(), s.openIncarnation("--force")...); code != 0 {
		t.Fatal(stderr)
	}
	keys, err := readKeys("", s.key)
	if err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := command(t.Context(), fsckArgs(t, l)...); code != 2 || stdout != "" || !strings.Contains(stderr, keys.Signer.Name()) {
		t.Errorf("without the new log's key: exit %d, %q, %q", code, stdout, stderr)
	}
	for name, since := range map[string]string{"the new log": s.checkpoint, "the old log": s.checkpoint + ".0"} {
		code, stdout, stderr := command(t.Context(), fsckArgs(t, l, "--log-key", keys.VerifierKey, "--since", since)...)
		if code != 0 || !strings.Contains(stdout, "the earlier log "+head.Origin) || !strings.Contains(stdout, "held against") {
			t.Errorf("since a checkpoint of %s: exit %d, %q, %q", name, code, stdout, stderr)
		}
	}
	if err := writeConnection(dir, connectionFile{PostgresURL: l.ServiceURL, LogKeys: fsckArgs(t, l)[4:]}); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := command(t.Context(), "fsck", "--data-dir", dir, "--log-key", keys.VerifierKey); code != 0 {
		t.Errorf("with a data folder: exit %d, %q, %q", code, stdout, stderr)
	}
	admin, err := pgx.Connect(t.Context(), l.AdminURL)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(t.Context())
	if _, err := admin.Exec(t.Context(), `ALTER TABLE ledger.contents DISABLE TRIGGER USER; UPDATE ledger.contents SET content = set_byte(content, 9, get_byte(content, 9) # 1) WHERE seq = 1`); err != nil {
		t.Fatal(err)
	}
	code, stdout, _ := command(t.Context(), fsckArgs(t, l, "--log-key", keys.VerifierKey)...)
	if code != 1 || !strings.HasPrefix(stdout, "entry 1: content: ") {
		t.Errorf("a byte of the old log was flipped: exit %d, %q", code, stdout)
	}
}

func TestFsckCouldNotRun(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"nothing given":  {[]string{"fsck"}, "--log-key"},
		"no key":         {[]string{"fsck", "--database-url", l.ServiceURL}, "--log-key"},
		"malformed key":  {[]string{"fsck", "--database-url", l.ServiceURL, "--log-key", "x"}, "verifier key"},
		"same key twice": {append(fsckArgs(t, l), fsckArgs(t, l)[3:]...), "twice"},
		"a superuser":    {append(fsckArgs(t, l), "--database-url", l.AdminURL), "service role"},
		"no server":      {append(fsckArgs(t, l), "--database-url", "postgres://ledger_svc@127.0.0.1:1/ledger"), "could not be completed"},
		"no such file":   {fsckArgs(t, l, "--since", filepath.Join(t.TempDir(), "none")), "none"},
		"no data folder": {[]string{"fsck", "--data-dir", t.TempDir()}, connectionName},
	} {
		if code, stdout, stderr := command(t.Context(), c.args...); code != 2 || stdout != "" || !strings.Contains(stderr, c.says) {
			t.Errorf("%s: exit %d, %q, %q", name, code, stdout, stderr)
		}
	}
}

// A check of seconds says nothing on the way; a longer one says where it is, at most every other second. Faults are listed
// up to a bound and all counted.
func TestFsckOutput(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	now := time.Unix(0, 0)
	o := newFsckOutput(&process{stdout: &out, stderr: &errs}, false, func() time.Time { return now })
	o.progress(10, 400)
	now = now.Add(2 * time.Second)
	o.progress(100, 400)
	o.progress(110, 400)
	now = now.Add(3 * time.Second)
	o.progress(200, 400)
	if got, want := errs.String(), "checked 100 of 400 entries (25 %), 50/s, 0 faults\nchecked 200 of 400 entries (50 %), 40/s, 0 faults\n"; got != want {
		t.Errorf("progress %q, want %q", got, want)
	}
	for range fsckListed + 5 {
		o.fault(audit.Fault{Seq: audit.NoSeq, Code: audit.FaultRoot, Detail: "x"})
	}
	r, err := o.finish([]ledger.Head{{Origin: "before", Size: 7}, {Origin: "o", Size: 400, Base: 7}}, nil, false)
	if err != nil || r.Faults != fsckListed+5 || r.Unlisted != 5 || r.Entries != 200 {
		t.Errorf("%+v, %v", r, err)
	}
	text := out.String()
	if strings.Count(text, "the log: root: x\n") != fsckListed || !strings.Contains(text, "1005 faults, of which 1000 are listed") || !strings.Contains(text, "the earlier log before, size 7, from entry 0 on") {
		t.Errorf("printed %d bytes, ending %q", len(text), text[len(text)-300:])
	}
}
