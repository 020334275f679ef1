// Package indexmap reads the mapping file of a search sink: what an index of OpenSearch is made
// of. The configuration's rules and the store that makes the index read it alike.
package indexmap

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/item"
)

// Read reads {"settings": ..., "mappings": ...}, or what mappings alone holds. It answers empty maps
// for an empty file, and refuses what a sink's index cannot be made of.
func Read(file json.RawMessage) (settings, mappings map[string]any, err error) {
	settings, mappings = map[string]any{}, map[string]any{}
	if len(file) > 0 {
		if settings, mappings, err = parts(file); err != nil {
			return nil, nil, err
		}
	}
	properties, err := Object(mappings, "properties")
	if err != nil {
		return nil, nil, err
	}
	for name := range properties {
		if name == "_tw" || strings.HasPrefix(name, "_tw.") {
			return nil, nil, errors.New("it maps _tw, which is where a document keeps its version: leave it out")
		}
	}
	if _, says := mappings["_source"]; says {
		return nil, nil, errors.New("it says _source: documents are kept as they were written, because their versions are read there; leave it out")
	}
	if _, err := Object(mappings, "_meta"); err != nil {
		return nil, nil, err
	}
	return settings, mappings, nil
}

func parts(file json.RawMessage) (settings, mappings map[string]any, err error) {
	v, err := Decode(file)
	if err != nil {
		return nil, nil, err
	}
	whole, ok := v.(map[string]any)
	if !ok {
		return nil, nil, errors.New("it is no JSON object")
	}
	_, hasSettings := whole["settings"]
	_, hasMappings := whole["mappings"]
	if !hasSettings && !hasMappings {
		return map[string]any{}, whole, nil
	}
	for name := range whole {
		if name != "settings" && name != "mappings" {
			return nil, nil, fmt.Errorf("%q stands beside settings and mappings: these two are what an index is made of", name)
		}
	}
	if settings, err = Object(whole, "settings"); err != nil {
		return nil, nil, err
	}
	mappings, err = Object(whole, "mappings")
	if mappings == nil {
		mappings = map[string]any{}
	}
	return settings, mappings, err
}

// Scaled is nil where the field of the attribute at path, or every number inside, is mapped as
// scaled_float. rename holds the names of renamed fields by path.
func Scaled(mappings map[string]any, path string, rename map[string]string) error {
	at, err := Written(path, rename)
	if err != nil {
		return err
	}
	field := mappings
	for _, name := range at {
		properties, err := Object(field, "properties")
		if err != nil {
			return err
		}
		inner, ok := properties[name].(map[string]any)
		if !ok {
			inner, ok = dotted(mappings, at)
		}
		if !ok {
			if _, rules := mappings["dynamic_templates"]; rules {
				return nil // which fields they take, the server knows
			}
			return fmt.Errorf("the mapping does not map %s so", strings.Join(at, "."))
		}
		field = inner
	}
	if kind, _ := field["type"].(string); kind == "scaled_float" {
		return nil
	}
	kind, _ := field["type"].(string)
	switch kind {
	case "long", "integer", "short", "byte", "double", "float", "half_float", "unsigned_long", "keyword", "text":
		return fmt.Errorf("the mapping says that %s is %s", strings.Join(at, "."), kind)
	}
	if !mentions(field) {
		return fmt.Errorf("the mapping does not map %s so", strings.Join(at, "."))
	}
	return nil
}

// mentions reports whether a type anywhere inside is scaled_float.
func mentions(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			if name == "type" && inner == "scaled_float" || mentions(inner) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, mentions)
	}
	return false
}

// dotted is the field that the mapping names by its whole path.
func dotted(mappings map[string]any, at []string) (map[string]any, bool) {
	properties, _ := mappings["properties"].(map[string]any)
	field, ok := properties[strings.Join(at, ".")].(map[string]any)
	return field, ok
}

// Written is the field that an attribute becomes in documents.
func Written(path string, rename map[string]string) ([]string, error) {
	at, err := Names(path)
	if err != nil {
		return nil, err
	}
	as := slices.Clone(at)
	for from, to := range rename {
		names, err := Names(from)
		if err != nil {
			return nil, err
		}
		if n := len(names); n > 0 && n <= len(at) && slices.Equal(names, at[:n]) {
			as[n-1] = to
		}
	}
	return as, nil
}

// Names are the names of a path: of members of maps, and of no element of a list.
func Names(path string) ([]string, error) {
	p, err := item.ParsePath(path)
	if err != nil {
		return nil, err
	}
	names, ok := p.Names()
	if !ok {
		return nil, fmt.Errorf("%q names an element of a list", path)
	}
	return names, nil
}

// Object is a member that is an object; nil where there is none.
func Object(of map[string]any, name string) (map[string]any, error) {
	v, ok := of[name]
	if !ok || v == nil {
		return nil, nil
	}
	o, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%q is no object", name)
	}
	return o, nil
}

// Decode reads JSON with its numbers as they are written.
func Decode(b []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}
