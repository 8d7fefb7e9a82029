package audit_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

const (
	origin  = "test.example/log"
	consent = `{"artifact":{"granted_at":"2026-01-10T08:00:00Z","grantor":{"id":"maria","kind":"human"},"provider_id":"p","provider_name":"P",` +
		`"provider_version":"1","scope":"third-party-model"},"context":{},"receiver":{"findings":[]}}`
)

// stored seals a content as an entry of the kind, whether it would have been accepted or not.
func stored(kind, key, content string) audit.StoredEntry {
	m := ledger.Meta{Actor: ledger.Actor{Role: "host", TokenID: "tok"}, Key: key, Kind: kind, Tenant: "acme"}
	e := ledger.Prepare(m, []byte(content), ledger.Salt{1}, ledger.Salt{2}).Seal(origin, 7, time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC))
	return audit.StoredEntry{
		Seq: e.Seq, RecordedAt: e.RecordedAt, Tenant: []byte(m.Tenant), Kind: []byte(kind), Key: []byte(key), TokenID: []byte("tok"),
		Meta: e.MetaBytes, MetaSalt: e.MetaSalt[:], Envelope: e.Envelope, LeafHash: e.LeafHash[:], Content: e.Content, ContentSalt: e.ContentSalt[:],
	}
}

func codes(faults []audit.Fault) (list []audit.FaultCode) {
	for _, f := range faults {
		list = append(list, f.Code)
	}
	return list
}

func TestEntryCheckDerives(t *testing.T) {
	t.Parallel()
	for _, paranoid := range []bool{false, true} {
		e := stored(kinds.ConsentReceipt.Name, "k", consent)
		d, faults := audit.EntryCheck{Origin: origin, Paranoid: paranoid}.Check(e)
		if len(faults) > 0 || !d.Known || len(d.Projection.Rows) != 1 || d.Meta.Key != "k" || d.Leaf != ledger.LeafHash(e.Envelope) {
			t.Errorf("paranoid %v: %+v, %v", paranoid, d, faults)
		}
	}
}

// A paranoid check asks the second encoder, and only that one does.
func TestParanoidAsksTheSecondEncoder(t *testing.T) {
	t.Parallel()
	e := stored(kinds.ConsentReceipt.Name, "k", consent)
	for name, encode := range map[string]func([]byte) ([]byte, error){
		"another form": func(content []byte) ([]byte, error) { return append([]byte(" "), content...), nil },
		"an error":     func([]byte) ([]byte, error) { return nil, errors.New("it can't") },
	} {
		for paranoid, want := range map[bool][]audit.FaultCode{true: {audit.FaultContent}, false: nil} {
			_, faults := audit.EntryCheck{Origin: origin, Paranoid: paranoid}.WithSecond(encode).Check(e)
			if got := codes(faults); !slices.Equal(got, want) {
				t.Errorf("%s, paranoid %v: %v", name, paranoid, faults)
			}
		}
	}
}

// What was committed to and never should have been: the hashes fit, the content does not.
func TestEntryCheckFindsWhatNoKindRecords(t *testing.T) {
	t.Parallel()
	usage := `{"artifact":{"as_of":"2026-01-10T08:00:00Z","budget_consumed":0,"budget_requested":1,"providers":[]},` +
		`"context":{"customer_id":"c","request_id":"r","turn_id":"t"},"receiver":{"findings":[]}}`
	for name, c := range map[string]struct {
		entry audit.StoredEntry
		want  audit.FaultCode
	}{
		"no such kind":          {stored("no-such-kind", "k", consent), audit.FaultKind},
		"artifact of another":   {stored(kinds.UsageReport.Name, "k", consent), audit.FaultKind},
		"key of another":        {stored(kinds.UsageReport.Name, "other", usage), audit.FaultKey},
		"not canonical":         {stored(kinds.ConsentReceipt.Name, "k", consent[:len(consent)-1]+" }"), audit.FaultContent},
		"number beyond 2^53":    {stored(kinds.ConsentReceipt.Name, "k", `{"artifact":9007199254740993,"context":{},"receiver":{}}`), audit.FaultContent},
		"no content":            {stored(kinds.ConsentReceipt.Name, "k", `[]`), audit.FaultContent},
		"its own key, in order": {stored(kinds.UsageReport.Name, "r", usage), ""},
	} {
		d, faults := audit.EntryCheck{Origin: origin}.Check(c.entry)
		if c.want == "" && len(faults) == 0 && d.Known {
			continue
		}
		if got := codes(faults); !slices.Equal(got, []audit.FaultCode{c.want}) {
			t.Errorf("%s: %v, want %s", name, faults, c.want)
		}
	}
}

func TestEntryCheckFindsWhatWasChanged(t *testing.T) {
	t.Parallel()
	longer := append([]byte(nil), consent...)
	for name, c := range map[string]struct {
		change func(*audit.StoredEntry)
		want   audit.FaultCode
	}{
		"short meta salt":    {func(e *audit.StoredEntry) { e.MetaSalt = e.MetaSalt[:15] }, audit.FaultMeta},
		"long meta salt":     {func(e *audit.StoredEntry) { e.MetaSalt = append(slices.Clone(e.MetaSalt), 0) }, audit.FaultMeta},
		"long content salt":  {func(e *audit.StoredEntry) { e.ContentSalt = append(slices.Clone(e.ContentSalt), 0) }, audit.FaultContent},
		"no content salt":    {func(e *audit.StoredEntry) { e.ContentSalt = nil }, audit.FaultContent},
		"no content":         {func(e *audit.StoredEntry) { e.Content = nil }, audit.FaultContent},
		"content appended":   {func(e *audit.StoredEntry) { e.Content = append(longer, '}') }, audit.FaultContent},
		"time":               {func(e *audit.StoredEntry) { e.RecordedAt = e.RecordedAt.Add(time.Microsecond) }, audit.FaultColumn},
		"tenant":             {func(e *audit.StoredEntry) { e.Tenant = []byte("umbrella") }, audit.FaultColumn},
		"envelope malformed": {func(e *audit.StoredEntry) { e.Envelope = []byte("{}") }, audit.FaultEnvelope},
		"meta malformed":     {func(e *audit.StoredEntry) { e.Meta = []byte("{}") }, audit.FaultMeta},
		"meta's bytes": {func(e *audit.StoredEntry) {
			m, _ := ledger.ParseMeta(e.Meta)
			m.Bytes++
			e.Meta = m.Encode()
		}, audit.FaultMeta},
	} {
		e := stored(kinds.ConsentReceipt.Name, "k", consent)
		c.change(&e)
		d, faults := audit.EntryCheck{Origin: origin}.Check(e)
		if !slices.Contains(codes(faults), c.want) {
			t.Errorf("%s: %v, want %s", name, faults, c.want)
		}
		if d.Known && c.want != audit.FaultColumn {
			t.Errorf("%s: something is derived from what is not the recorded content", name)
		}
	}
	if _, faults := (audit.EntryCheck{Origin: "other.example/log"}).Check(stored(kinds.ConsentReceipt.Name, "k", consent)); !slices.Equal(codes(faults), []audit.FaultCode{audit.FaultEnvelope}) {
		t.Errorf("an entry of another log: %v", faults)
	}
}

func TestEntryCheckErasure(t *testing.T) {
	t.Parallel()
	check := audit.EntryCheck{Origin: origin, Erased: map[int64]bool{7: true}}
	e := stored(kinds.ConsentReceipt.Name, "k", consent)
	if _, faults := check.Check(e); !slices.Equal(codes(faults), []audit.FaultCode{audit.FaultContent}) {
		t.Errorf("the content of an erased entry is there: %v", faults)
	}
	salt := e.ContentSalt
	e.Content = nil
	if _, faults := check.Check(e); !slices.Equal(codes(faults), []audit.FaultCode{audit.FaultContent}) {
		t.Errorf("the salt of an erased entry is there: %v", faults)
	}
	e.ContentSalt = nil
	if d, faults := check.Check(e); len(faults) > 0 || d.Known || d.Meta.Kind != kinds.ConsentReceipt.Name {
		t.Errorf("an erased entry: %+v, %v", d, faults)
	}
	e.Content, e.ContentSalt = []byte(consent), salt
	if _, faults := (audit.EntryCheck{Origin: origin}).Check(e); len(faults) > 0 {
		t.Errorf("an entry that is whole: %v", faults)
	}
}
