package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"

	"ledgerd/internal/kinds"
)

// BulkResultBody says what became of one line: a seq, or an error as the single post would have had it.
type BulkResultBody struct {
	Line     int64    `json:"line" jsonschema:"from 1; blank lines are counted and have no result"`
	Status   int      `json:"status" jsonschema:"that of a single post of the line: 201 recorded, 200 replayed, else that of the error"`
	Seq      *int64   `json:"seq,omitzero" jsonschema:"the entry, committed and covered by a signed checkpoint"`
	Replayed bool     `json:"replayed,omitzero" jsonschema:"it was recorded before"`
	Error    *Problem `json:"error,omitzero"`
}

// resultWriter writes results to the client, in order.
type resultWriter struct {
	api      *API
	exchange *exchange
	buf      []byte
	logged   bool // a fault of ours is in the log; one of many alike is enough
}

// write sends the results of some lines; outcomes are those of the lines that were accepted.
func (w *resultWriter) write(results []result, outcomes []kinds.Outcome) error {
	w.buf, w.logged = w.buf[:0], false
	for _, r := range results {
		o := kinds.Outcome{Err: r.err}
		if r.err == nil {
			o, outcomes = outcomes[0], outcomes[1:]
		}
		if err := w.append(r.number, o); err != nil {
			return err
		}
	}
	return w.exchange.write(w.buf)
}

func (w *resultWriter) append(line int64, o kinds.Outcome) error {
	if o.Err == nil {
		w.buf = appendRecorded(w.buf, line, o.Recorded)
		return nil
	}
	p := w.problem(o.Err)
	text, err := json.Marshal(BulkResultBody{Line: line, Status: p.Status, Error: &p})
	w.buf = append(append(w.buf, text...), '\n')
	return err
}

// appendRecorded writes the form of a BulkResultBody without an error, as almost all are.
func appendRecorded(b []byte, line int64, r kinds.Recorded) []byte {
	b = append(b, `{"line":`...)
	b = strconv.AppendInt(b, line, 10)
	if r.Replayed {
		b = append(b, `,"status":200,"seq":`...)
		b = strconv.AppendInt(b, r.Seq, 10)
		return append(b, `,"replayed":true}`+"\n"...)
	}
	b = append(b, `,"status":201,"seq":`...)
	b = strconv.AppendInt(b, r.Seq, 10)
	return append(b, "}\n"...)
}

func (w *resultWriter) problem(err error) Problem {
	if errors.Is(err, context.Canceled) { // of the stream, and so of all its lines
		err = kinds.ErrUnavailable
	}
	p, known := problemOf(err)
	if (!known || p.Status >= http.StatusInternalServerError) && !w.logged {
		w.api.log.Error("lines of a bulk request failed", "code", p.Code, "error", err)
		w.logged = true
	}
	return p
}
