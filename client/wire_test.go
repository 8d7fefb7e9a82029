package client_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ledgerd/api"
	"ledgerd/client"
	"ledgerd/frames"
	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
)

// The client has types of its own, so that hosts depend on the cores only. Each must say what the API's type says: a
// document of one, with every member set, survives the other.
func TestTypesAgreeWithTheAPI(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ server, client any }{
		{api.RecordedBody{}, client.Recorded{}},
		{api.UsageReportBody{}, client.UsageReport{}},
		{api.EntryBody{}, client.Entry{}},
		{api.BundleBody{}, client.ReceiptBundle{}},
		{api.EgressBody{}, client.EgressAnswer{}},
		{api.UsageBody{}, client.UsageAnswer{}},
		{api.UsageLinesBody{}, client.UsageLines{}},
		{api.CompactionBody{}, client.Compaction{}},
		{api.RecoveryBody{}, client.Recovery{}},
		{api.ContextVerificationBody{}, client.ContextVerification{}},
		{api.ContextCheckBody{}, client.ContextCheck{}},
		{api.ContextCheckedBody{}, client.ContextChecked{}},
		{api.TurnBody{}, client.Turn{}},
		{kinds.ConflictArtifact{}, client.Conflict{}},
		{api.DisputeBody{}, client.WholeDispute{}},
		{api.ReverificationBody{}, client.Reverification{}},
		{audit.Report{}, client.VerificationReport{}},
		{kinds.TrustPolicyArtifact{}, client.TrustPolicy{}},
		{api.BillingConfigArtifact{}, client.BillingConfig{}},
		{kinds.CorrectionArtifact{}, client.Correction{}},
		{api.BillingWindowsBody{}, client.BillingWindows{}},
		{api.BillingPreviewBody{}, client.BillingPreview{}},
		{api.BillingUnmappedBody{}, client.BillingUnmapped{}},
		{api.BillingEventBody{}, client.BilledEvent{}},
		{api.NewTokenBody{}, client.NewToken{}},
		{api.TokenBody{}, client.Token{}},
		{api.Problem{}, client.Problem{}},
	} {
		server := reflect.New(reflect.TypeOf(c.server))
		fill(t, server.Elem())
		want, err := json.Marshal(server.Interface(), json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"leaf_hash": `"` + strings.Repeat("A", 43) + `="`, "envelope": `"AA=="`, "meta": `"AA=="`, "content_bytes": `"AA=="`,
			"meta_salt": `"AAAAAAAAAAAAAAAAAAAAAA=="`, "content_salt": `"AAAAAAAAAAAAAAAAAAAAAA=="`} {
			want = bytes.ReplaceAll(want, []byte(`"`+name+`":"text"`), []byte(`"`+name+`":`+value))
		}
		mirror := reflect.New(reflect.TypeOf(c.client))
		if err := json.Unmarshal(want, mirror.Interface(), json.RejectUnknownMembers(reflect.TypeOf(c.server) != reflect.TypeFor[api.Problem]())); err != nil {
			t.Errorf("%T does not read a %T: %v\n%s", c.client, c.server, err, want)
			continue
		}
		got, err := json.Marshal(mirror.Interface(), json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		if reflect.TypeOf(c.server) == reflect.TypeFor[api.Problem]() {
			want = bytes.Replace(want, []byte(`"type":"text",`), nil, 1) // says the same as code
		}
		if canonical(t, got) != canonical(t, want) {
			t.Errorf("%T differs from %T:\n%s\n%s", c.client, c.server, got, want)
		}
	}
}

func canonical(t *testing.T, raw []byte) string {
	t.Helper()
	v := jsontext.Value(raw)
	if err := v.Canonicalize(); err != nil {
		t.Fatal(err)
	}
	return string(v)
}

// fill sets every exported field to something that is not zero.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch at := v.Addr().Interface().(type) {
	case *time.Time:
		*at = time.Date(2026, 11, 30, 12, 0, 0, 1000, time.UTC)
		return
	case *frames.Digest:
		*at = frames.SomeDigest("sha256:d")
		return
	case *jsontext.Value:
		*at = jsontext.Value(`{"pins":[]}`)
		return
	case *map[audit.Result]int:
		*at = map[audit.Result]int{audit.Passed: 1}
		return
	case *map[audit.Verdict]int:
		*at = map[audit.Verdict]int{audit.Consented: 1}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(t, v.Field(i))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0))
	case reflect.Array:
		for i := range v.Len() {
			fill(t, v.Index(i))
		}
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(3)
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(3)
	default:
		t.Fatalf("no value for %s", v.Type())
	}
}
