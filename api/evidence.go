package api

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"ledgerd/internal/audit/evidence"
	"ledgerd/internal/kinds"
	"ledgerd/ledger"
	"ledgerd/metering"
)

// evidenceReader writes what an asker selects into an evidence file. What speaks against it is an error before anything is
// written: kinds.ErrTooMuch, kinds.ErrNotFound for an entry that is not visible, ledger.ErrSize for a log shorter than Since.
type evidenceReader interface {
	Evidence(ctx context.Context, tenant string, see kinds.Visibility, sel evidence.Selection, w *evidence.Writer) error
}

const (
	zipType = "application/zip"

	// evidenceTimeout bounds one file: it is read in one snapshot, which must not be held for good.
	evidenceTimeout = 15 * time.Minute
	maxPicked       = 1_000 // seqs in one question
)

// selectors are the parameters that select reports by what they say of usage; the others go by what the log proves.
var selectors = []string{"customer_id", "provider_id", "request_id", "turn_id", "frame_id"}

func (a *API) evidenceRoutes() []*Route {
	return []*Route{{
		Method: "GET", Path: "/v1/evidence", Name: "getEvidence", Summary: "Entries with all that proves them, as one file", Streams: true,
		Doc: "A zip archive for somebody who does not trust this server: `ledgerd verify evidence FILE --log-key KEY` checks it offline. It has the entries that the question " +
			"selects, those that they name (the trust policy of a verdict, the parts of an assembly, erasures), an inclusion proof of each, the signed checkpoints, a page for people, and a " +
			"manifest that the log's key signs. All is of one moment. Select by seq; or by kind, key, from and to, as listings do, where times are recorded times; or with any of customer_id, " +
			"provider_id, request_id, turn_id and frame_id the usage reports whose lines match, where from and to are required and are instants of as_of. " +
			"At most " + strconv.Itoa(evidence.MaxMatched) + " entries and 2 GiB. Who asks gets what its role may read. The answer's end is the archive's directory: a download that broke off is no zip file.",
		Roles: meters,
		Query: []Param{
			{Name: "seq", Form: "string", Doc: "These entries, at most " + strconv.Itoa(maxPicked) + ", as decimal integers with commas between them."},
			{Name: "kind", Form: "string", Doc: "Only entries of this kind."},
			{Name: "key", Form: "string", Doc: "Only entries with this key."},
			{Name: "from", Form: "date-time", Doc: "First instant."},
			{Name: "to", Form: "date-time", Doc: "End of the period, not included."},
			{Name: "customer_id", Form: "string", Doc: "Usage reports of this customer."},
			{Name: "provider_id", Form: "string", Doc: "Usage reports with lines of this provider."},
			{Name: "request_id", Form: "string", Doc: "The usage report of this request."},
			{Name: "turn_id", Form: "string", Doc: "Usage reports of this turn."},
			{Name: "frame_id", Form: "string", Doc: "Usage reports that served this frame."},
			{Name: "since", Form: "integer", Doc: "Prove too that the newest log grew from this many leaves, such as those of a checkpoint kept earlier."},
		},
		Replies:  []Reply{{Status: 200, Doc: "The file.", Body: "", Type: zipType}},
		Problems: []string{"not-found", "question-too-wide", "busy", "log-read-only"}, handle: a.getEvidence,
	}}
}

func (a *API) getEvidence(c *call) (reply, error) {
	sel, err := selection(c)
	if err != nil {
		return reply{}, err
	}
	subject := evidence.Subject{Title: "Evidence", Tenant: c.who.Tenant, Question: question(c)}
	if sel.Since, err = since(c); err != nil {
		return reply{}, err
	}
	return a.sendEvidence(c, subject, sel)
}

// question is what was asked, parameter by parameter.
func question(c *call) []evidence.Field {
	fields := []evidence.Field{{Name: "asked as", Value: string(c.who.Role)}}
	for _, p := range c.route.Query {
		if value, ok := c.query[p.Name]; ok && p.Name != "since" {
			fields = append(fields, evidence.Field{Name: p.Name, Value: value})
		}
	}
	return fields
}

func since(c *call) (*int64, error) {
	if _, given := c.query["since"]; !given {
		return nil, nil
	}
	size, err := c.query.number("since", 0, 0, math.MaxInt64)
	return &size, err
}

// selection reads which entries are asked for, by one of the three ways.
func selection(c *call) (sel evidence.Selection, err error) {
	byUsage := false
	for _, name := range selectors {
		_, given := c.query[name]
		byUsage = byUsage || given
	}
	seqs, bySeq := c.query["seq"]
	_, byKind := c.query["kind"]
	_, byKey := c.query["key"]
	switch from, to, err := c.query.period(); {
	case err != nil:
		return sel, err
	case bySeq && (byUsage || byKind || byKey || from != nil || to != nil):
		return sel, badParam("seq", "it selects by itself, without another filter")
	case bySeq:
		sel.Picks, err = picks(seqs)
		return sel, err
	case byUsage && (byKind || byKey):
		return sel, badParam("kind", "kind and key don't go together with what selects usage reports")
	case byUsage && (from == nil || to == nil):
		return sel, badParam("from", "from and to are required with what selects usage reports")
	case byUsage:
		q := metering.Question{Tenant: c.who.Tenant, From: *from, To: *to}
		sel.Usage = &q
		return sel, c.usageFilter(&q)
	default:
		sel.Entries = &kinds.EntryQuery{From: from, To: to}
		return sel, c.entryFilter(sel.Entries)
	}
}

// picks reads seqs with commas between them.
func picks(text string) ([]evidence.Pick, error) {
	parts := strings.Split(text, ",")
	if len(parts) > maxPicked {
		return nil, badParam("seq", "at most 1000 entries are asked for by seq")
	}
	list := make([]evidence.Pick, 0, len(parts))
	for _, part := range parts {
		seq, ok := decimal(part)
		if !ok {
			return nil, badParam("seq", "decimal integers, 0 or more, without signs or leading zeros, with commas between them")
		}
		list = append(list, evidence.Pick{Seq: seq, Relation: evidence.AskedFor})
	}
	return list, nil
}

// sendEvidence answers with an evidence file about the subject. The seam for whoever has evidence to give: what is asked for
// that the asker may not see is not found, and what picked entries name comes along.
func (a *API) sendEvidence(c *call, subject evidence.Subject, sel evidence.Selection) (reply, error) {
	if !a.downloads.take(c.who.Tenant) {
		return reply{}, &fault{code: "busy", detail: "other evidence is being sent; ask again when it is done"}
	}
	defer a.downloads.release(c.who.Tenant)
	ctx, cancel := context.WithTimeout(c.ctx(), evidenceTimeout)
	defer cancel()
	out := &download{writer: c.writer, control: http.NewResponseController(c.writer), patience: a.progress, head: c.http.Method == http.MethodHead}
	w := evidence.NewWriter(out, subject, a.verifierKeys, a.evidence...)
	err := a.store.Evidence(ctx, c.who.Tenant, kinds.VisibleTo(c.who.Role, c.who.TokenID), sel, w)
	switch {
	case err == nil, errors.Is(err, errHead):
		return reply{sent: true}, nil
	case out.begun:
		a.log.Warn("evidence broke off", "error", err)
		panic(http.ErrAbortHandler) // so that a part is not taken for the whole
	case errors.Is(err, kinds.ErrTooMuch):
		return reply{}, &fault{code: "question-too-wide", detail: "one file has at most 100,000 entries that the question selects, and 2 GiB of contents: narrow the period or add a filter"}
	case errors.Is(err, ledger.ErrSize):
		return reply{}, badParam("since", "the log is shorter than that")
	}
	return reply{}, err
}

// download is a file on its way to the caller, with a deadline for each piece of it.
type download struct {
	writer   http.ResponseWriter
	control  *http.ResponseController
	patience time.Duration
	head     bool // the caller asks for the answer's header alone
	begun    bool
}

// errHead ends a file that nobody wants more of than the header of the answer.
var errHead = errors.New("the header is all that was asked for")

var _ io.Writer = (*download)(nil)

func (d *download) Write(p []byte) (int, error) {
	if err := d.control.SetWriteDeadline(time.Now().Add(d.patience)); err != nil {
		return 0, err
	}
	if !d.begun {
		h := d.writer.Header()
		h.Set("Content-Type", zipType)
		h.Set("Content-Disposition", `attachment; filename="evidence.zip"`)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		d.writer.WriteHeader(http.StatusOK)
		d.begun = true
	}
	if d.head {
		return 0, errHead
	}
	return d.writer.Write(p)
}
