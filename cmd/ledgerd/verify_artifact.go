package main

import (
	"encoding/json"
	"fmt"

	"github.com/alecthomas/kong"

	"ledgerd/internal/audit"
)

// verifyArtifactCmd judges artifacts of one kind, which is the command's name, as the API's stateless verifier does.
type verifyArtifactCmd struct {
	Files []string `arg:"" name:"file" help:"Files to verify; - is standard input."`
}

// maxArtifactFile bounds what is read of a file, in bytes. The reference bounds a line of its transport so.
const maxArtifactFile = 16 << 20

// artifactLine is what is printed for one file.
type artifactLine struct {
	File string `json:"file"`
	audit.ArtifactVerdict
}

// Run exits with 1 if one of the files is refused.
func (c *verifyArtifactCmd) Run(k *kong.Context, p *process) error {
	kind := k.Selected().Name
	out := json.NewEncoder(p.stdout)
	out.SetEscapeHTML(false)
	failed := false
	for _, name := range c.Files {
		raw, err := readInput(p.stdin, name, maxArtifactFile+1)
		if err != nil {
			return err
		}
		if len(raw) > maxArtifactFile {
			return fmt.Errorf("reading %s: it has more than %d bytes", name, maxArtifactFile)
		}
		verdict, known := audit.VerifyArtifact(kind, raw)
		if !known {
			return fmt.Errorf("there is no verifier for kind %s", kind)
		}
		if err := out.Encode(artifactLine{name, verdict}); err != nil {
			return err
		}
		failed = failed || !verdict.Accepted()
	}
	if failed {
		return exitError(1)
	}
	return nil
}
