package assembly

import (
	"github.com/go-json-experiment/json/jsontext"

	"ledgerd/internal/strictjson"
)

func (r reader) requirement() Word  { return r.wordOf(required, optional) }
func (r reader) sensitivity() Word  { return r.wordOf(public, private, sensitive) }
func (r reader) proposerRule() Word { return r.wordOf(proposalRequired, proposalOptional) }
func (r reader) operation() Word    { return r.wordOf(contribute, proposeCompaction) }

func (r reader) wordList() []Word        { return r.words(r.word) }
func (r reader) sensitivityList() []Word { return r.words(r.sensitivity) }

// maxWords bounds a list of words, which other lists are held against.
const maxWords = 128

func (r reader) words(read func() Word) []Word {
	all := list(r, read)
	if len(all) > maxWords {
		r.Fail(strictjson.RuleValue, "a list of words has at most 128")
	}
	return all
}

func (r reader) pair() (p pair) {
	r.Object(into("source_class", &p.class, r.token), into("namespace", &p.namespace, r.token))
	return p
}

// digestOf is the digest over a value that was just read; nothing when reading it failed.
func (r reader) digestOf(domain string, raw jsontext.Value, without string) string {
	if r.Failed() {
		return ""
	}
	digest, err := digestJSON(domain, raw, without)
	if err != nil {
		r.Fail(strictjson.RuleSyntax, "the value has no canonical form")
	}
	return digest
}
