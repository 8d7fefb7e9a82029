package ledger_test

import (
	"errors"
	"testing"

	"ledgerd/ledger"
)

func TestVerifyContent(t *testing.T) {
	t.Parallel()
	good := `{"artifact":{"a":1,"b":[1.5,"é"]},"context":{},"receiver":{"findings":[]}}`
	if c, err := ledger.VerifyContent([]byte(good)); err != nil || string(c.Receiver) != `{"findings":[]}` {
		t.Errorf("read as %+v, %v", c, err)
	}
	for name, text := range map[string]string{
		"order in a part":   `{"artifact":{"b":1,"a":1},"context":{},"receiver":{}}`,
		"space in a part":   `{"artifact":{"a": 1},"context":{},"receiver":{}}`,
		"number's spelling": `{"artifact":1.0,"context":{},"receiver":{}}`,
		"beyond 2^53-1":     `{"artifact":9007199254740992,"context":{},"receiver":{}}`,
		"escape":            `{"artifact":"\u0061","context":{},"receiver":{}}`,
	} {
		if _, err := ledger.ParseContent([]byte(text)); err != nil {
			t.Errorf("%s: is not even read: %v", name, err)
		}
		if _, err := ledger.VerifyContent([]byte(text)); !errors.Is(err, ledger.ErrContentForm) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
