package engine

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
)

// maxStatement bounds a statement's text, which is held in memory; data to insert is not.
const maxStatement = 4 << 20

// statement is what a request asks for.
type statement struct {
	text     string
	database string
	set      []string // SET statements to run before, in order
	reset    []string // and after
	spooled  string   // file of the data to insert, "" for none
}

// notSettings are parameters of the HTTP interface itself.
var notSettings = []string{"query", "database", "default_format", "client_protocol_version", "query_id", "quota_key", "wait_end_of_query", "user", "password"}

var (
	settingName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
	insertion   = regexp.MustCompile(`(?is)^(\s*INSERT\s+INTO\s.*?)\s+FORMAT\s+Native\s*$`)
)

// readStatement reads a request. The file of a spooled body is the caller's to remove.
func readStatement(r *http.Request, spool string) (statement, error) {
	query := r.URL.Query()
	s := statement{text: query.Get("query"), database: query.Get("database")}
	if err := s.settings(query); err != nil {
		return s, err
	}
	if s.text == "" {
		raw, err := io.ReadAll(io.LimitReader(r.Body, maxStatement+1))
		if err == nil && len(raw) > maxStatement {
			err = errors.New("the statement is too long")
		}
		s.text = string(raw)
		return s, err
	}
	into := insertion.FindStringSubmatch(s.text)
	if into == nil {
		return s, nil
	}
	var err error
	if s.spooled, err = spoolBody(r.Body, spool); err != nil {
		return s, err
	}
	s.text = into[1] + " SELECT * FROM file(" + quote(s.spooled) + ", Native)"
	return s, nil
}

// settings turns parameters into SET statements, in a fixed order.
func (s *statement) settings(query url.Values) error {
	names := make([]string, 0, len(query))
	for name := range query {
		if !slices.Contains(notSettings, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if !settingName.MatchString(name) {
			return errors.New("a setting has a malformed name")
		}
		s.set = append(s.set, "SET "+name+" = "+quote(query.Get(name)))
		if !strings.HasPrefix(name, "param_") {
			s.reset = append(s.reset, "SET "+name+" = DEFAULT")
		}
	}
	return nil
}

// spoolBody writes a body to a file, whole or not at all: a connection that breaks inserts nothing.
func spoolBody(body io.Reader, dir string) (string, error) {
	f, err := os.CreateTemp(dir, "insert-*.native")
	if err != nil {
		return "", err
	}
	_, err = io.Copy(f, body)
	if err := errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(fmt.Errorf("receiving data: %w", err), os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// quote makes a string literal.
func quote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
