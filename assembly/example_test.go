package assembly_test

import (
	"fmt"
	"log"
	"os"

	"ledgerd/assembly"
)

// recorded is the record of three positions, digest-only, as a kernel would post it.
func recorded() []byte {
	src, err := os.ReadFile("testdata/record.json")
	if err != nil {
		log.Fatal(err)
	}
	return src
}

// An auditor re-verifies a recorded assembly and reads what went into the model's context.
func ExampleVerify() {
	record, err := assembly.Parse(recorded())
	if err != nil {
		log.Fatal(err)
	}
	// What the ledger itself knows of the turn; without it the rules about other entries stay not_checked.
	anchors := assembly.Anchors{Snapshots: []assembly.SnapshotAnchor{}}
	report := assembly.Verify(record, anchors)
	fmt.Println(report.Verdict, report.Dictated.Outcome)

	if faithful, ok := report.Faithful(); ok {
		for _, c := range faithful.Used() {
			fmt.Println(c.Position, c.Ordinal, c.SourceRef.StableRef, c.Sensitivity, c.EffectiveAuthority, c.AcceptedBytes)
		}
	}
	// Output:
	// verified success
	// 10 0 wi-0-0 private context_data 100
	// 20 0 wi-1-0 private context_data 100
	// 30 0 wi-2-0 private context_data 100
}

// A payload is shown for one check, and kept nowhere.
func ExampleVerifyJSON_payload() {
	report, err := assembly.VerifyJSON(recorded(), assembly.Presented{
		Contribution: assembly.Ref{10, 0}, Payload: []byte("not what was sent"),
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range report.Findings {
		fmt.Println(f.Rule, f.At)
	}
	// Output:
	// C0-R525 /positions/2/result/contributions/0/kernel_payload_digest
	// C0-R530 /positions/2/result/contributions/0/kernel_bytes
	// C0-R530 /positions/2/result/contributions/0/kernel_tokens
}

// What must not be stored is refused by its place, and its value is never repeated.
func ExampleParse_forbidden() {
	_, err := assembly.Parse([]byte(`{"positions":[{"result":{"contributions":[{"ordinal":0,"payload":"the door code is 1234"}]}}]}`))
	fmt.Println(err)
	// Output:
	// record_forbidden_content at /positions/0/result/contributions/0/payload: a record holds digests, sizes and safe tokens only
}

// One stage can be asked on its own: a small budget, whose required minimum is set aside first.
func ExampleVerifyStage() {
	input := `{"model_candidates":[{"model_ref":"m","input_limit_tokens":100,"context_limit_tokens":null}],
	  "policy_ceiling":{"items":2,"bytes":400,"tokens":null},
	  "reserves":[{"kind":"output","items":0,"bytes":0,"tokens":40},{"kind":"protocol_serialization","items":0,"bytes":0,"tokens":0},
	    {"kind":"tool_schemas","items":0,"bytes":0,"tokens":0},{"kind":"native_attachments","items":0,"bytes":0,"tokens":0},
	    {"kind":"identity_safety_policy","items":0,"bytes":0,"tokens":0},{"kind":"current_user_content","items":0,"bytes":0,"tokens":0},
	    {"kind":"conversation_checkpoint","items":0,"bytes":0,"tokens":0},{"kind":"pending_approvals_tool_state","items":0,"bytes":0,"tokens":0},
	    {"kind":"minimum_recent_transcript","items":0,"bytes":0,"tokens":0}],
	  "positions":[{"position":10,"requirement":"optional","minimum":{"items":0,"bytes":0,"tokens":0},"cap":{"items":2,"bytes":400,"tokens":60,"per_item_bytes":200}},
	    {"position":20,"requirement":"required","minimum":{"items":1,"bytes":100,"tokens":50},"cap":{"items":1,"bytes":200,"tokens":60,"per_item_bytes":200}}]}`
	report, err := assembly.VerifyStage("budget", []byte(input), []byte(`{"code":null}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Verdict)
	fmt.Println(string(report.Derived["allocations"]))
	// Output:
	// verified
	// [{"position":10,"items":1,"bytes":300,"tokens":10,"per_item_bytes":200,"skip":false},{"position":20,"items":1,"bytes":100,"tokens":50,"per_item_bytes":100,"skip":false}]
}
