package assembly

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/gowebpki/jcs"
)

// tree is a JSON object that a test can change.
type tree = map[string]any

// edit changes a tree.
type edit func(tree)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// treeOf is a deep copy with JSON's own types.
func treeOf(v any) tree {
	var t tree
	if err := json.Unmarshal(must(json.Marshal(v)), &t); err != nil {
		panic(err)
	}
	return t
}

// holder walks to the container of a pointer's last step.
func holder(t tree, at string) (any, string) {
	steps := strings.Split(strings.TrimPrefix(at, "/"), "/")
	var v any = t
	for _, s := range steps[:len(steps)-1] {
		v = child(v, s)
	}
	return v, steps[len(steps)-1]
}

func child(v any, step string) any {
	if list, ok := v.([]any); ok {
		return list[must(strconv.Atoi(step))]
	}
	return v.(tree)[step]
}

func get(t tree, at string) any {
	v, last := holder(t, at)
	return child(v, last)
}

// put sets what stands at a pointer; "-" appends to a list.
func put(at string, value any) edit {
	return func(t tree) {
		v, last := holder(t, at)
		value := must(clone(value), nil)
		switch v := v.(type) {
		case tree:
			v[last] = value
		case []any:
			if last != "-" {
				v[must(strconv.Atoi(last))] = value
				return
			}
			up := at[:strings.LastIndex(at, "/")]
			put(up, append(v, value))(t)
		}
	}
}

func drop(at string) edit {
	return func(t tree) {
		v, last := holder(t, at)
		if list, ok := v.([]any); ok {
			i := must(strconv.Atoi(last))
			put(at[:strings.LastIndex(at, "/")], append(append([]any{}, list[:i]...), list[i+1:]...))(t)
			return
		}
		delete(v.(tree), last)
	}
}

func all(edits ...edit) edit {
	return func(t tree) {
		for _, e := range edits {
			e(t)
		}
	}
}

func clone(v any) any {
	var out any
	if err := json.Unmarshal(must(json.Marshal(v)), &out); err != nil {
		panic(err)
	}
	return out
}

// digestTwice is a digest by the second encoder of RFC 8785, which the package does not use.
func digestTwice(domain string, v any) string {
	b := append([]byte(domain), must(jcs.Transform(must(json.Marshal(v))))...)
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// hashOf is the digest of a test's text payload.
func hashOf(s string) string { return PayloadDigest("text", []byte(s)) }

const (
	tenant, agent           = "c0d1e2f3-0000-4000-8000-000000000001", "c0d1e2f3-0000-4000-8000-000000000002"
	workspace, conversation = "c0d1e2f3-0000-4000-8000-000000000003", "c0d1e2f3-0000-4000-8000-000000000004"
	turn, assemblyID        = "c0d1e2f3-0000-4000-8000-000000000005", "c0d1e2f3-0000-4000-8000-000000000006"
	snapshotID              = "c0d1e2f3-0000-4000-8000-000000000007"
)

// clock is a time of the fixture's minute.
func clock(seconds float64) string {
	return fmt.Sprintf("2026-11-30T09:00:%06.3fZ", seconds)
}

func amount(items, bytes, tokens int) tree {
	return tree{"items": items, "bytes": bytes, "tokens": tokens}
}

func bound(items, bytes, tokens, perItem int) tree {
	return tree{"items": items, "bytes": bytes, "tokens": tokens, "per_item_bytes": perItem}
}
