package api

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"ledgerd/internal/kinds"
)

// What an encoded body may become: decodedSlack bytes, and beyond these decodedRatio times what was sent of it. Records of
// one host shrink to a tenth or a thirtieth; what shrinks to a hundredth was made to.
const (
	decodedSlack = 16 << 20
	decodedRatio = 100
)

// encodingBytes is how much longer an encoding may make a body that does not shrink.
const encodingBytes = 4 << 10

// zstdWindow is the largest window in bytes that RFC 8878 §3.1.1.1.2 asks of every decoder, and so the most memory that a
// frame may demand.
const zstdWindow = 8 << 20

// acceptedEncodings are told with a 415 (RFC 7694 §3).
const acceptedEncodings = "gzip, zstd"

// Encodings of a body, and none.
const (
	unencoded   = ""
	encodedGzip = "gzip"
	encodedZstd = "zstd"
)

// encodingOf is the Content-Encoding that a request names.
func encodingOf(h http.Header) (string, error) {
	switch name := strings.ToLower(strings.Join(h.Values("Content-Encoding"), ",")); name {
	case "", "identity":
		return unencoded, nil
	case "gzip", "x-gzip": // one encoding with two names, RFC 9110 §8.4.1.3
		return encodedGzip, nil
	case "zstd":
		return encodedZstd, nil
	}
	return "", &fault{code: "unsupported-media-type", param: "Content-Encoding", detail: "send the body as it is, or encoded once, with gzip or zstd"}
}

// errInvalidEncoding refuses a body that can't be decoded.
var errInvalidEncoding = &fault{code: "invalid-encoding", param: "Content-Encoding", detail: "the body is not what its encoding says"}

// body is a request body, freed of its Content-Encoding (RFC 9110 §8.4). An error of Read is io.EOF or an answer.
type body struct {
	sent    io.Reader // the body as it arrives
	in, out int64     // bytes that arrived, and that they became
	limit   int64     // of out; 0 for none
	failed  error     // of sent
	encoded bool
	decoder io.Reader
	release func()
}

// openBody reads sent as the request's headers say it is encoded. Close it.
func openBody(h http.Header, sent io.Reader, limit int64) (*body, error) {
	encoding, err := encodingOf(h)
	if err != nil {
		return nil, err
	}
	b := plainBody(sent, limit)
	arriving := b.decoder
	switch encoding {
	case encodedGzip:
		d, err := gzip.NewReader(arriving)
		if err != nil {
			return nil, b.refused()
		}
		b.encoded, b.decoder = true, d
	case encodedZstd:
		d, err := zstd.NewReader(arriving, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdWindow))
		if err != nil {
			return nil, b.refused()
		}
		b.encoded, b.decoder, b.release = true, d, d.Close
	}
	return b, nil
}

// plainBody reads sent as it stands.
func plainBody(sent io.Reader, limit int64) *body {
	b := &body{sent: sent, limit: limit, release: func() {}}
	b.decoder = (*arrival)(b)
	return b
}

// decodeWhole decodes a body that is complete. What it takes on the way is little more than limit, which the result may have in
// bytes, whatever the body says: a frame's window is kept in the result.
func decodeWhole(h http.Header, sent []byte, limit int) ([]byte, error) {
	encoding, err := encodingOf(h)
	if err != nil {
		return nil, err
	}
	if encoding != encodedZstd {
		b, err := openBody(h, bytes.NewReader(sent), int64(limit))
		if err != nil {
			return nil, err
		}
		defer b.Close()
		return io.ReadAll(b)
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindow), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	decoded, err := d.DecodeAll(sent, make([]byte, 0, limit))
	switch {
	case errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return nil, &kinds.TooLargeError{Limit: int64(limit)}
	case err != nil:
		return nil, errInvalidEncoding
	}
	return bytes.Clone(decoded), nil // or it would hold as much as it might have become
}

// Close frees what a decoder holds. The request's own body is the server's.
func (b *body) Close() { b.release() }

func (b *body) Read(p []byte) (int, error) {
	n, err := b.decoder.Read(p)
	b.out += int64(n)
	switch {
	case b.limit > 0 && b.out > b.limit, b.encoded && b.out > decodedSlack+decodedRatio*b.in:
		return 0, &kinds.TooLargeError{Limit: b.limit}
	case err == nil || errors.Is(err, io.EOF):
		return n, err
	}
	return n, b.refused()
}

// refused says whose fault an error was: the connection's or the encoding's.
func (b *body) refused() error {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(b.failed, &tooLarge), errors.Is(b.failed, errStopping):
		return b.failed
	case errors.Is(b.failed, os.ErrDeadlineExceeded):
		return &fault{code: "body-stalled", detail: "nothing of the body came for too long"}
	case b.failed != nil:
		return &fault{code: "body-incomplete", detail: "the connection failed before the end of the body"}
	}
	return errInvalidEncoding
}

// arrival is a body before it is decoded. It counts, and keeps the error that a decoder may hide.
type arrival body

func (a *arrival) Read(p []byte) (int, error) {
	n, err := a.sent.Read(p)
	a.in += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		a.failed = err
	}
	return n, err
}
