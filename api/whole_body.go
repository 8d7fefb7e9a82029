package api

import (
	"context"
	"errors"
	"io"
	"net/http"
)

// Bounds of all bodies that are read whole, in KiB, from when they begin to come until they are answered: a sender may take a minute
// for one.
const (
	bodyMemory       = 256 << 10
	tenantBodyMemory = bodyMemory / 2
)

const (
	// smallBody is how many bytes a body may have without a share of that. No request without a token has more, so whoever has no
	// token takes no room from those who do.
	smallBody = maxDelivery + encodingBytes
	// firstBytes is how much a body has before anything of it came, and mostDeclared what it has at most for having been declared.
	firstBytes   = 512
	mostDeclared = 8 << 10
)

// readBody reads a JSON body of bounded size, which may be encoded, and takes what the route's answer takes of the memory for answers.
func readBody(c *call, limit int) ([]byte, error) {
	if err := requireMedia(c.http, jsonType); err != nil {
		return nil, err
	}
	encoding, err := encodingOf(c.http.Header)
	if c.route.Public && (err != nil || encoding != unencoded) {
		c.writer.Header().Set("Accept-Encoding", "identity")
		return nil, &fault{code: "unsupported-media-type", param: "Content-Encoding", detail: "send the body as it is: nothing is decoded for somebody unknown"}
	}
	if err != nil {
		return nil, err
	}
	read, err := c.receive(encoding, limit)
	if p, _ := problemOf(err); err != nil && p.Status == http.StatusRequestEntityTooLarge {
		drain(c.http)
	}
	if err != nil {
		return nil, err
	}
	return read, c.takeMemory(c.route.Memory)
}

// receive reads a body to its end, and decodes it only then: a decoder holds far more than what was sent, for as long as its sender
// likes.
func (c *call) receive(encoding string, limit int) ([]byte, error) {
	sent := http.MaxBytesReader(c.writer, c.http.Body, int64(limit)+encodingBytes)
	if encoding == unencoded {
		read, leave, err := c.bodies.readAll(c.ctx(), c.who.Tenant, plainBody(sent, int64(limit)), c.http.ContentLength, limit)
		c.leaveBodies = leave
		return read, err
	}
	encoded, leave, err := c.bodies.readAll(c.ctx(), c.who.Tenant, plainBody(sent, 0), c.http.ContentLength, limit+encodingBytes)
	defer leave()
	if err != nil {
		return nil, err
	}
	leaveDecoder, err := c.bodies.enter(c.ctx(), c.who.Tenant, shareOf(limit))
	if err != nil {
		return nil, err
	}
	defer leaveDecoder()
	read, err := decodeWhole(c.http.Header, encoded, limit)
	if err != nil {
		return nil, err
	}
	c.leaveBodies, err = c.bodies.enter(c.ctx(), c.who.Tenant, shareOf(len(read)))
	return read, err
}

// shareOf is what a body of some bytes takes of the memory for bodies, in KiB.
func shareOf(size int) int64 { return int64(max(0, size-smallBody)+1<<10-1) >> 10 }

// readAll reads at most limit bytes, which from must not exceed, into memory that grows with what came, and not with what was declared
// beyond what any connection takes. It waits for its share of the room, whose unit is the KiB; leave, never nil, gives that back.
func (r *memoryRoom) readAll(ctx context.Context, tenant string, from io.Reader, declared int64, limit int) (read []byte, leave func(), err error) {
	var taken []func()
	leave = func() {
		for _, giveBack := range taken {
			giveBack()
		}
	}
	read = make([]byte, 0, min(max(firstBytes, declared+1), mostDeclared)) // one more, to meet the end of it
	for {
		n, err := from.Read(read[len(read):cap(read)])
		read = read[:len(read)+n]
		if errors.Is(err, io.EOF) {
			return read, leave, nil
		}
		if err != nil {
			return nil, leave, err
		}
		if len(read) < cap(read) {
			continue
		}
		size := min(2*cap(read), limit+1) // the byte that is too much is read, and refused
		giveBack, err := r.enter(ctx, tenant, shareOf(size)-shareOf(cap(read)))
		if err != nil {
			return nil, leave, err
		}
		taken = append(taken, giveBack)
		read = append(make([]byte, 0, size), read...)
	}
}

// drainBytes is how much is read on of a body that is too large, so that a client that reads nothing before it has sent all
// finds the answer, and not a connection that was reset. It is kept nowhere.
const drainBytes = 16 << 20

func drain(r *http.Request) {
	_, _ = io.CopyN(io.Discard, r.Body, drainBytes) // it ends early with the body, or with the connection
}
