package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"

	"ledgerd/frames"
)

// describe makes the OpenAPI 3.1 document from the route table and the Go types of the bodies.
func describe(routes []*Route, version string) ([]byte, error) {
	d := describer{schemas: map[string]any{}}
	paths := map[string]map[string]any{}
	for _, r := range routes {
		op, err := d.operation(r)
		if err != nil {
			return nil, fmt.Errorf("describing %s %s: %w", r.Method, r.Path, err)
		}
		if paths[r.Path] == nil {
			paths[r.Path] = map[string]any{}
		}
		paths[r.Path][strings.ToLower(r.Method)] = op
	}
	return json.MarshalIndent(map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{
			"title": "ledgerd", "version": version,
			"summary":     "The audit ledger of AI context: what left the machine, to whom, who agreed, when.",
			"description": "Errors are RFC 9457 problems; " + "/docs lists every type. Unknown members, unknown query parameters and wrong case are refused.",
			"license":     map[string]any{"name": "Apache-2.0", "identifier": "Apache-2.0"},
		},
		"paths": paths,
		"components": map[string]any{
			"schemas":         d.schemas,
			"securitySchemes": map[string]any{"token": map[string]any{"type": "http", "scheme": "bearer"}},
		},
	}, "", " ")
}

// describer gathers the schemas of named types under components.
type describer struct{ schemas map[string]any }

func (d *describer) operation(r *Route) (map[string]any, error) {
	responses, err := d.responses(r)
	if err != nil {
		return nil, err
	}
	op := map[string]any{"operationId": r.Name, "summary": r.Summary, "responses": responses, "security": []any{}}
	if r.Doc != "" {
		op["description"] = r.Doc
	}
	if !r.Public {
		op["security"] = []any{map[string]any{"token": []string{}}}
		op["x-roles"] = r.Roles
	}
	if params := parameters(r); len(params) > 0 {
		op["parameters"] = params
	}
	if r.Body != nil {
		content, err := d.content(r.Body, r.BodyType)
		if err != nil {
			return nil, err
		}
		op["requestBody"] = map[string]any{"required": true, "content": content}
	}
	return op, nil
}

func parameters(r *Route) []any {
	var list []any
	for _, in := range []struct {
		place  string
		params []Param
	}{{"path", r.Segments}, {"query", r.Query}, {"header", r.Header}} {
		for _, p := range in.params {
			list = append(list, map[string]any{"name": p.Name, "in": in.place, "required": p.Required, "description": p.Doc, "schema": formSchema(p.Form)})
		}
	}
	return list
}

func formSchema(form string) map[string]any {
	if form == "date-time" {
		return map[string]any{"type": "string", "format": form}
	}
	return map[string]any{"type": form}
}

func (d *describer) responses(r *Route) (map[string]any, error) {
	list := map[string]any{}
	for _, reply := range r.Replies {
		content, err := d.content(reply.Body, reply.Type)
		if err != nil {
			return nil, err
		}
		status := strconv.Itoa(reply.Status)
		if one, ok := list[status].(map[string]any); ok { // the same answer in another form
			maps.Copy(one["content"].(map[string]any), content)
			continue
		}
		list[status] = map[string]any{"description": reply.Doc, "content": content}
	}
	codes := map[int][]string{}
	for _, code := range routeProblems(r) {
		p := newProblem(code)
		if p.Code != code {
			return nil, fmt.Errorf("problem %q is not in the table", code)
		}
		codes[p.Status] = append(codes[p.Status], code)
	}
	content, err := d.content(Problem{}, problemType)
	if err != nil {
		return nil, err
	}
	for status, of := range codes {
		list[strconv.Itoa(status)] = map[string]any{"description": http.StatusText(status) + ": " + strings.Join(of, ", "), "content": content}
	}
	return list, nil
}

// routeProblems are the codes that a route may answer: its own, and those that follow from what it takes.
func routeProblems(r *Route) []string {
	codes := append([]string{"internal", "timeout"}, r.Problems...)
	codes = append(codes, "invalid-parameter") // an unknown query parameter, at least
	if !r.Public {
		codes = append(codes, "unauthorized", "forbidden")
	}
	if r.Memory > 0 || (r.Body != nil && !r.Public) {
		codes = append(codes, "busy")
	}
	if r.Body != nil {
		codes = append(codes, "wrong-type", "unsupported-media-type", "body-too-large", "invalid-encoding", "body-incomplete")
	}
	return codes
}

func (d *describer) content(body any, media string) (map[string]any, error) {
	if media == "" {
		media = jsonType
	}
	schema, err := d.schema(body)
	if err != nil {
		return nil, err
	}
	return map[string]any{media: map[string]any{"schema": schema}}, nil
}

// schema is a reference to the schema of a named struct, which it adds, or an inline schema.
func (d *describer) schema(body any) (any, error) {
	t := reflect.TypeOf(body)
	if t.Kind() == reflect.Struct {
		if _, ok := d.schemas[t.Name()]; !ok {
			s, err := jsonschema.ForType(t, schemaOptions)
			if err != nil {
				return nil, err
			}
			d.schemas[t.Name()] = s
		}
		return map[string]any{"$ref": "#/components/schemas/" + t.Name()}, nil
	}
	return jsonschema.ForType(t, schemaOptions)
}

// schemaOptions say what types with an encoding of their own look like.
var schemaOptions = &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[time.Time]():      {Type: "string", Format: "date-time"},
	reflect.TypeFor[jsontext.Value](): {Description: "any JSON value"},
	reflect.TypeFor[frames.Digest]():  {Types: []string{"null", "string"}},
}}
