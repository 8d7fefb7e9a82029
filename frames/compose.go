package frames

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"ledgerd/internal/strictjson"
)

// Kind is a frame's kind, a closed set on the wire.
type Kind string

// The kinds of frames.
const (
	Snippet Kind = "snippet"
	Symbol  Kind = "symbol"
	Fact    Kind = "fact"
	Doc     Kind = "doc"
	Memory  Kind = "memory"
	Episode Kind = "episode"
	Graph   Kind = "graph"
)

// IsKnown says whether k is one of the seven kinds.
func (k Kind) IsKnown() bool {
	switch k {
	case Snippet, Symbol, Fact, Doc, Memory, Episode, Graph:
		return true
	}
	return false
}

// Frame is what composition needs of a context frame. Score, cost, uri, provenance and times are left out on purpose:
// nothing rendered may depend on them (context-reuse D3). A Frame holds content, so it is never stored in the ledger.
type Frame struct {
	ID   FrameID
	Kind Kind
	// Title stands in for a citation label that is blank or absent.
	Title string
	// CitationLabel is rendered as it is, untrimmed, unless it is blank.
	CitationLabel string
	// Content is the inline content; an absent one is empty.
	Content string
}

// DecodeFrame reads a ContextFrame where d stands, offered by the given provider. Members that are not rendered are read
// over.
func DecodeFrame(d *strictjson.Decoder, providerID string) Frame {
	f := Frame{ID: FrameID{ProviderID: providerID}}
	d.Object(
		strictjson.Req("id", func() { f.ID.FrameID = d.String() }),
		strictjson.Req("kind", func() {
			f.Kind = Kind(d.String())
			if !d.Failed() && !f.Kind.IsKnown() {
				d.Fail(strictjson.RuleValue, "a frame is a snippet, symbol, fact, doc, memory, episode or graph")
			}
		}),
		strictjson.Req("title", func() { f.Title = d.String() }),
		strictjson.Opt("content", func() { f.Content = orEmpty(d.OptString()) }),
		strictjson.Opt("citation_label", func() { f.CitationLabel = orEmpty(d.OptString()) }),
		strictjson.Opt("content_digest", func() { f.ID.ContentDigest = DigestOf(d.OptString()) }),
	)
	return f
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Compose renders frames to the bytes of the reference's compose_context (context-reuse D2, D3): one block a frame, in
// canonical order, nothing between the blocks, equal identities collapsed to the one that arrived first. The result does
// not depend on arrival order unless one identity has two contents; see ComposeFindings.
//
//	<frame provider="wiki" id="a" kind="doc" cite="a p. 1">
//	Alpha text.
//	</frame>
func Compose(frames []Frame) string {
	sorted := slices.Clone(frames)
	slices.SortStableFunc(sorted, func(a, b Frame) int { return Compare(a.ID, b.ID) })
	sorted = slices.CompactFunc(sorted, func(a, b Frame) bool { return a.ID == b.ID })
	var b strings.Builder
	for _, f := range sorted {
		f.render(&b)
	}
	return b.String()
}

func (f Frame) render(b *strings.Builder) {
	b.WriteString(`<frame provider="`)
	escapeAttribute.WriteString(b, f.ID.ProviderID)
	b.WriteString(`" id="`)
	escapeAttribute.WriteString(b, f.ID.FrameID)
	b.WriteString(`" kind="`)
	escapeAttribute.WriteString(b, string(f.Kind))
	b.WriteString(`" cite="`)
	escapeAttribute.WriteString(b, f.cite())
	b.WriteString("\">\n")
	quote(b, f.Content)
	b.WriteString("\n</frame>\n")
}

func (f Frame) cite() string {
	if strings.TrimFunc(f.CitationLabel, unicode.IsSpace) == "" {
		return f.Title
	}
	return f.CitationLabel
}

// escapeAttribute keeps a value inside its quotes and on its line. It is immutable and safe for concurrent use.
var escapeAttribute = strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;", ">", "&gt;", "\n", " ", "\r", " ")

// quote writes content so that it can't open or close a fence (protocol-surface R3): a backslash after each "<" that
// begins "<frame" or "</frame" in any ASCII case, whatever follows. Nothing else changes.
func quote(b *strings.Builder, content string) {
	for {
		i := strings.IndexByte(content, '<')
		if i < 0 {
			b.WriteString(content)
			return
		}
		b.WriteString(content[:i+1])
		content = content[i+1:]
		if startsFence(content) {
			b.WriteByte('\\')
		}
	}
}

func startsFence(afterLess string) bool {
	name := strings.TrimPrefix(afterLess, "/")
	if len(name) < len("frame") {
		return false
	}
	for i := range len("frame") {
		if name[i]|0x20 != "frame"[i] { // ASCII only: strings.EqualFold would fold other letters too
			return false
		}
	}
	return true
}

// ComposeFindings finds d1-conflict: an identity that arrived with two contents (context-reuse D1). Pointers are indexes
// into frames.
func ComposeFindings(frames []Frame) []Finding {
	var f Findings
	first := make(map[FrameID]string, len(frames))
	for i, frame := range frames {
		content, seen := first[frame.ID]
		switch {
		case !seen:
			first[frame.ID] = frame.Content
		case content != frame.Content:
			f.Add(D1Conflict, DocReuseD1, "/"+strconv.Itoa(i))
		}
	}
	return f.List()
}

// OrderFindings finds duplicate-identity in an emitted order (context-reuse D2): composition should collapse them.
// Pointers are indexes into ids.
func OrderFindings(ids []FrameID) []Finding {
	var f Findings
	seen := make(map[FrameID]bool, len(ids))
	for i, id := range ids {
		if seen[id] {
			f.Add(DuplicateIdentity, DocReuseD2, "/"+strconv.Itoa(i))
		}
		seen[id] = true
	}
	return f.List()
}
