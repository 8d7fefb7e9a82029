package api

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"

	"ledgerd/frames"
	"ledgerd/internal/kinds"
)

// Param describes a query parameter of a route. A parameter that the route does not list is refused, since a misspelt
// filter would answer another question than the one that was asked.
type Param struct {
	Name     string
	Required bool
	Doc      string
	Form     string // JSON Schema type or format: "string", "integer", "date-time", "boolean"
}

// query is the parsed query string.
type query map[string]string

func parseQuery(raw string, known []Param) (query, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, badParam("", "the query string is malformed")
	}
	q := query{}
	for _, p := range known {
		given, ok := values[p.Name]
		delete(values, p.Name)
		switch {
		case len(given) > 1:
			return nil, badParam(p.Name, "it is given twice")
		case !ok && p.Required:
			return nil, badParam(p.Name, "it is required")
		case ok:
			q[p.Name] = given[0]
		}
	}
	if len(values) > 0 {
		return nil, badParam("", "the query has a parameter that is not known here")
	}
	return q, nil
}

// instant reads an RFC 3339 time, with any offset; nil when it is not given.
func (q query) instant(name string) (*time.Time, error) {
	s, ok := q[name]
	if !ok {
		return nil, nil
	}
	t, ok := frames.ParseRFC3339(s)
	if !ok || t.Year() < 1 {
		return nil, badParam(name, "an RFC 3339 time is required, such as 2026-11-30T00:00:00Z (a + in an offset is written %2B)")
	}
	return &t, nil
}

// period reads from and to, a half-open interval.
func (q query) period() (from, to *time.Time, err error) {
	if from, err = q.instant("from"); err != nil {
		return nil, nil, err
	}
	if to, err = q.instant("to"); err != nil {
		return nil, nil, err
	}
	if from != nil && to != nil && !from.Before(*to) {
		return nil, nil, badParam("to", "it must be later than from: the period is half-open")
	}
	return from, to, nil
}

// decimal reads an integer of 0 or more in its one spelling, so that nothing has two addresses: no sign, no leading zeros.
func decimal(text string) (n int64, ok bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n >= 0 && strconv.FormatInt(n, 10) == text
}

// number reads a decimal integer within bounds, both included.
func (q query) number(name string, or, low, high int64) (int64, error) {
	s, ok := q[name]
	if !ok {
		return or, nil
	}
	n, ok := decimal(s)
	if !ok || n < low || n > high {
		return 0, badParam(name, "an integer from "+strconv.FormatInt(low, 10)+" to "+strconv.FormatInt(high, 10)+" is required")
	}
	return n, nil
}

// flag reads true or false; false when it is not given.
func (q query) flag(name string) (bool, error) {
	switch s, ok := q[name]; {
	case !ok, s == "false":
		return false, nil
	case s == "true":
		return true, nil
	}
	return false, badParam(name, "true or false is required")
}

// identifier reads a name, bounded like every name that is recorded.
func (q query) identifier(name string) (string, error) {
	s, ok := q[name]
	if !ok {
		return "", nil
	}
	if s == "" || kinds.CheckName(s) != nil {
		return "", badParam(name, "it must be 1 to 512 bytes of UTF-8 without control characters")
	}
	return s, nil
}

// identifiers reads several names, each into its field. They are read in order, so that of two faults the same is told each time.
func (q query) identifiers(fields map[string]*string) (err error) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if *fields[name], err = q.identifier(name); err != nil {
			return err
		}
	}
	return nil
}
