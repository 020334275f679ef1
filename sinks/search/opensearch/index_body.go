package opensearch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/search"
)

// own is the field that says who wrote a document, at which version, and whether it is
// a tombstone. Who asks for versions asks by id, so that only tombstones are indexed.
const own = `{"dynamic":false,"properties":{
	"version":{"type":"keyword","index":false,"doc_values":false},
	"by":{"type":"keyword","index":false,"doc_values":false},
	"birth":{"type":"keyword"},
	"deleted":{"type":"boolean"},
	"gone":{"type":"date"}}}`

// blueprint is what an index is made of.
type blueprint struct {
	settings map[string]any
	mappings map[string]any
	leaves   map[string]string // all of it, by path
	defaults defaults          // of an index that is made: never compared
}

// newBlueprint reads what the file of a mapping says: {"settings": ..., "mappings": ...},
// or what stands in mappings alone.
func newBlueprint(mapping json.RawMessage, fields search.Fields, declared map[string]pipeline.Kind) (*blueprint, error) {
	b := &blueprint{settings: map[string]any{}, mappings: map[string]any{}}
	if len(mapping) > 0 {
		if err := b.read(mapping); err != nil {
			return nil, err
		}
	}
	if err := b.numbers(fields); err != nil {
		return nil, err
	}
	properties, err := object(b.mappings, "properties")
	if err != nil {
		return nil, err
	}
	for name := range properties {
		if name == "_tw" || strings.HasPrefix(name, "_tw.") {
			return nil, errors.New("it maps _tw, which is where a document keeps its version: leave it out")
		}
	}
	if _, says := b.mappings["_source"]; says {
		return nil, errors.New("it says _source: documents are kept as they were written, because their versions are read there; leave it out")
	}
	ours, err := decodeJSON([]byte(own))
	if err != nil {
		return nil, err
	}
	properties = maps.Clone(properties)
	if properties == nil {
		properties = map[string]any{}
	}
	properties["_tw"] = ours
	b.mappings["properties"] = properties
	b.leaves = make(map[string]string)
	flattenSettings(b.leaves, "", b.settings)
	flattenMapping(b.leaves, "mappings", b.mappings)
	b.defaults, err = newDefaults(b.mappings, fields, declared)
	return b, err
}

func (b *blueprint) read(mapping json.RawMessage) error {
	v, err := decodeJSON(mapping)
	if err != nil {
		return err
	}
	whole, ok := v.(map[string]any)
	if !ok {
		return errs.New("it is no JSON object")
	}
	_, settings := whole["settings"]
	_, mappings := whole["mappings"]
	if !settings && !mappings {
		b.mappings = whole
		return nil
	}
	for name := range whole {
		if name != "settings" && name != "mappings" {
			return errs.Errorf("%q stands beside settings and mappings: these two are what an index is made of", name)
		}
	}
	if b.settings, err = object(whole, "settings"); err != nil {
		return err
	}
	b.mappings, err = object(whole, "mappings")
	if b.mappings == nil {
		b.mappings = map[string]any{}
	}
	return err
}

// body asks the server for an index behind an alias.
func (b *blueprint) body(by owner) ([]byte, error) {
	mappings := b.defaults.into(b.mappings)
	meta, err := object(mappings, "_meta")
	if err != nil {
		return nil, err
	}
	meta = maps.Clone(meta)
	if meta == nil {
		meta = map[string]any{}
	}
	meta["tablewake"] = by
	mappings["_meta"] = meta
	return json.Marshal(map[string]any{
		"settings": b.settings,
		"mappings": mappings,
		"aliases":  map[string]alias{by.Index: {Filter: json.RawMessage(live), Writes: true}},
	})
}

// numbers checks that what is written for a mapping that scales it has one.
func (b *blueprint) numbers(fields search.Fields) error {
	for _, path := range slices.Sorted(maps.Keys(fields.Numbers)) {
		if fields.Numbers[path] != search.NumberScaledFloat {
			continue
		}
		at, err := written(path, fields.Rename)
		if err != nil {
			return err
		}
		if err := b.scaled(at); err != nil {
			return fmt.Errorf("numbers: %s is scaled_float, but %w: the index would keep it as a float, which loses digits", path, err)
		}
	}
	return nil
}

// scaled is nil where the field at, or every number inside, is mapped as scaled_float.
func (b *blueprint) scaled(at []string) error {
	field := b.mappings
	for _, name := range at {
		properties, err := object(field, "properties")
		if err != nil {
			return err
		}
		inner, ok := properties[name].(map[string]any)
		if !ok {
			inner, ok = b.dotted(at)
		}
		if !ok {
			if _, rules := b.mappings["dynamic_templates"]; rules {
				return nil // which fields they take, the server knows
			}
			return errs.Errorf("the mapping does not map %s so", strings.Join(at, "."))
		}
		field = inner
	}
	if kind, _ := field["type"].(string); kind == "scaled_float" {
		return nil
	}
	found := false
	for path, kind := range leavesOf(field) {
		if path != "type" && !strings.HasSuffix(path, ".type") {
			continue
		}
		switch kind {
		case "scaled_float":
			found = true
		case "long", "integer", "short", "byte", "double", "float", "half_float", "unsigned_long", "keyword", "text":
			if path == "type" {
				return errs.Errorf("the mapping says that %s is %s", strings.Join(at, "."), kind)
			}
		}
	}
	if !found {
		return errs.Errorf("the mapping does not map %s so", strings.Join(at, "."))
	}
	return nil
}

// dotted is the field that the mapping names by its whole path.
func (b *blueprint) dotted(at []string) (map[string]any, bool) {
	properties, _ := b.mappings["properties"].(map[string]any)
	field, ok := properties[strings.Join(at, ".")].(map[string]any)
	return field, ok
}

// written is where an attribute stands in documents.
func written(path string, rename map[string]string) ([]string, error) {
	at, err := namesOf(path)
	if err != nil {
		return nil, err
	}
	as := slices.Clone(at)
	for from, to := range rename {
		names, err := namesOf(from)
		if err != nil {
			return nil, err
		}
		if n := len(names); n > 0 && n <= len(at) && slices.Equal(names, at[:n]) {
			as[n-1] = to
		}
	}
	return as, nil
}

func namesOf(path string) ([]string, error) {
	p, err := pipeline.ParsePath(path)
	if err != nil {
		return nil, err
	}
	names, ok := p.Names()
	if !ok {
		return nil, errs.Errorf("%q names an element of a list", path)
	}
	return names, nil
}

// object is a member that is an object; nil where there is none.
func object(of map[string]any, name string) (map[string]any, error) {
	v, ok := of[name]
	if !ok || v == nil {
		return nil, nil
	}
	o, ok := v.(map[string]any)
	if !ok {
		return nil, errs.Errorf("%q is no object", name)
	}
	return o, nil
}

// decodeJSON reads JSON with its numbers as they are written.
func decodeJSON(b []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// canonicalJSON is v as text that is the same however the server spells it: it has
// scalars as strings in some places, and 100 as 100.0 in others.
func canonicalJSON(v any) string {
	switch v := v.(type) {
	case map[string]any:
		parts := make([]string, 0, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, strconv.Quote(name)+":"+canonicalJSON(v[name]))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = canonicalJSON(v[i])
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	text := fmt.Sprint(v)
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return text
}
