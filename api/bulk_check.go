package api

import (
	"context"
	"errors"

	"ledgerd/internal/kinds"
	"ledgerd/internal/strictjson"
)

// lineChecker decides which lines of a stream may be recorded. It is safe for concurrent use.
type lineChecker struct {
	api     *API
	who     kinds.Poster
	mayWait bool // for lines before it, which are recorded one by one
}

// check fills in a chunk's results. What a check may depend on is the same for all of its lines.
func (k *lineChecker) check(ctx context.Context, c *chunk) {
	env := k.env()
	from := 0
	for _, l := range c.lines {
		text := c.buf[from:l.end:l.end]
		from = l.end
		if l.tooLong {
			c.refuse(l.number, &kinds.TooLargeError{Limit: int64(maxLine)})
			continue
		}
		switch acc, waits, err := k.line(ctx, text, env); {
		case err != nil:
			c.refuse(l.number, err)
		case waits != nil:
			c.wait(l.number, waits)
		default:
			c.accept(l.number, acc)
		}
	}
}

// line is the check of a single post: shape of the wrapper, right to post, the kind's own check. A panic, which is always
// our bug, costs the line and not the process.
func (k *lineChecker) line(ctx context.Context, text []byte, env *chunkEnv) (acc *kinds.Accepted, waits *waiting, err error) {
	defer k.recovered(&acc, &err)
	kind, s, err := readLine(text)
	switch {
	case kind != nil && !kind.MayPost(k.who.Role):
		return nil, nil, &kinds.Rejection{Code: "forbidden", Pointer: "/kind", Detail: "a token of another role is needed, see the API description"}
	case kind != nil && kind.Alone:
		return nil, nil, &kinds.Rejection{Code: "forbidden", Pointer: "/kind", Detail: "an entry of this kind is posted alone, by its own route"}
	case kind != nil && kind.Erases: // what it names is looked at first, and it can't be taken back
		return nil, nil, &kinds.Rejection{Code: "forbidden", Pointer: "/kind", Detail: "an erasure is posted alone, to /v1/erasures"}
	}
	if err != nil {
		return nil, nil, err
	}
	e, leave, err := env.of(ctx, kind, s)
	defer leave()
	if err != nil {
		return nil, nil, err
	}
	if k.mayWait && e.Needs != nil && e.Needs.Lacks(e.Context) {
		return nil, &waiting{kind, s}, nil
	}
	acc, err = kind.Accept(s, e)
	return acc, nil, err
}

// again checks a line that has waited.
func (k *lineChecker) again(ctx context.Context, w *waiting) (acc *kinds.Accepted, err error) {
	defer k.recovered(&acc, &err)
	e, leave, err := k.env().of(ctx, w.kind, w.submission)
	defer leave()
	if err != nil {
		return nil, err
	}
	return w.kind.Accept(w.submission, e)
}

func (k *lineChecker) recovered(acc **kinds.Accepted, err *error) {
	if v := recover(); v != nil {
		k.api.log.Error("panic in the check of a line", "panic", v)
		*acc, *err = nil, &fault{code: "internal"}
	}
}

func (k *lineChecker) env() *chunkEnv {
	return &chunkEnv{api: k.api, tenant: k.who.Tenant, env: kinds.Env{Now: k.api.now().UTC()}}
}

// chunkEnv is what the checks of one chunk may depend on. The trust policy is read when the first line needs it.
type chunkEnv struct {
	api    *API
	tenant string
	env    kinds.Env
	read   bool
	err    error
}

// of is what a line's check depends on. Its memory is given back by leave, which is never nil.
func (e *chunkEnv) of(ctx context.Context, kind *kinds.Kind, s kinds.Submission) (env kinds.Env, leave func(), err error) {
	if !kind.UsesPolicy {
		env = e.env
		leave, err = e.api.joinContext(ctx, e.tenant, kind, s, &env)
		return env, leave, err
	}
	if !e.read {
		e.env.Policy, e.err = e.api.store.TrustPolicy(ctx, e.tenant)
		e.read = true
	}
	return e.env, func() {}, e.err
}

// readLine reads a line's wrapper. kind is known as soon as its name was read, also when there is an error.
func readLine(text []byte) (kind *kinds.Kind, s kinds.Submission, err error) {
	s.ArtifactAt, s.ContextAt = "/artifact", "/context"
	var keyErr error
	d := strictjson.NewWrapper(text)
	readWrapper(d, &kind,
		strictjson.Req("artifact", func() { s.Artifact = d.RawValue() }),
		strictjson.Opt("context", func() { s.Context = d.RawValue() }),
		strictjson.Opt("idempotency_key", func() {
			s.Key = d.String()
			keyErr = kinds.CheckKey("/idempotency_key", s.Key)
		}))
	if err := d.Finish(); err != nil {
		return kind, s, placeInArtifact(text, err)
	}
	return kind, s, keyErr
}

func readWrapper(d *strictjson.Decoder, kind **kinds.Kind, rest ...strictjson.Member) {
	d.Object(append(rest, strictjson.Req("kind", func() {
		name := d.String()
		if *kind = kinds.Lookup(name); *kind == nil {
			d.Fail(strictjson.RuleValue, "there is no such kind")
		}
	}))...)
}

// placeInArtifact reads a malformed line again with the artifact's own shape, whose known members name the place of the
// error more closely than the wrapper's. That takes a kind that stands before its artifact.
func placeInArtifact(text []byte, err error) error {
	var at *strictjson.Error
	if !errors.As(err, &at) || at.Pointer != "/artifact" {
		return err
	}
	var kind *kinds.Kind
	d := strictjson.NewDecoder(text, strictjson.Closed)
	skip := func() { d.RawValue() }
	readWrapper(d, &kind, strictjson.Opt("context", skip), strictjson.Opt("idempotency_key", skip), strictjson.Req("artifact", func() {
		if kind == nil {
			d.RawValue()
			return
		}
		d.In(strictjson.Open, func() { kind.ReadShape(d) })
	}))
	if closer := d.Finish(); closer != nil {
		return closer
	}
	return err
}
