// Package web is the embedded console: static files that speak only the public API.
package web

import (
	"embed"
	"net/http"
)

//go:embed index.html assets
var files embed.FS

// Handler serves the page at / and the files below /assets/. Nothing is loaded from elsewhere, which the page's policy
// also forbids.
func Handler() http.Handler {
	static := http.FileServerFS(files)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache")
		static.ServeHTTP(w, r)
	})
}
