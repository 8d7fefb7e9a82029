package rooms_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Time is a parameter of a core: none asks a clock, so that every verdict can be computed again with the same answer.
func TestCoresReadNoClock(t *testing.T) {
	t.Parallel()
	clock := []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}
	for room, p := range ours(t) {
		if !slices.Contains(cores, room) && room != "internal/kinds" && !strings.HasPrefix(room, "internal/audit") && room != "internal/strictjson" {
			continue
		}
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if of, ok := call.X.(*ast.Ident); ok && of.Name == "time" && slices.Contains(clock, call.Sel.Name) {
					t.Errorf("%s/%s reads a clock: time.%s", room, name, call.Sel.Name)
				}
				return true
			})
		}
	}
}
