package main

import (
	"encoding/json"
	"errors"
	"io/fs"

	"ledgerd/assembly"
	"ledgerd/internal/audit"
)

// verifyAssemblyCmd re-verifies whole assembly records: profile, snapshot, plan and anchors stand in them.
type verifyAssemblyCmd struct {
	Files []string `arg:"" name:"file" help:"Assembly records to verify; - is standard input."`
}

// assemblyLine is what is printed for one record. The coverage says what the verdict does not prove, and goes with it. A
// file that is no record has a refusal and no verdict.
type assemblyLine struct {
	File string `json:"file"`
	*assembly.Report
	Derived *assembly.Outcome `json:"derived,omitempty"`
	Refused *refusedRecord    `json:"refused,omitempty"`
}

type refusedRecord struct {
	Code assembly.Code `json:"code"`
	Rule assembly.Rule `json:"rule"`
	At   []string      `json:"at"`
}

func (c *verifyAssemblyCmd) Run(p *process) error {
	out := json.NewEncoder(p.stdout)
	out.SetEscapeHTML(false)
	failed := false
	for _, name := range c.Files {
		src, err := readInput(p.stdin, name, assembly.MaxRecordBytes+1) // one byte more, so that too long reads as too long
		if err != nil {
			return err
		}
		line, err := verifyAssembly(name, src)
		if err != nil {
			return err
		}
		if err := out.Encode(line); err != nil {
			return err
		}
		failed = failed || line.Report == nil || line.Verdict != assembly.Verified
	}
	if failed {
		return exitError(1)
	}
	return nil
}

func verifyAssembly(name string, src []byte) (assemblyLine, error) {
	report, err := assembly.VerifyJSON(src)
	if refused := (*assembly.RecordError)(nil); errors.As(err, &refused) {
		return assemblyLine{File: name, Refused: &refusedRecord{refused.Code, refused.Rule(), refused.At}}, nil
	}
	if err != nil {
		return assemblyLine{}, err
	}
	line := assemblyLine{File: name, Report: &report}
	if derived, ok := report.Derived(); ok {
		line.Derived = &derived
	}
	return line, nil
}

// contextStrategy runs a corpus of which every kind is built.
func (c *verifyCasesCmd) contextStrategy(corpus fs.FS) ([]audit.CaseResult, error) {
	if len(c.SkipKind) > 0 {
		return nil, errors.New("skipping cases: every kind of a context-strategy corpus is built and can't be skipped")
	}
	return audit.RunContextStrategyCases(corpus)
}
