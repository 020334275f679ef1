package search

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// MaxID is the longest document id that OpenSearch accepts, in bytes.
const MaxID = 512

// DocumentID returns the id of an item's document. It is the canonical key, or "sha256:" and the digest of the key in
// hex if the key is longer than 512 bytes. A canonical key contains no colon, so no two items share an id.
// [Options].HashID selects other ids.
func DocumentID(k item.Key) string {
	if len(k) <= MaxID {
		return string(k)
	}
	sum := sha256.Sum256([]byte(k))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// elementMark is between the id of an item's document and the escaped identity of an element. No id of an item's
// document contains it.
const elementMark = "::"

// ElementID returns the id of an element's document. k is the canonical key of its item, and identity distinguishes the
// element in that item. The id is k, "::" and the escaped identity. If this id is longer than 512 bytes, it is replaced
// by "sha256:" and its digest in hex.
func ElementID(k item.Key, identity string) string {
	return DocumentID(item.Key(item.AppendEscaped([]byte(string(k)+elementMark), identity)))
}

// ItemOf returns the key of the item that a document id belongs to. id is the id of the item's document, or of a
// document of one of its elements. ItemOf returns "" if the id is a digest.
func ItemOf(id string) item.Key {
	id, _, _ = strings.Cut(id, elementMark)
	if _, _, err := item.Key(id).Decode(); err != nil {
		return ""
	}
	return item.Key(id)
}

// id returns the id of the document of c's item. Hidden key attributes are masked.
func (s *Sink) id(c *record.Change) string {
	if s.o.HashID {
		return "hmac:" + s.hasher.hashOf("id:"+string(c.Key))
	}
	return DocumentID(s.o.Mask.Key(c))
}

// CheckIndex returns an error if OpenSearch does not accept the name of an index. A name has at most 255 bytes. It has
// no upper-case letter, no space and none of the characters \ / * ? " < > | # : and comma. It does not begin with - _
// or +, and is neither . nor .. alone.
func CheckIndex(name string) error {
	const forbidden = "\\/*?\"<>|#:, \t\r\n\x00"
	switch {
	case name == "":
		return errs.Errorf("the index name is empty")
	case len(name) > 255:
		return errs.Errorf("the index name has %d bytes; 255 are allowed", len(name))
	case name == "." || name == "..":
		return errs.Errorf("an index cannot be named %q", name)
	case strings.ContainsRune("-_+", rune(name[0])):
		return errs.Errorf("the index name starts with %q, which is not allowed", name[:1])
	case strings.ContainsAny(name, forbidden):
		return errs.Errorf("the index name holds %q, which is not allowed; use the template function index_name",
			name[strings.IndexAny(name, forbidden)])
	case strings.ToLower(name) != name:
		return errs.Errorf(
			"the index name holds an upper-case letter, which is not allowed; use the template function index_name")
	}
	return nil
}
