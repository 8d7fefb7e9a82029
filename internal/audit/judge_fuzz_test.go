package audit

import (
	"io/fs"
	"os"
	"testing"
)

// FuzzJudge gives every judge any bytes: it may refuse them, and must come back.
func FuzzJudge(f *testing.F) {
	kinds := []string{"usage-report", "consent-receipt", "receipt-liveness", "data-flow", "consent-gate", "frame-order", "compose",
		"frame-verdict", "verify-partition"}
	own := os.DirFS(ownContextGraph)
	names, err := fs.Glob(own, "*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		src, err := fs.ReadFile(own, name)
		if err != nil {
			f.Fatal(err)
		}
		for i := range kinds {
			f.Add(uint8(i), src)
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, src []byte) {
		judge := judgeOf(kinds[int(kind)%len(kinds)])
		if got := judge(src); got.verdict() == accept && got.why != "" {
			t.Errorf("accepted, because %s", got.why)
		}
	})
}
