package kinds

import (
	"time"

	"github.com/go-json-experiment/json"

	"ledgerd/ledger"
)

// Dispute records that somebody doubted a charge or an egress, and how the ledger's own record of it held up: the entries of
// the whole chain by seq, the totals at each level, and what failed. It holds no copy of their contents. Only the server
// appends it, as the poster who raised it. The key is the dispute's id.
var Dispute = Kind{
	Name:          "dispute",
	Core:          "it names a question, entries recorded before it, totals, and a result that follows from what it found",
	ReadBy:        []Role{Billing},
	MaxBytes:      ledger.MaxContent,
	KeepsPersonal: true,
	Tables:        []*Table{&disputeRows},
	check:         checkDispute,
	project:       projectDispute,
	refers:        referencesOfDispute,
}

var disputeRows = Table{Name: "disputes", Columns: []Column{
	{Name: "dispute_id"}, {Name: "customer_id", Personal: true}, {Name: "from_at"}, {Name: "to_at"}, {Name: "billing_event"},
	{Name: "request_id", Personal: true}, {Name: "receipt_id", Personal: true}, {Name: "result"},
}}

// The results of a dispute.
const (
	DisputeExplained    = "explained"    // every billed token maps to a consistent, included and consented report
	DisputeUpheld       = "upheld"       // some arithmetic, inclusion, duplicate-billing or consent failure, which is named
	DisputeInconclusive = "inconclusive" // nothing failed, and something could not be checked
)

// MaxDisputeReports bounds the reports of one dispute, so that its entry stays below 1 MiB.
const MaxDisputeReports = 50_000

// DisputeQuestion is what is disputed: the usage of a customer in a period, half-open and of as_of, or one billing event, one
// request or one receipt.
type DisputeQuestion struct {
	CustomerID   string     `json:"customer_id,omitzero"`
	From         *time.Time `json:"from,omitzero"`
	To           *time.Time `json:"to,omitzero"`
	BillingEvent string     `json:"billing_event,omitzero" jsonschema:"the identifier under which the payment processor knows it"`
	RequestID    string     `json:"request_id,omitzero"`
	ReceiptID    string     `json:"receipt_id,omitzero"`
}

// DisputeArtifact is a dispute as it is recorded.
type DisputeArtifact struct {
	DisputeID   string              `json:"dispute_id"`
	Rules       string              `json:"rules" jsonschema:"version of the rules that decided"`
	Question    DisputeQuestion     `json:"question"`
	Reason      string              `json:"reason" jsonschema:"of whoever raised it"`
	Against     VerifiedTree        `json:"against" jsonschema:"everything was verified in this tree"`
	Result      string              `json:"result" jsonschema:"explained, upheld or inconclusive"`
	Failures    []DisputeFinding    `json:"failures" jsonschema:"what makes it upheld"`
	Open        []DisputeFinding    `json:"open" jsonschema:"what could not be checked, or is not billed"`
	Levels      []DisputeLevel      `json:"levels" jsonschema:"totals from the processor's event down to the receipts"`
	Differences []DisputeDifference `json:"differences" jsonschema:"neighbouring levels whose tokens differ"`
	Entries     DisputeEntries      `json:"entries"`
}

// DisputeFinding is a rule that entries break, or what can't be said of them.
type DisputeFinding struct {
	Rule  string  `json:"rule"`
	Times int64   `json:"times"`
	Seqs  []int64 `json:"seqs" jsonschema:"the first 64 entries that it concerns"`
	Text  string  `json:"text"`
}

// DisputeLevel is a total.
type DisputeLevel struct {
	Level   string `json:"level"`
	Entries int64  `json:"entries"`
	Tokens  string `json:"tokens" jsonschema:"a decimal"`
}

// DisputeDifference is by how much a level exceeds the one before.
type DisputeDifference struct {
	Level  string `json:"level"`
	Before string `json:"before"`
	Tokens string `json:"tokens" jsonschema:"of the level less those of the one before, a decimal"`
}

// DisputeEntries are the entries of the chain, each list in order of seq.
type DisputeEntries struct {
	Intents  []int64 `json:"intents"`
	Outcomes []int64 `json:"outcomes" jsonschema:"what the payment processor was recorded to have said"`
	Reports  []int64 `json:"reports" jsonschema:"the usage reports, and the corrections of them"`
	Consents []int64 `json:"consents" jsonschema:"the declarations and consents that decide, and the revocations that ever end these"`
	Receipts []int64 `json:"receipts" jsonschema:"receipt bundles of the same requests"`
	Configs  []int64 `json:"configs" jsonschema:"billing configurations: in force, and those that the intents were planned under"`
}

// All lists every entry that is named, in no particular order.
func (e DisputeEntries) All() []int64 {
	list := e.references()
	seqs := make([]int64, len(list))
	for i, r := range list {
		seqs[i] = r.Seq
	}
	return seqs
}

// references lists them by what they are to the dispute.
func (e DisputeEntries) references() []Reference {
	var list []Reference
	for _, of := range []struct {
		relation string
		seqs     []int64
	}{{"intent", e.Intents}, {"outcome", e.Outcomes}, {"report", e.Reports}, {"consent", e.Consents}, {"receipt", e.Receipts}, {"billing-config", e.Configs}} {
		for _, seq := range of.seqs {
			list = append(list, Reference{Relation: of.relation, Seq: seq})
		}
	}
	return list
}

func referencesOfDispute(c ledger.Content) ([]Reference, error) {
	a, err := readDispute(recorded(c))
	return a.Entries.references(), err
}

// FirstDisputeRules names the rules of disputes that do not say which decided them.
const FirstDisputeRules = "dispute.rules.v1"

// NewDispute makes an entry of a dispute.
func NewDispute(a DisputeArtifact) (*Accepted, error) {
	raw, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	return Dispute.Accept(Submission{Artifact: raw}, Env{})
}

func checkDispute(s Submission, _ Env) (*Accepted, error) {
	a, err := readDispute(s)
	if err != nil {
		return nil, err
	}
	content, err := canonical(s, withFindings(nil))
	if err != nil {
		return nil, err
	}
	p := disputeProjection(a)
	return &Accepted{Key: p.Key, Content: content, Rows: p.Rows}, nil
}

func projectDispute(c ledger.Content) (Projection, error) {
	a, err := readDispute(recorded(c))
	if err != nil {
		return Projection{}, err
	}
	return disputeProjection(a), nil
}

func disputeProjection(a DisputeArtifact) Projection {
	q := a.Question
	return Projection{Key: a.DisputeID, Rows: []Rows{{Table: &disputeRows, Values: [][]any{{
		a.DisputeID, textOrNull(q.CustomerID), q.From, q.To, textOrNull(q.BillingEvent), textOrNull(q.RequestID), textOrNull(q.ReceiptID), a.Result,
	}}}}}
}

func textOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// ReadDispute reads a recorded dispute from its entry. *ErasedError once its content is gone, ErrStored when it is none.
func ReadDispute(e ledger.Entry) (DisputeArtifact, error) {
	if e.Erased() {
		return DisputeArtifact{}, ErasedEntry(e)
	}
	c, err := ledger.ParseContent(e.Content)
	if err != nil {
		return DisputeArtifact{}, Unreadable(e.Seq, err)
	}
	a, err := readDispute(recorded(c))
	return a, Unreadable(e.Seq, err)
}
