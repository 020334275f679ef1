package bleve

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/custom"
	"github.com/blevesearch/bleve/v2/analysis/token/length"
	"github.com/blevesearch/bleve/v2/analysis/token/lowercase"
	"github.com/blevesearch/bleve/v2/analysis/tokenizer/unicode"
	"github.com/blevesearch/bleve/v2/mapping"

	"github.com/tablewake/tablewake/sinks/search"
)

// Own fields, below _tw, a name that no document has for its own use.
const (
	own          = "_tw"
	versionField = own + ".version" // stored
	birthField   = own + ".birth"   // stored
	sourceField  = own + ".source"  // stored: the document; tombstones have none
	deletedField = own + ".deleted" // indexed: true of tombstones
	voidField    = own + ".void"    // stored: of tombstones that the same version may replace
)

// newMapping finds documents by any field, without being told which there are:
// text by its words in lower case, whatever the language; RFC 3339 text as times,
// numbers as such, booleans as words. A document is stored once, as it was written.
func newMapping() mapping.IndexMapping {
	m := bleve.NewIndexMapping()
	const words, handy = "words", "handy"
	// The error of adding an analyzer is that of m.Validate, which making the index calls.
	_ = m.AddCustomTokenFilter(handy, map[string]any{"type": length.Name, "min": 1.0, "max": 256.0}) // no base64 of binaries
	_ = m.AddCustomAnalyzer(words, map[string]any{
		"type": custom.Name, "tokenizer": unicode.Name, "token_filters": []string{lowercase.Name, handy},
	})
	m.DefaultAnalyzer = words
	m.StoreDynamic = false
	m.DocValuesDynamic = false

	stored := bleve.NewTextFieldMapping()
	stored.Index, stored.IncludeInAll, stored.IncludeTermVectors, stored.DocValues = false, false, false, false
	deleted := bleve.NewBooleanFieldMapping()
	deleted.Store, deleted.IncludeInAll, deleted.DocValues = false, false, false
	tw := bleve.NewDocumentStaticMapping()
	tw.AddFieldMappingsAt("version", stored)
	tw.AddFieldMappingsAt("birth", stored)
	tw.AddFieldMappingsAt("source", stored)
	tw.AddFieldMappingsAt("void", stored)
	tw.AddFieldMappingsAt("deleted", deleted)
	m.DefaultMapping.AddSubDocumentMapping(own, tw)
	m.DefaultMapping.AddSubDocumentMapping("_all", bleve.NewDocumentDisabledMapping())
	return m
}

// fieldsOf is a mutation as fields to index. Bleve's own fields and those of this
// package are not for attributes of the same name to write: these are kept in the
// document, and cannot be searched.
func fieldsOf(m *search.Mutation) (map[string]any, error) {
	if m.Tombstone {
		tombstone := map[string]any{"version": m.Version.String(), "birth": m.Birth, "deleted": true}
		if m.Void {
			tombstone["void"] = "true"
		}
		return map[string]any{own: tombstone}, nil
	}
	var fields map[string]any
	if err := json.Unmarshal(m.Doc, &fields); err != nil {
		return nil, fmt.Errorf("not a JSON object: %w", err)
	}
	for name := range fields {
		if name == "_id" || name == "_all" || strings.HasPrefix(name, own) {
			delete(fields, name)
		}
	}
	spellBooleans(fields)
	fields[own] = map[string]any{"version": m.Version.String(), "birth": m.Birth, "source": string(m.Doc)}
	return fields, nil
}

// spellBooleans puts true and false as words: query strings ask for words.
func spellBooleans(v any) any {
	switch v := v.(type) {
	case bool:
		return strconv.FormatBool(v)
	case []any:
		for i := range v {
			v[i] = spellBooleans(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = spellBooleans(v[name])
		}
	}
	return v
}
