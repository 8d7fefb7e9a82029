package ledger_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"

	"ledgerd/ledger"
)

// Anybody who has an entry's parts can recompute its leaf.
func ExampleEntry_Check() {
	salt := func(s string) ledger.Salt {
		raw, err := hex.DecodeString(s)
		if err != nil {
			panic(err)
		}
		return ledger.Salt(raw)
	}
	content := []byte(`{"artifact":{"n":1},"context":{},"receiver":{}}`)
	meta := []byte(`{"actor":{"role":"host","token_id":"t1"},"bytes":47,"key":"r-1","kind":"usage-report","tenant":"acme"}`)
	envelope := []byte(`{"content":"PwWSY+I37mS7B2vyK++HJp7rf9HXI4UK+/E0hR34oUs=","meta":"gEQReOyWxotOW7elLbbkL9WBlBaU0TEWBz0+SOQukfU=",` +
		`"origin":"example.org/log","recorded_at":"2026-11-30T15:20:48.123456Z","v":1}`)
	parsed, err := ledger.ParseEnvelope(envelope)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("content:", parsed.Content == ledger.CommitContent(salt("000102030405060708090a0b0c0d0e0f"), content))
	fmt.Println("meta:", parsed.Meta == ledger.CommitMeta(salt("101112131415161718191a1b1c1d1e1f"), meta))
	fmt.Println("leaf:", ledger.LeafHash(envelope))
	// Output:
	// content: true
	// meta: true
	// leaf: 9QYC4yFAiYEkOKOln6Zl1WlZEwUIGCdDOdN4+qCR9nY=
}

// A proof is checked with the log's verifier key and nothing else that the log says.
func ExampleParseProof() {
	verifiers, err := ledger.ParseVerifierKeys("example.org/log", "example.org/log+5e2cef00+AepKbGPinFIKvvVQexMuxfmVR3auvr57kkIe6mkURtIs")
	if err != nil {
		fmt.Println(err)
		return
	}
	proof, err := ledger.ParseProof([]byte(`c2sp.org/tlog-proof@v1
index 0
y1o86GLD4yHz999tJpBUnpNqjjdxNarp89afaR9UfVs=
qze6NNHf4pAV3nF6bVdkqPsCnDp6D1tkuTtUNRiFv3w=

example.org/log
3
znduzrK7ouNA7iJ/ufpJFhgt3n9vkGazpPdgsmRYRoE=

— example.org/log XizvAKkKKDo6CQs6LDAiPReIDEBMomAEjaggV12D+78EbutXifctCy9rKjGnQF7HGsBC4ScSfNpMSwB9m3hYAczqGgQ=
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	leaf, err := base64.StdEncoding.DecodeString("9QYC4yFAiYEkOKOln6Zl1WlZEwUIGCdDOdN4+qCR9nY=")
	if err != nil {
		fmt.Println(err)
		return
	}
	included, err := proof.Check([32]byte(leaf), "example.org/log", verifiers...)
	fmt.Println(included.Valid(), included.Index(), included.Checkpoint().Checkpoint().Size, err)
	_, err = proof.Check([32]byte{}, "example.org/log", verifiers...)
	fmt.Println(err)
	// Output:
	// true 0 3 <nil>
	// proof does not verify: inclusion
}
