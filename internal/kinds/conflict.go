package kinds

import (
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ledgerd/internal/strictjson"
	"ledgerd/ledger"
)

// Conflict keeps a second content that was posted under a known id, or a second claim of a name, of a kind that
// KeepsConflicts: the poster is answered 409, and the attempt is evidence (C0-R115, C0-R215). Only the server appends it, as
// the poster that sent it. The key is the entry that stands in the way and a number up to MaxConflicts.
var Conflict = Kind{
	Name:          "conflict",
	Core:          "it names the refused submission and what stood in its way",
	MaxBytes:      maxAssemblyContent,
	MaxContent:    maxAssemblyContent,
	KeepsPersonal: true,
	Tables:        []*Table{&conflictRows},
	check:         checkConflict,
	project:       projectConflict,
	refers:        referencesOfConflict,
}

var conflictRows = Table{Name: "conflicts", Columns: []Column{{Name: "held_by"}, {Name: "ordinal"}, {Name: "of_kind"}, {Name: "of_key"}, {Name: "claim"}}}

// MaxConflicts is how many different contents are kept per entry that stands in the way. More say nothing new.
const MaxConflicts = 3

// ConflictArtifact is the refused submission and what it was refused for.
type ConflictArtifact struct {
	Kind     string         `json:"kind"`
	Key      string         `json:"key"`     // that it would have had
	Claim    string         `json:"claim"`   // the space that it conflicts in, "" for the key
	HeldBy   int64          `json:"held_by"` // the entry that stands in the way
	Ordinal  int            `json:"ordinal"` // 1 to MaxConflicts
	Artifact jsontext.Value `json:"artifact"`
	Context  jsontext.Value `json:"context"`
}

// NewConflict makes the n-th conflict entry of a submission that was refused.
func NewConflict(of *Accepted, held *ConflictError, n int) (*Accepted, error) {
	raw, err := json.Marshal(ConflictArtifact{
		Kind: of.Kind.Name, Key: of.Key, Claim: held.Space, HeldBy: held.Seq, Ordinal: n, Artifact: of.Content.Artifact, Context: of.Content.Context,
	})
	if err != nil {
		return nil, err
	}
	return Conflict.Accept(Submission{Artifact: raw}, Env{})
}

func checkConflict(s Submission, _ Env) (*Accepted, error) {
	p, err := readConflict(s)
	if err != nil {
		return nil, err
	}
	return plainContext(s, p)
}

func projectConflict(c ledger.Content) (Projection, error) { return readConflict(recorded(c)) }

func readConflict(s Submission) (Projection, error) {
	if err := noContext(s); err != nil {
		return Projection{}, err
	}
	var a ConflictArtifact
	d := strictjson.NewDecoder(s.Artifact, strictjson.Closed)
	d.Object(
		strictjson.Req("kind", func() { a.Kind = d.String() }),
		strictjson.Req("key", func() { a.Key = d.String() }),
		strictjson.Req("claim", func() { a.Claim = d.String() }),
		strictjson.Req("held_by", func() { a.HeldBy = int64(d.Uint64() & strictjson.MaxInteger) }),
		strictjson.Req("ordinal", func() { a.Ordinal = int(d.Uint32()) }),
		strictjson.Req("artifact", d.Skip),
		strictjson.Req("context", d.Skip),
	)
	if err := finish(d, s.ArtifactAt); err != nil {
		return Projection{}, err
	}
	b := bounds{}
	b.name(s.ArtifactAt+"/kind", a.Kind)
	b.id(s.ArtifactAt+"/key", a.Key)
	b.id(s.ArtifactAt+"/claim", a.Claim)
	key := strconv.FormatInt(a.HeldBy, 10) + "/" + strconv.Itoa(a.Ordinal)
	return Projection{Key: key, Rows: []Rows{{Table: &conflictRows, Values: [][]any{{a.HeldBy, int32(a.Ordinal), a.Kind, a.Key, a.Claim}}}}}, b.err
}
