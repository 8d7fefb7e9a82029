package air

import "slices"

// The bundle profile ids. Profile v1.1 is additive: a v1 bundle means under it what it meant before.
const (
	ProfileV1  = "syngraphe.ai-interaction-receipt.profile-v1"
	ProfileV11 = "syngraphe.ai-interaction-receipt.profile-v1.1"
)

// WitnessMode names the primary proof of a receipt (seed §3.1).
type WitnessMode string

// The witness modes.
const (
	MPCTLS        WitnessMode = "mpc-tls"            // primary proof: notary_quorum
	ProxyTLS      WitnessMode = "proxy-tls"          // primary proof: notary_quorum
	TEE           WitnessMode = "tee-quote"          // primary proof: tee_quote
	ProviderSigns WitnessMode = "provider-signature" // primary proof: provider_signature
)

func (m WitnessMode) notarised() bool { return m == MPCTLS || m == ProxyTLS }

// known says whether the mode is in the closed vocabulary.
func (m WitnessMode) known() bool { return m.notarised() || m == TEE || m == ProviderSigns }

// TrustModel says who stands behind the notaries (seed §3.1). ModelNone discloses that nobody does.
type TrustModel string

// The notary trust models. ModelIssuerOperated exists from profile v1.1 on.
const (
	ModelCounterparty   TrustModel = "counterparty"
	ModelThreshold      TrustModel = "threshold"
	ModelTEE            TrustModel = "tee"
	ModelNone           TrustModel = "none"
	ModelIssuerOperated TrustModel = "issuer-operated"
)

func (t TrustModel) known(profile string) bool {
	switch t {
	case ModelCounterparty, ModelThreshold, ModelTEE, ModelNone:
		return true
	case ModelIssuerOperated:
		return profile == ProfileV11
	}
	return false
}

// fits is the last column of the table of seed §3.1.
func (t TrustModel) fits(m WitnessMode) bool {
	switch m {
	case TEE:
		return t == ModelTEE
	case ProviderSigns:
		return t == ModelNone
	}
	return t == ModelCounterparty || t == ModelThreshold || t == ModelIssuerOperated
}

// Role is what a verification key may sign.
type Role string

// The key roles.
const (
	RoleProvider    Role = "provider"
	RoleNotary      Role = "notary"
	RoleTEEVerifier Role = "tee-verifier"
	RoleLogOperator Role = "log-operator"
)

func isRole(s string) bool {
	switch Role(s) {
	case RoleProvider, RoleNotary, RoleTEEVerifier, RoleLogOperator:
		return true
	}
	return false
}

func isTerminatingParty(s string) bool {
	return s == "cloudflare" || s == "provider" || s == "google-fe"
}

func isQuoteFormat(s string) bool { return s == "aws-nitro" || s == "sev-snp" || s == "tdx-v4" }

const (
	algorithm       = "ed25519"
	appraisalPass   = "pass"
	lineageRelation = "response-derived-from"
	digestOnly      = "digest-only"
	undeclared      = "undeclared"
)

func isAlgorithm(s string) bool { return s == algorithm }

// provider is one row of the retention vocabulary (seed §4).
type provider struct {
	name     string
	host     string
	source   string
	zeroData string   // the class that contradicts every feature below (R105)
	classes  []string // without "undeclared", which every provider has
	features []string
}

func (p *provider) has(class string) bool {
	return class == undeclared || slices.Contains(p.classes, class)
}

// isClass says whether any provider has the class.
func isClass(s string) bool {
	return slices.ContainsFunc(providers[:], func(p provider) bool { return p.has(s) })
}

// lookupProvider returns the row of a known provider, nil for any other name. Nothing writes to a row.
func lookupProvider(name string) *provider {
	for i := range providers {
		if providers[i].name == name {
			return &providers[i]
		}
	}
	return nil
}

// providers is read-only. Sources retrieved 2026-09-04.
var providers = [...]provider{{
	name: "openai", host: "api.openai.com",
	source:   "https://developers.openai.com/api/docs/guides/your-data",
	zeroData: "openai-zero-data-retention",
	classes: []string{"openai-abuse-monitoring-30d", "openai-application-state-30d", "openai-modified-abuse-monitoring",
		"openai-zero-data-retention"},
	features: []string{"openai-conversations-state", "openai-file-storage", "openai-responses-store", "openai-video"},
}, {
	name: "anthropic", host: "api.anthropic.com",
	source:   "https://platform.claude.com/docs/en/manage-claude/api-and-data-retention",
	zeroData: "anthropic-zero-data-retention",
	classes:  []string{"anthropic-covered-model-30d", "anthropic-feature-specific", "anthropic-zero-data-retention"},
	features: []string{"anthropic-code-execution", "anthropic-covered-model-30d", "anthropic-managed-agents"},
}, {
	name: "google", host: "generativelanguage.googleapis.com",
	source:   "https://ai.google.dev/gemini-api/docs/zdr",
	zeroData: "google-approved-zero-data-retention",
	classes: []string{"google-approved-zero-data-retention", "google-feature-specific",
		"google-paid-service-limited-abuse-monitoring"},
	features: []string{"google-explicit-caching", "google-file-api-storage", "google-grounding-maps",
		"google-grounding-search", "google-interactions-store", "google-live-session-resumption"},
}}
