package air

// OTS records an OpenTimestamps commitment that nobody checks here (seed §7.5).
type OTS struct {
	ReceiptDigest string `json:"receipt_digest"`
	CalendarURL   string `json:"calendar_url"`
	ProofDigest   string `json:"proof_digest"`
}

// KeyTransparency records a key-log commitment that nobody checks here (seed §7.6).
type KeyTransparency struct {
	ReceiptDigest        string `json:"receipt_digest"`
	KeyRef               string `json:"key_ref"`
	LogID                string `json:"log_id"`
	CheckpointDigest     string `json:"checkpoint_digest"`
	InclusionProofDigest string `json:"inclusion_proof_digest"`
}

// Lineage names a parent receipt that nobody looks up here (seed §7.7). Relation is "response-derived-from".
type Lineage struct {
	ReceiptDigest       string `json:"receipt_digest"`
	ParentReceiptDigest string `json:"parent_receipt_digest"`
	Relation            string `json:"relation"`
}

// DisclosureStance names a statement that nobody reads here (seed §7.8). Stance is "digest-only".
type DisclosureStance struct {
	ReceiptDigest   string `json:"receipt_digest"`
	Stance          string `json:"stance"`
	StatementDigest string `json:"statement_digest"`
}

// MultiOperatorInclusion records 2 to 16 inclusion commitments of distinct operators, unchecked (seed §7.9).
type MultiOperatorInclusion struct {
	ReceiptDigest string           `json:"receipt_digest"`
	Entries       []InclusionEntry `json:"entries"`
}

// InclusionEntry is one operator's commitment. LeafIndex is 0 to 65535.
type InclusionEntry struct {
	Operator             string `json:"operator"`
	LogID                string `json:"log_id"`
	LeafIndex            int    `json:"leaf_index"`
	CheckpointDigest     string `json:"checkpoint_digest"`
	InclusionProofDigest string `json:"inclusion_proof_digest"`
}
