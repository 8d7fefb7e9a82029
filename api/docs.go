package api

import (
	"bytes"
	"html/template"
)

const htmlType = "text/html; charset=utf-8"

// documentation renders the route table and the problem types as one page, which is also what a problem's type points to.
func documentation(routes []*Route) ([]byte, error) {
	var b bytes.Buffer
	err := docsPage.Execute(&b, struct {
		Routes   []*Route
		Problems []Problem
	}{routes, ProblemCodes()})
	return b.Bytes(), err
}

var docsPage = template.Must(template.New("docs").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><title>ledgerd API</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
code{font:14px ui-monospace,monospace;background:#f3f4f6;padding:.1em .3em;border-radius:3px}
h2{margin-top:2.5rem}h3{margin:1.8rem 0 .2rem}p{margin:.3rem 0}
table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.35rem .6rem;border-bottom:1px solid #ddd}
tr:target{background:#fff3c4}.who{color:#57606a;font-size:14px}
@media (prefers-color-scheme:dark){body{color:#e6e8eb;background:#14171a}code{background:#23272c}td,th{border-color:#333}tr:target{background:#4a3f10}a{color:#8ab4f8}}
</style>
<h1>ledgerd API</h1>
<p>The machine-readable description is <a href="/openapi.json">/openapi.json</a> (OpenAPI 3.1).
Send a bearer token in <code>Authorization</code>; your tenant and role come from it.
Errors are <code>application/problem+json</code>; a problem's <code>type</code> leads to its row below.</p>
<h2>Endpoints</h2>
{{range .Routes}}<h3 id="{{.Name}}"><code>{{.Method}} {{.Path}}</code></h3>
<p>{{.Summary}}. {{.Doc}}</p>
<p class="who">{{if .Public}}public{{else}}roles:{{range .Roles}} {{.}}{{end}}{{end}}</p>
{{if or .Query .Segments .Header}}<table>{{range .Segments}}<tr><td><code>{{.Name}}</code><td>path<td>{{.Doc}}{{end}}{{range .Query}}<tr><td><code>{{.Name}}</code><td>query{{if .Required}}, required{{end}}<td>{{.Doc}}{{end}}{{range .Header}}<tr><td><code>{{.Name}}</code><td>header<td>{{.Doc}}{{end}}</table>{{end}}
{{end}}<h2>Problems</h2>
<table><tr><th>code<th>status<th>meaning{{range .Problems}}
<tr id="{{.Code}}"><td><code>{{.Code}}</code><td>{{.Status}}<td>{{.Title}}.{{end}}
</table>
</html>
`))
