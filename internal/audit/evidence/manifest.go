package evidence

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"ledgerd/ledger"
)

// Format is the form's name and version.
const Format = "ledgerd-evidence/v1"

// Bounds of a file.
const (
	MaxMatched = 100_000 // entries that a question may match
	MaxEntries = 200_000 // entries in a file, those that others name included
	MaxContent = 2 << 30 // bytes of all contents together
	MaxMember  = 8 << 20 // bytes of one member

	memberGoal = 3 << 20   // bytes after which a member of entries is closed: less than MaxMember by more than any entry takes
	maxText    = 256 << 10 // bytes of all names and values of a question, or of statements
	maxLogs    = 1_000

	// maxAgain is how many entries are read again to decide disputes again. Each dispute may name all others, so that a file of
	// nothing else would be worked on for days.
	maxAgain = 10 * MaxEntries
)

// Names of members.
const (
	summaryName  = "summary.html"
	manifestName = "manifest.json"
	noteName     = "manifest.note"
)

func entriesName(i int) string    { return fmt.Sprintf("entries/%06d.ndjson", i) }
func checkpointName(n int) string { return "checkpoints/" + strconv.Itoa(n) + ".txt" }

// Manifest says what a file is of.
type Manifest struct {
	Format     string       `json:"format"` // Format
	Title      string       `json:"title"`
	Tenant     string       `json:"tenant"`     // whose entries these are
	Question   []Field      `json:"question"`   // what selected them
	Statements []Field      `json:"statements"` // what the server says beside: its word, not proven by the file
	TreeSize   int64        `json:"tree_size"`  // the question was asked of the entries below this seq
	AsOf       string       `json:"as_of"`      // time of the newest of these, by the server's clock
	Matched    int64        `json:"matched"`    // how many entries the question matched
	Entries    int64        `json:"entries"`    // how many are in the file, with those that others name
	Logs       []Log        `json:"logs"`       // of every incarnation, the newest last
	Since      *Consistency `json:"since"`      // how the newest log grew, null when it was not asked for
	Members    []Member     `json:"members"`    // in order, all before the manifest itself
}

// Field is one thing that is said, for people and programs.
type Field struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Log is one incarnation's log at the state that the proofs lead to.
type Log struct {
	Incarnation  int      `json:"incarnation"`
	Origin       string   `json:"origin"`
	Base         int64    `json:"base"`          // seq of its first leaf
	Size         int64    `json:"size"`          // leaves
	RootHash     string   `json:"root_hash"`     // standard base64
	VerifierKeys []string `json:"verifier_keys"` // as the server knows them; they vouch for nothing
}

// Consistency proves that the first From leaves of the newest log are the beginning of its tree (RFC 9162 §2.1.4.1).
type Consistency struct {
	From   int64  `json:"from"`
	Hashes string `json:"hashes"` // concatenated, standard base64
}

// Member is a member of the archive.
type Member struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // hexadecimal
}

// encode returns the manifest's bytes.
func (m Manifest) encode() ([]byte, error) {
	raw, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("writing the manifest: %w", err)
	}
	return ledger.CanonicalizeChecked(raw)
}

// parseManifest reads what encode wrote, and no other spelling, and holds it to its bounds.
func parseManifest(raw []byte) (Manifest, error) {
	var m Manifest
	if err := json.Unmarshal(raw, &m, json.RejectUnknownMembers(true)); err != nil {
		return m, errors.New("it is not the JSON that a manifest is")
	}
	if again, err := m.encode(); err != nil || !bytes.Equal(again, raw) {
		return m, errors.New("it is not in canonical form")
	}
	if m.Entries < m.Matched || m.Entries > MaxEntries {
		return m, errors.New("its counts are out of bounds")
	}
	return m, m.check()
}

// check holds a manifest to what any has: bounds, and numbers that fit together.
func (m Manifest) check() error {
	switch {
	case m.Format != Format:
		return errors.New("it is of another format or version than " + Format)
	case m.Matched < 0 || m.Matched > MaxMatched:
		return errors.New("its counts are out of bounds")
	case len(m.Logs) == 0 || len(m.Logs) > maxLogs:
		return errors.New("it has no log, or too many")
	case m.Since != nil && m.Since.From < 0:
		return errors.New("its consistency proof is out of bounds")
	}
	if err := checkFields(m.Question); err != nil {
		return fmt.Errorf("its question: %w", err)
	}
	if err := checkFields(m.Statements); err != nil {
		return fmt.Errorf("its statements: %w", err)
	}
	if err := checkFields([]Field{{"title", m.Title}, {"tenant", m.Tenant}}); err != nil {
		return err
	}
	return m.checkLogs()
}

// checkLogs demands that each log begins where the one before it ends, and that the tree size is the end of the last.
func (m Manifest) checkLogs() error {
	next := int64(0)
	for i, l := range m.Logs {
		if l.Incarnation != i || l.Base != next || l.Size < 0 || l.Size > 1<<53-next {
			return errors.New("its logs do not follow each other")
		}
		next += l.Size
	}
	if m.TreeSize != next {
		return errors.New("its tree size is not the end of its newest log")
	}
	return nil
}

func checkFields(fields []Field) error {
	total := 0
	for _, f := range fields {
		total += len(f.Name) + len(f.Value) + 16
		if !utf8.ValidString(f.Name) || !utf8.ValidString(f.Value) {
			return errors.New("a text is not UTF-8")
		}
	}
	if total > maxText {
		return errors.New("its texts are too long")
	}
	return nil
}

// newest is the log that the note is signed for.
func (m Manifest) newest() Log { return m.Logs[len(m.Logs)-1] }

// logOf finds the log that an entry is in; nil beyond the tree size.
func (m Manifest) logOf(seq int64) *Log {
	for i := len(m.Logs) - 1; i >= 0; i-- {
		if l := &m.Logs[i]; seq >= l.Base && seq < l.Base+l.Size {
			return l
		}
	}
	return nil
}

// noteText is what is signed.
func noteText(origin string, treeSize int64, manifest []byte) string {
	sum := sha256.Sum256(manifest)
	return strings.Join([]string{
		ledger.EvidenceName(origin), Format, strconv.FormatInt(treeSize, 10), base64.StdEncoding.EncodeToString(sum[:]), "",
	}, "\n")
}

// relationForm is what a relation looks like.
var relationForm = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)
