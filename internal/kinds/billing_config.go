package kinds

import (
	"strconv"
	"time"

	"ledgerd/internal/strictjson"
	"ledgerd/ledger"
	"ledgerd/metering/billing"
)

// BillingConfigKind is how a tenant's usage is billed: to whom, on which meter, in which windows, from when on. It is never
// edited; each revision is an entry. The key is the revision number. It names customers and is never erased, so a customer_id
// that is billed should be a number that names nobody.
var BillingConfigKind = Kind{
	Name:     "billing-config",
	Core:     "the configuration is well-formed, each customer once",
	PostedBy: []Role{Admin},
	ReadBy:   []Role{Admin, Billing},
	MaxBytes: 960 << 10,
	Alone:    true,
	check:    checkBillingConfig,
	project:  projectBillingConfig,
	shape:    func(d *strictjson.Decoder) { billing.DecodeConfig(d) },
}

// BillingConfig is a tenant's billing configuration as recorded: its entry and what it says.
type BillingConfig struct {
	Seq        int64
	Revision   int64
	RecordedAt time.Time
	Artifact   []byte // canonical
	Config     billing.Config
}

func checkBillingConfig(s Submission, env Env) (*Accepted, error) {
	if _, err := readBillingConfig(s); err != nil {
		return nil, err
	}
	content, err := canonical(s, withFindings(nil))
	if err != nil {
		return nil, err
	}
	key := nextRevision(0, nil, content.Artifact)
	if env.Billing != nil {
		key = nextRevision(env.Billing.Revision, env.Billing.Artifact, content.Artifact)
	}
	return &Accepted{Key: key, Content: content}, nil
}

// projectBillingConfig derives no key: a revision counts the entries before it.
func projectBillingConfig(c ledger.Content) (Projection, error) {
	_, err := readBillingConfig(recorded(c))
	return Projection{}, err
}

func readBillingConfig(s Submission) (billing.Config, error) {
	if err := noContext(s); err != nil {
		return billing.Config{}, err
	}
	d := strictjson.NewDecoder(s.Artifact, strictjson.Closed)
	c := billing.DecodeConfig(d)
	if err := finish(d, s.ArtifactAt); err != nil {
		return c, err
	}
	b := bounds{}
	for _, p := range c.Providers {
		b.id(s.ArtifactAt+"/providers", p)
	}
	for _, m := range c.Customers {
		b.name(s.ArtifactAt+"/customers", m.CustomerID)
	}
	return c, b.err
}

// ReadBillingConfig reads a recorded configuration from its entry. ErrStored when it is none.
func ReadBillingConfig(e ledger.Entry) (*BillingConfig, error) {
	b := &BillingConfig{Seq: e.Seq, RecordedAt: e.RecordedAt}
	c, err := ledger.ParseContent(e.Content)
	if err == nil {
		b.Artifact = c.Artifact
		b.Config, err = readBillingConfig(recorded(c))
	}
	if err == nil {
		b.Revision, err = strconv.ParseInt(e.Meta.Key, 10, 64)
	}
	if err != nil {
		return nil, Unreadable(e.Seq, err)
	}
	return b, nil
}
