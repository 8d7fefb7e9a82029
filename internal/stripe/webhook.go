package stripe

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/stripe/stripe-go/v76/webhook"

	"ledgerd/metering/billing"
)

// webhookTolerance is how old a signature may be: Stripe's own default, against replays.
const webhookTolerance = 5 * time.Minute

// Notice is what a delivery says: that something happened, not what. That is fetched.
type Notice struct {
	ID   string `json:"id"`
	Type string `json:"type"`
}

// OpenWebhook checks the signature over the exact body by any of the secrets, of which there are two while they are exchanged,
// and then reads the notice. Its id is fit for a path. Secrets that are empty sign nothing.
func OpenWebhook(body []byte, signature string, secrets []string) (Notice, error) {
	if !signed(body, signature, secrets) {
		return Notice{}, billing.ErrUnsigned
	}
	var n Notice
	if err := json.Unmarshal(body, &n); err != nil {
		return Notice{}, errors.New("the delivery is signed but is no JSON object with id and type")
	}
	return n, safeID("event", n.ID)
}

func signed(body []byte, signature string, secrets []string) bool {
	for _, s := range secrets {
		if s != "" && webhook.ValidatePayloadWithTolerance(body, signature, s, webhookTolerance) == nil {
			return true
		}
	}
	return false
}

// About tells whether a notice is about meter events that did not count.
func (n Notice) About() bool { return n.Type == ErrorReportTriggered || n.Type == NoMeterFound }
