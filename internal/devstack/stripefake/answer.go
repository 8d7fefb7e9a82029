package stripefake

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// refusal is an error as Stripe writes it.
type refusal struct {
	status  int
	Type    string `json:"type"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
	Param   string `json:"param,omitempty"`
}

func invalid(code, param, format string, args ...any) *refusal {
	return &refusal{status: http.StatusBadRequest, Type: "invalid_request_error", Code: code, Param: param, Message: fmt.Sprintf(format, args...)}
}

func missing(what, id string) *refusal {
	return &refusal{status: http.StatusNotFound, Type: "invalid_request_error", Code: "resource_missing", Param: "id", Message: fmt.Sprintf("No such %s: '%s'", what, id)}
}

func (e *refusal) body() string { return text(map[string]any{"error": e}) }

func text(v any) string {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return "{}" // only what can be marshalled is given
	}
	return string(raw) + "\n"
}

// write answers with JSON.
func write(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body)) // whoever has gone away gets no answer
}

func refuse(w http.ResponseWriter, e *refusal) { write(w, e.status, e.body()) }

// authorized demands the account's key and names the request.
func (f *Fake) authorized(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.requests++
		w.Header().Set("Request-Id", fmt.Sprintf("req_%08d", f.requests))
		f.mu.Unlock()
		key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok || key == "" || (f.key != "" && key != f.key) {
			refuse(w, &refusal{status: http.StatusUnauthorized, Type: "invalid_request_error", Message: "Invalid API Key provided: " + key})
			return
		}
		h(w, r)
	}
}

func (f *Fake) unknown(w http.ResponseWriter, r *http.Request) {
	refuse(w, &refusal{status: http.StatusNotFound, Type: "invalid_request_error", Message: "Unrecognized request URL (" + r.Method + ": " + r.URL.Path + ")."})
}
