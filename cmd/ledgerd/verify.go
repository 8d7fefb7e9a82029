package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"ledgerd/internal/audit"
	"ledgerd/receipts/air"
)

// verifyCmd judges files, offline: no database, no network but for Log, which reads what a log publishes.
type verifyCmd struct {
	ReceiptBundle verifyBundleCmd `cmd:"" name:"receipt-bundle" help:"Verify AI Interaction Receipt bundles; one JSON object per file."`

	UsageReport         verifyArtifactCmd `cmd:"" name:"usage-report" help:"Verify usage reports; one JSON object per file."`
	ConsentReceipt      verifyArtifactCmd `cmd:"" name:"consent-receipt" help:"Verify consent receipts."`
	ConsentRevocation   verifyArtifactCmd `cmd:"" name:"consent-revocation" help:"Verify revocations of consent."`
	ConsentRecord       verifyArtifactCmd `cmd:"" name:"consent-record" help:"Verify older, boolean consents."`
	ProviderDeclaration verifyArtifactCmd `cmd:"" name:"provider-declaration" help:"Verify declarations of providers."`
	DataFlow            verifyArtifactCmd `cmd:"" name:"data-flow" help:"Verify what providers declare about where content goes."`
	FrameVerdict        verifyArtifactCmd `cmd:"" name:"frame-verdict" help:"Verify verdicts on frames."`
	FrameVerification   verifyArtifactCmd `cmd:"" name:"frame-verification" help:"Verify recorded verifications of held frames, their outcome included."`

	ContextAssembly verifyAssemblyCmd `cmd:"" name:"context-assembly" help:"Re-verify recorded context assemblies; one JSON object per file."`

	Evidence verifyEvidenceCmd `cmd:"" help:"Verify an evidence file with the log's key alone; a table for people, or --json."`
	Log      verifyLogCmd      `cmd:"" help:"Watch a log: show that it only grew since a checkpoint that you kept, and keep the new one."`

	Cases verifyCasesCmd `cmd:"" help:"Run a conformance corpus; a line per case and a closing count."`
}

type verifyBundleCmd struct {
	Policy string   `placeholder:"FILE" type:"existingfile" help:"The caller's verification policy {\"max_future_skew_seconds\",\"trusted_key_refs\",\"verified_at\",\"issuer_operator\"?}. Without it no bundle can be valid: the keys inside a bundle are no trust anchors."`
	Files  []string `arg:"" name:"file" help:"Bundles to verify; - is standard input."`
}

// bundleLine is what is printed for one bundle. The disclosures say what the verdict does not prove, and go with it.
type bundleLine struct {
	File          string           `json:"file"`
	Status        air.Status       `json:"status"`
	OK            bool             `json:"ok"`
	ReceiptDigest *string          `json:"receipt_digest"`
	Errors        []air.Finding    `json:"errors"`
	Indeterminate []air.Finding    `json:"indeterminate"`
	Evidence      air.Evidence     `json:"evidence"`
	Disclosures   []air.Disclosure `json:"disclosures"`
}

func (c *verifyBundleCmd) Run(p *process) error {
	var policy []byte
	if c.Policy != "" {
		var err error
		if policy, err = os.ReadFile(c.Policy); err != nil {
			return fmt.Errorf("reading the policy: %w", err)
		}
	}
	out := json.NewEncoder(p.stdout)
	out.SetEscapeHTML(false)
	failed := false
	for _, name := range c.Files {
		raw, err := readInput(p.stdin, name, air.MaxBundleBytes+1) // one byte more, so that too long reads as too long
		if err != nil {
			fmt.Fprintln(p.stderr, "ledgerd:", err) // and the other files are judged all the same
			failed = true
			if err := out.Encode(bundleLine{File: name, Status: "unreadable", Errors: []air.Finding{}, Indeterminate: []air.Finding{}, Disclosures: []air.Disclosure{}}); err != nil {
				return err
			}
			continue
		}
		r := air.VerifyJSON(raw, policy)
		line := bundleLine{File: name, Status: r.Status, OK: r.OK, Errors: r.Errors, Indeterminate: r.Indeterminate, Evidence: r.Evidence, Disclosures: r.Disclosures}
		if digest := r.ReceiptDigest(); digest != "" {
			line.ReceiptDigest = &digest
		}
		if err := out.Encode(line); err != nil {
			return err
		}
		failed = failed || !r.OK
	}
	if failed {
		return exitError(1)
	}
	return nil
}

// readInput reads a file, or standard input for -, up to a limit in bytes.
func readInput(stdin io.Reader, name string, limit int64) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(io.LimitReader(stdin, limit))
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

type verifyCasesCmd struct {
	SkipKind []string `placeholder:"KIND" help:"Leave out cases of a kind that is not built yet (repeatable). A kind that is built can't be left out."`
	Corpus   string   `arg:"" type:"path" help:"A folder with cases.json or vectors.json, or one of these files."`
}

func (c *verifyCasesCmd) Run(p *process) error {
	results, err := c.results()
	if err != nil {
		return err
	}
	passed, failed, skipped := 0, 0, 0
	for _, r := range results {
		verdict := "ok  "
		switch {
		case r.Skipped:
			skipped++
			verdict = "skip"
		case r.Pass:
			passed++
		default:
			failed++
			verdict = "FAIL"
		}
		fmt.Fprintf(p.stdout, "%s  %-18s %s: %s", verdict, r.Kind, r.Name, r.Got)
		if !r.Pass {
			fmt.Fprintf(p.stdout, ", want %s", r.Want)
		}
		if r.Detail != "" {
			fmt.Fprintf(p.stdout, " (%s)", r.Detail)
		}
		fmt.Fprintln(p.stdout)
	}
	fmt.Fprintf(p.stdout, "%d passed, %d failed", passed, failed)
	if skipped > 0 {
		fmt.Fprintf(p.stdout, ", %d skipped", skipped)
	}
	fmt.Fprintln(p.stdout)
	if failed > 0 {
		return exitError(1)
	}
	return nil
}

// results finds out which form the corpus has, and runs it.
func (c *verifyCasesCmd) results() ([]audit.CaseResult, error) {
	info, err := os.Stat(c.Corpus)
	if err != nil {
		return nil, err
	}
	dir, name := c.Corpus, ""
	if !info.IsDir() {
		dir, name = filepath.Split(c.Corpus)
	}
	corpus := os.DirFS(dir)
	has := func(file string) bool {
		_, err := os.Stat(filepath.Join(dir, file))
		return (name == "" || name == file) && err == nil
	}
	switch {
	case has(audit.ContextStrategyIndex) && audit.IsContextStrategyCorpus(corpus):
		return c.contextStrategy(corpus)
	case has(audit.ContextGraphIndex):
		return audit.RunContextGraphCases(corpus, audit.CaseOptions{SkipKinds: c.SkipKind})
	case has(audit.AIRVectors):
		return audit.RunAIRCases(corpus)
	case name != "":
		return audit.RunAIRCases(renamed{corpus, name})
	}
	return nil, errors.New("the folder has neither cases.json nor vectors.json")
}
