package strictjson_test

import (
	"errors"
	"testing"

	"ledgerd/internal/strictjson"
)

func TestInt64(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]struct {
		n     int64
		rule  strictjson.Rule
		exact bool
	}{
		`0`: {n: 0, exact: true}, `-1`: {n: -1, exact: true}, `9007199254740991`: {n: 1<<53 - 1, exact: true}, `-9007199254740991`: {n: 1 - 1<<53, exact: true},
		`9007199254740992`: {n: 1 << 53}, `-9007199254740992`: {n: -1 << 53}, `-9223372036854775808`: {n: -1 << 63},
		`9223372036854775808`: {rule: strictjson.RuleRange, exact: true}, `-0`: {rule: strictjson.RuleInteger, exact: true},
		`1.0`: {rule: strictjson.RuleInteger, exact: true}, `1e2`: {rule: strictjson.RuleInteger, exact: true}, `-01`: {rule: strictjson.RuleInteger, exact: true},
		`"1"`: {rule: strictjson.RuleType, exact: true}, `null`: {rule: strictjson.RuleNull, exact: true}, `-`: {rule: strictjson.RuleSyntax, exact: true},
	} {
		d := strictjson.NewDecoder([]byte(src), strictjson.Closed)
		n := d.Int64()
		err := d.Finish()
		var e *strictjson.Error
		switch {
		case want.rule == "" && (err != nil || n != want.n || (d.NotRepresentable() == nil) != want.exact):
			t.Errorf("%s: %d, %v, %v", src, n, err, d.NotRepresentable())
		case want.rule != "" && (!errors.As(err, &e) || e.Rule != want.rule):
			t.Errorf("%s: %v, want %s", src, err, want.rule)
		}
	}
}
