package engine

import (
	"context"
	"crypto/subtle"
	"net/http"
	"os"
	"regexp"
	"strconv"
)

// bridge answers HTTP requests with the engine.
type bridge struct {
	pool   *pool
	secret string
	spool  string // folder for data to insert
}

// ServeHTTP answers as a ClickHouse server does: 200 and Native, or an error with its code in a header.
func (b *bridge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, password, _ := r.BasicAuth(); subtle.ConstantTimeCompare([]byte(password), []byte(b.secret)) != 1 {
		refuse(w, http.StatusForbidden, "Code: 516. DB::Exception: the secret is wrong. (AUTHENTICATION_FAILED)")
		return
	}
	if r.URL.Path == "/ping" {
		_, _ = w.Write([]byte("Ok.\n"))
		return
	}
	s, err := readStatement(r, b.spool)
	if s.spooled != "" {
		defer os.Remove(s.spooled)
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, "Code: 36. DB::Exception: "+err.Error()+". (BAD_ARGUMENTS)")
		return
	}
	answer, err := b.execute(r.Context(), s)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(answer))) // the driver takes 0 for: no rows
	_, _ = w.Write(answer)                                      // whoever no longer listens can't be told
}

// execute runs one statement with its settings, and takes them back afterwards.
func (b *bridge) execute(ctx context.Context, s statement) (answer []byte, err error) {
	err = b.pool.with(ctx, func(session *session) error {
		defer func() {
			for _, text := range s.reset {
				_, _ = session.run(text) // fails for a name that was refused before
			}
		}()
		if err := use(session, s.database); err != nil {
			return err
		}
		for _, text := range s.set {
			if _, err := session.run(text); err != nil {
				return err
			}
		}
		native, err := b.pool.run(ctx, session, s.text)
		if err != nil {
			return err
		}
		answer, err = translate(native)
		return err
	})
	return answer, err
}

func use(s *session, database string) error {
	if database == "" {
		database = "default"
	}
	if database == s.database {
		return nil
	}
	if _, err := s.run("USE `" + backquotes.ReplaceAllString(database, "``") + "`"); err != nil {
		return err
	}
	s.database = database
	return nil
}

var (
	backquotes = regexp.MustCompile("`")
	errorCode  = regexp.MustCompile(`^Code: (\d+)`)
)

func refuse(w http.ResponseWriter, status int, message string) {
	if code := errorCode.FindStringSubmatch(message); code != nil {
		w.Header().Set("X-ClickHouse-Exception-Code", code[1])
	}
	w.WriteHeader(status)
	_, _ = w.Write([]byte(message)) // whoever no longer listens can't be told
}
