package stripe

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"github.com/stripe/stripe-go/v76"

	"ledgerd/metering/billing"
)

const (
	maxDetail = 300 // characters
	maxCode   = 100 // characters
)

// existsText begins the only answer that has to be known by its words: Stripe gives it no code.
const existsText = "An event already exists with identifier"

const existsCode = stripe.ErrorCode("resource_already_exists")

// reply says what the answer to a call is worth: the package documentation has the table.
func (c *Client) reply(x *exchange, err error) billing.Reply {
	r := billing.Reply{Class: billing.Ambiguous, Status: x.status, RequestID: clip(x.requestID, maxCode), RetryAfter: x.retryAfter}
	var said *stripe.Error
	switch {
	case err == nil && x.status >= 200 && x.status < 300:
		r.Class = billing.Delivered
	case err == nil:
		r.Detail = "a redirect, or no answer of Stripe's"
	case errors.As(err, &said) && said.Type != "":
		r.Class = class(x.status, said)
		r.Code = clip(code(said), maxCode)
		r.Detail = c.clean(said.Msg)
	case x.status != 0:
		r.Detail = c.clean(strange(x))
	default:
		r.Detail = c.clean(cause(err))
	}
	return r
}

// class judges an error that Stripe itself wrote.
func class(status int, said *stripe.Error) billing.Class {
	switch {
	case status == http.StatusConflict, status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable:
		return billing.Busy
	case status == http.StatusBadRequest && said.Type == stripe.ErrorTypeInvalidRequest && exists(said):
		return billing.AlreadyExists
	case status >= 400 && status < 500 && status != http.StatusRequestTimeout:
		return billing.Rejected
	}
	return billing.Ambiguous
}

func exists(said *stripe.Error) bool {
	return said.Code == existsCode || (said.Code == "" && strings.HasPrefix(said.Msg, existsText))
}

// code names an error as exactly as Stripe does.
func code(said *stripe.Error) string {
	name := string(said.Code)
	if name == "" {
		name = string(said.Type)
	}
	if said.Param != "" {
		name += " (" + said.Param + ")"
	}
	return name
}

// strange describes an answer that is not Stripe's, without showing it.
func strange(x *exchange) string {
	kind, _, err := mime.ParseMediaType(x.contentType)
	if err != nil {
		kind = "an unknown type"
	}
	return fmt.Sprintf("the answer is not one of Stripe's API, or broke off: %d with %s", x.status, kind)
}

// cause leaves the URL out of a transport's error: it may hold a customer.
func cause(err error) string {
	var of *url.Error
	if errors.As(err, &of) {
		err = of.Err
	}
	return err.Error()
}

// clean makes a text fit to be shown and kept: one line, bounded, and without the key or anything that looks like one.
func (c *Client) clean(text string) string {
	words := strings.Fields(strings.ReplaceAll(text, c.key, "***"))
	for i, w := range words {
		for _, mark := range []string{"sk_", "rk_", "whsec_"} {
			if at := strings.Index(w, mark); at >= 0 {
				words[i] = w[:at+len(mark)] + "***"
			}
		}
	}
	return clip(strings.Join(words, " "), maxDetail)
}

// clip bounds a text and keeps what is printable.
func clip(text string, most int) string {
	printable := make([]rune, 0, min(len(text), most))
	for _, r := range text {
		if len(printable) == most {
			break
		}
		if r != unicode.ReplacementChar && unicode.IsPrint(r) {
			printable = append(printable, r)
		}
	}
	return string(printable)
}
