package api

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"sort"

	"ledgerd/internal/kinds"
	"ledgerd/internal/strictjson"
	"ledgerd/metering/billing"
)

// Problem is an error answer, RFC 9457 application/problem+json. Type is a stable, dereferenceable reference; Code is its
// last part, for programs. Nothing in it repeats what the caller sent.
type Problem struct {
	Type    string        `json:"type"`
	Title   string        `json:"title"`
	Status  int           `json:"status"`
	Code    string        `json:"code"`
	Detail  string        `json:"detail,omitzero"`
	Pointer *string       `json:"pointer,omitzero" jsonschema:"JSON pointer of the place in the request body"`
	Param   string        `json:"parameter,omitzero" jsonschema:"the query parameter, path parameter or header that is at fault"`
	Causes  []kinds.Cause `json:"causes,omitzero" jsonschema:"every rule that is broken, in rule order"`
	Seq     *int64        `json:"seq,omitzero" jsonschema:"the entry that stands in the way"`
	Erasure *int64        `json:"erasure_seq,omitzero" jsonschema:"the erasure that destroyed the entry's content"`
	Leaf    string        `json:"envelope,omitzero" jsonschema:"the erased entry's leaf, standard base64"`
}

// fault is an error of the HTTP layer itself.
type fault struct {
	code   string
	detail string
	param  string
}

func (f *fault) Error() string { return f.code + ": " + f.detail }

// badParam says that a query parameter, path parameter or header can't be read. The detail never holds its value.
func badParam(name, detail string) error {
	return &fault{code: "invalid-parameter", param: name, detail: detail}
}

// statuses is the one table from problem code to HTTP status and title. A code that is not here is a bug, which a test
// over the sources finds.
var statuses = map[string]struct {
	status int
	title  string
}{
	// The request can't be read.
	"invalid-json":           {400, "The body is not well-formed JSON"},
	"trailing-data":          {400, "Something follows the JSON document"},
	"duplicate-member":       {400, "An object has a member twice"},
	"unknown-member":         {400, "An object has a member that is not known here"},
	"missing-member":         {400, "A required member is missing"},
	"wrong-type":             {400, "A value has the wrong type"},
	"null-not-allowed":       {400, "A value is null where that is not allowed"},
	"not-an-integer":         {400, "A number is not an integer literal"},
	"out-of-range":           {400, "A number or list is out of range"},
	"too-deep":               {400, "The document is nested too deep"},
	"invalid-value":          {400, "A value is not one of those allowed"},
	"invalid-parameter":      {400, "A parameter can't be read"},
	"invalid-encoding":       {400, "The body is not what its Content-Encoding says"},
	"body-incomplete":        {400, "The body ended before it was complete"},
	"signature-invalid":      {400, "The delivery is not signed as it must be"},
	"unauthorized":           {401, "A valid bearer token is required"},
	"forbidden":              {403, "The token's role does not allow this"},
	"not-found":              {404, "There is no such thing"},
	"method-not-allowed":     {405, "The method is not allowed here"},
	"body-stalled":           {408, "The body stopped coming"},
	"conflict":               {409, "Another content is recorded under this key"},
	"exists":                 {409, "The name is taken"},
	"billing-refused":        {409, "Nothing can be billed as things are set up"},
	"not-parked":             {409, "There is nothing to decide about the intent"},
	"erased":                 {410, "The content was erased"},
	"body-too-large":         {413, "The body is too large"},
	"unsupported-media-type": {415, "The content type or encoding is not supported"},

	// The request can be read, and is refused.
	"number-not-representable": {422, "A number can't be recorded exactly"},
	"identifier-too-long":      {422, "An identifier is too long"},
	"identifier-malformed":     {422, "An identifier is malformed"},
	"instant-out-of-range":     {422, "An instant is out of range"},
	"as-of-not-acceptable":     {422, "as_of can't be recorded"},
	"usage-inconsistent":       {422, "The usage report does not add up"},
	"artifact-refused":         {422, "The artifact breaks a rule of its protocol"},
	"frame-body":               {422, "The artifact carries frame bodies"},
	"receipt-invalid":          {422, "The receipt bundle is invalid"},
	"trust-policy-refused":     {422, "The trust policy is malformed"},
	"content-too-large":        {422, "The entry would be too large"},
	"record_schema_invalid":    {422, "The record has another shape"},
	"record_forbidden_content": {422, "The record holds what must not be stored"},
	"digest-mismatch":          {422, "A record is wrong about its own digest"},
	"context-part-missing":     {422, "A part that the record names is not recorded"},
	"context-part-mismatch":    {422, "A part that the record names is another one"},
	"nothing-to-correct":       {422, "There is nothing to correct"},
	"dispute-unclear":          {422, "What is disputed is not clear"},
	"nothing-to-erase":         {422, "There is nothing to erase"},
	"not-erasable":             {422, "An entry can't be erased"},
	"question-too-wide":        {422, "The question covers too much for one answer"},
	"not-recorded":             {424, "Another line was refused, so nothing was recorded"},

	// The server can't answer now.
	"internal":               {500, "Something went wrong on the server"},
	"busy":                   {503, "There is no room for it now"},
	"unavailable":            {503, "The store can't be reached"},
	"projection-unavailable": {503, "ClickHouse is away, and the question needs it"},
	"billing-off":            {503, "Billing is switched off"},
	"processor-unavailable":  {503, "Stripe gave no answer to go by"},
	"log-read-only":          {503, "The log refuses to sign"},
	"timeout":                {503, "The answer took too long"},
}

// ProblemCodes lists every code with its status and title, sorted by status and code, for the documentation.
func ProblemCodes() []Problem {
	list := make([]Problem, 0, len(statuses))
	for code := range statuses {
		list = append(list, newProblem(code))
	}
	sort.Slice(list, func(i, j int) bool {
		if list[i].Status != list[j].Status {
			return list[i].Status < list[j].Status
		}
		return list[i].Code < list[j].Code
	})
	return list
}

func newProblem(code string) Problem {
	s, ok := statuses[code]
	if !ok {
		code, s = "internal", statuses["internal"]
	}
	return Problem{Type: "/docs#" + code, Title: s.title, Status: s.status, Code: code}
}

// problemOf maps an error to its answer. known is false for an error that nobody foresaw: it is logged in full and shown
// as "internal".
func problemOf(err error) (p Problem, known bool) {
	var (
		shape     *strictjson.Error
		rejection *kinds.Rejection
		large     *kinds.TooLargeError
		maxBytes  *http.MaxBytesError
		conflict  *kinds.ConflictError
		erased    *kinds.ErasedError
		own       *fault
		asked     *billing.CallError
	)
	switch {
	case errors.As(err, &own):
		p = newProblem(own.code)
		p.Detail, p.Param = own.detail, own.param
	case errors.As(err, &shape):
		p = newProblem(string(shape.Rule))
		p.Detail, p.Pointer = shape.Detail, &shape.Pointer
	case errors.As(err, &rejection):
		p = newProblem(rejection.Code)
		p.Detail, p.Pointer, p.Causes = rejection.Detail, &rejection.Pointer, rejection.Causes
	case errors.As(err, &large), errors.As(err, &maxBytes):
		p = newProblem("body-too-large")
		p.Detail = "see the limits in the API description"
	case errors.As(err, &conflict):
		p = newProblem("conflict")
		p.Detail = conflictDetail(conflict)
		if conflict.Seq >= 0 {
			p.Seq = &conflict.Seq
		}
	case errors.As(err, &erased):
		p = newProblem("erased")
		p.Seq, p.Erasure, p.Leaf = &erased.Seq, &erased.ErasureSeq, base64.StdEncoding.EncodeToString(erased.Envelope)
	case errors.As(err, &asked):
		p = newProblem("processor-unavailable")
		p.Detail = asked.Error()
	case errors.Is(err, billing.ErrRefused):
		p = newProblem("billing-refused")
		p.Detail = err.Error()
	default:
		return sentinelProblem(err)
	}
	return p, p.Code != "internal"
}

func conflictDetail(c *kinds.ConflictError) string {
	after := "; nothing was recorded"
	if c.Kept {
		after = "; what was sent is kept as a conflict, and has not replaced it"
	}
	if c.Space == "" {
		return "the key is held by another content" + after
	}
	return "the " + c.Space + " is reserved for another value by an earlier entry" + after
}

func sentinelProblem(err error) (Problem, bool) {
	for _, s := range [...]struct {
		err    error
		code   string
		detail string
	}{
		{kinds.ErrNotFound, "not-found", ""},
		{billing.ErrNoIntent, "not-found", ""},
		{billing.ErrNotParked, "not-parked", "it is neither parked nor stopped; somebody may have decided already"},
		{billing.ErrUnsigned, "signature-invalid", "no secret of this tenant signed the body within the last five minutes"},
		{kinds.ErrExists, "exists", ""},
		{kinds.ErrNotRecorded, "not-recorded", "all lines of an atomic request are recorded or none"},
		{kinds.ErrTooMuch, "question-too-wide", "narrow the period or add a filter"},
		{kinds.ErrBusy, "busy", "nothing was recorded; send the same request again"},
		{kinds.ErrReadOnly, "log-read-only", "the head of the log could not be verified; an operator must look, see the server's log"},
		{context.DeadlineExceeded, "timeout", "the outcome is unknown; send the same request again, it is recorded at most once"},
		{kinds.ErrUnavailable, "unavailable", "the outcome is unknown; send the same request again, it is recorded at most once"},
	} {
		if errors.Is(err, s.err) {
			p := newProblem(s.code)
			p.Detail = s.detail
			return p, true
		}
	}
	return newProblem("internal"), false
}
