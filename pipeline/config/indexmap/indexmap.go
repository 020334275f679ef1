// Package indexmap reads the mapping file of a search sink, which has the settings and mappings of an OpenSearch index.
// Both the rules of the configuration and the store that creates the index use the package.
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

// Parse reads a file with {"settings": ..., "mappings": ...}, or with the value of mappings alone. It returns empty
// maps for an empty file. It returns an error for mappings that the index of a sink cannot have.
func Parse(file json.RawMessage) (settings, mappings map[string]any, err error) {
	settings, mappings = map[string]any{}, map[string]any{}
	if len(file) > 0 {
		if settings, mappings, err = parseFile(file); err != nil {
			return nil, nil, err
		}
	}
	properties, err := ObjectMember(mappings, "properties")
	if err != nil {
		return nil, nil, err
	}
	for name := range properties {
		if name == "_tw" || strings.HasPrefix(name, "_tw.") {
			return nil, nil, errors.New("it maps _tw, which is where a document keeps its version: leave it out")
		}
	}
	if _, hasSource := mappings["_source"]; hasSource {
		return nil, nil, errors.New(
			"it says _source: documents are kept as they were written, because their versions are read there; leave it out")
	}
	if _, err := ObjectMember(mappings, "_meta"); err != nil {
		return nil, nil, err
	}
	return settings, mappings, nil
}

// parseFile returns the settings and the mappings of a file that is not empty. Neither is nil: OpenSearch refuses null.
func parseFile(file json.RawMessage) (settings, mappings map[string]any, err error) {
	v, err := Decode(file)
	if err != nil {
		return nil, nil, err
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, nil, errors.New("it is not a JSON object")
	}
	_, hasSettings := object["settings"]
	_, hasMappings := object["mappings"]
	if !hasSettings && !hasMappings {
		return map[string]any{}, object, nil
	}
	for name := range object {
		if name != "settings" && name != "mappings" {
			return nil, nil, fmt.Errorf("%q stands beside settings and mappings: these two are what an index is made of", name)
		}
	}
	if settings, err = ObjectMember(object, "settings"); err != nil {
		return nil, nil, err
	}
	if mappings, err = ObjectMember(object, "mappings"); err != nil {
		return nil, nil, err
	}
	if settings == nil {
		settings = map[string]any{}
	}
	if mappings == nil {
		mappings = map[string]any{}
	}
	return settings, mappings, nil
}

// CheckScaledFloat returns nil if the mapping may store the attribute at path, or a number inside it, as scaled_float.
// Otherwise it returns an error with the reason. rename maps the paths of renamed fields to their new names.
func CheckScaledFloat(mappings map[string]any, path string, rename map[string]string) error {
	fieldPath, err := FieldPath(path, rename)
	if err != nil {
		return err
	}
	dotted := strings.Join(fieldPath, ".")
	field, err := fieldAt(mappings, fieldPath)
	if err != nil {
		return err
	}
	if _, hasTemplates := mappings["dynamic_templates"]; field == nil && hasTemplates {
		return nil // only the server knows the fields that a dynamic template maps
	}
	kind, _ := field["type"].(string)
	switch kind {
	case "long", "integer", "short", "byte", "double", "float", "half_float", "unsigned_long", "keyword", "text":
		return fmt.Errorf("the mapping says that %s is %s", dotted, kind)
	}
	if !hasScaledFloat(field) {
		return fmt.Errorf("the mapping does not map %s so", dotted)
	}
	return nil
}

// hasScaledFloat reports whether v, or a value inside it, has the type scaled_float.
func hasScaledFloat(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			if name == "type" && inner == "scaled_float" || hasScaledFloat(inner) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasScaledFloat)
	}
	return false
}

// fieldAt returns the field that the names lead to: through objects, or by their whole path, joined by dots. It returns
// nil if the mapping has no such field.
func fieldAt(mappings map[string]any, names []string) (map[string]any, error) {
	field := mappings
	for _, name := range names {
		properties, err := ObjectMember(field, "properties")
		if err != nil {
			return nil, err
		}
		inner, isMapped := properties[name].(map[string]any)
		if !isMapped {
			properties, _ = mappings["properties"].(map[string]any)
			inner, _ = properties[strings.Join(names, ".")].(map[string]any)
			return inner, nil
		}
		field = inner
	}
	return field, nil
}

// FieldPath returns the path of the document field that has the attribute at path, as a list of names. rename maps the
// paths of renamed fields to their new names.
func FieldPath(path string, rename map[string]string) ([]string, error) {
	original, err := pathNames(path)
	if err != nil {
		return nil, err
	}
	renamed := slices.Clone(original)
	for from, to := range rename {
		prefix, err := pathNames(from)
		if err != nil {
			return nil, err
		}
		n := len(prefix)
		isOnPath := n > 0 && n <= len(original) && slices.Equal(prefix, original[:n])
		if isOnPath {
			renamed[n-1] = to
		}
	}
	return renamed, nil
}

// pathNames returns the names that a path consists of. It returns an error if the path goes into a list.
func pathNames(path string) ([]string, error) {
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

// ObjectMember returns a member that is an object. It returns nil if the member is missing or null.
func ObjectMember(parent map[string]any, name string) (map[string]any, error) {
	v, ok := parent[name]
	if !ok || v == nil {
		return nil, nil
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%q is no object", name)
	}
	return object, nil
}

// Decode decodes JSON. Numbers become json.Number, so that they lose no digits.
func Decode(b []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}
