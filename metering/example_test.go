package metering_test

import (
	"fmt"

	"ledgerd/metering"
)

const report = `{"budget_requested":2000,"budget_consumed":403,"as_of":"2031-03-04T05:06:07Z","providers":[
	{"provider_id":"wiki-index","frames_served":2,"frames_rejected":0,"token_cost":403,"served_frames":[
		{"frame":{"provider_id":"wiki-index","frame_id":"page/onboarding","content_digest":"sha256:c6ffeba44ad1939eccbc1dda428f3e7380bbdfc434909eba13908cb18f7f8e4f"},"token_cost":311},
		{"frame":{"provider_id":"wiki-index","frame_id":"page/oncall"},"token_cost":92}]}]}`

// From bytes to the events that are billed, as the worked example of context-reuse §2 does.
func Example() {
	r, err := metering.ParseUsageReport([]byte(report))
	if err != nil {
		fmt.Println(err)
		return
	}
	verified, err := metering.Verify(r)
	if err != nil {
		fmt.Println(err)
		return
	}
	events, err := metering.Events(verified)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range events {
		fmt.Println(e.ProviderID, e.Tokens, "tokens,", e.FramesServed, "frames")
	}
	for _, f := range metering.Findings(r) {
		fmt.Println(f.Code, f.Pointer, f.Document)
	}
	// Output:
	// wiki-index 403 tokens, 2 frames
	// unverifiable-frame /providers/0/served_frames/1/frame context-reuse D4
}

func ExampleCheck() {
	r, _ := metering.ParseUsageReport([]byte(`{"budget_requested":2000,"budget_consumed":0,"as_of":"2031-03-04T05:06:07Z","providers":[
		{"provider_id":"a","frames_served":0,"frames_rejected":0,"token_cost":9223372036854775808},
		{"provider_id":"b","frames_served":0,"frames_rejected":0,"token_cost":9223372036854775808}]}`))
	fmt.Println(metering.Check(r))
	// Output:
	// checking the total at /budget_consumed: declared 0, summed 18446744073709551616
}
