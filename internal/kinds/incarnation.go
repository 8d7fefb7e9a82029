package kinds

import (
	"encoding/base64"
	"strconv"

	"github.com/go-json-experiment/json"
	"golang.org/x/mod/sumdb/tlog"

	"ledgerd/internal/strictjson"
	"ledgerd/ledger"
)

// Incarnation is the first entry of a log that was opened because the database was restored from an older backup: it
// commits to the last known checkpoint of the log before it, so that nobody can pretend the lost part never was. Only
// `ledgerd incarnation open` appends it, as the operator and for no tenant. The key is the incarnation's number.
var Incarnation = Kind{
	Name:     "incarnation",
	Core:     "it names the log before, its last known checkpoint and what the database held",
	ReadBy:   []Role{Operator},
	OfLog:    true,
	MaxBytes: 16 << 10,
	check:    checkIncarnation,
	project:  projectIncarnation,
}

// IncarnationArtifact says what went before, and why there is a new log.
type IncarnationArtifact struct {
	Incarnation int           `json:"incarnation"`
	Previous    PreviousLog   `json:"previous"`
	Reason      string        `json:"reason"`
	Restored    RestoredState `json:"restored"`
}

// PreviousLog is the newest signed state that is known of the log before.
type PreviousLog struct {
	Checkpoint string `json:"checkpoint"` // signed note
	Origin     string `json:"origin"`
	RootHash   string `json:"root_hash"` // standard base64
	Size       int64  `json:"size"`
}

// RestoredState is what the database holds of it.
type RestoredState struct {
	RootHash string `json:"root_hash"`
	Size     int64  `json:"size"`
}

// NewIncarnation makes the submission of an incarnation's first entry. previous is the newest known checkpoint of the log
// before, verified; restored is what the database holds of that log.
func NewIncarnation(n int, reason string, previous ledger.SignedCheckpoint, restored ledger.Head) (*Accepted, error) {
	c := previous.Checkpoint()
	raw, err := json.Marshal(IncarnationArtifact{
		Incarnation: n, Reason: reason,
		Previous: PreviousLog{Origin: c.Origin, Size: c.Size, RootHash: hash64(c.Root), Checkpoint: string(previous.Note())},
		Restored: RestoredState{Size: restored.Size, RootHash: hash64(restored.Root)},
	})
	if err != nil {
		return nil, err
	}
	return Incarnation.Accept(Submission{Artifact: raw}, Env{})
}

// ReadIncarnation reads what a recorded content says of the log before.
func ReadIncarnation(content []byte) (IncarnationArtifact, error) {
	c, err := ledger.ParseContent(content)
	if err != nil {
		return IncarnationArtifact{}, err
	}
	if _, err := incarnationKey(recorded(c)); err != nil {
		return IncarnationArtifact{}, err
	}
	var a IncarnationArtifact
	err = json.Unmarshal(c.Artifact, &a)
	return a, err
}

func hash64(h tlog.Hash) string { return base64.StdEncoding.EncodeToString(h[:]) }

func checkIncarnation(s Submission, _ Env) (*Accepted, error) {
	if err := noContext(s); err != nil {
		return nil, err
	}
	key, err := incarnationKey(s)
	if err != nil {
		return nil, err
	}
	content, err := canonical(s, withFindings(nil))
	if err != nil {
		return nil, err
	}
	return &Accepted{Key: key, Content: content}, nil
}

func projectIncarnation(c ledger.Content) (Projection, error) {
	key, err := incarnationKey(recorded(c))
	return Projection{Key: key}, err
}

// incarnationKey reads an incarnation's first entry, whole, and returns its key.
func incarnationKey(s Submission) (string, error) {
	var n uint32
	var reason string
	d := strictjson.NewDecoder(s.Artifact, strictjson.Closed)
	text := func() { _ = d.String() }
	d.Object(
		strictjson.Req("incarnation", func() { n = d.Uint32() }),
		strictjson.Req("reason", func() { reason = d.String() }),
		strictjson.Req("previous", func() {
			d.Object(strictjson.Req("checkpoint", text), strictjson.Req("origin", text), strictjson.Req("root_hash", text), strictjson.Req("size", func() { d.Uint64() }))
		}),
		strictjson.Req("restored", func() {
			d.Object(strictjson.Req("root_hash", text), strictjson.Req("size", func() { d.Uint64() }))
		}),
	)
	if err := finish(d, s.ArtifactAt); err != nil {
		return "", err
	}
	b := bounds{}
	b.name(s.ArtifactAt+"/reason", reason)
	return strconv.FormatUint(uint64(n), 10), b.err
}
