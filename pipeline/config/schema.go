package config

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Schema is the JSON Schema (draft 2020-12) of the file, made of the same types
// that the strict reading fills.
func Schema() []byte {
	s := schemer{defs: map[string]any{
		"env": map[string]any{
			"type":        "string",
			"pattern":     `\$\{[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\}`,
			"description": "${NAME} or ${NAME:-default}: the value of an environment variable, as text.",
		},
	}}
	root := s.rule(grammar())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "tablewake.yaml"
	root["description"] = "A tablewake pipeline: one file for Lambda, consumer and replay."
	root["$defs"] = s.defs
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(root); err != nil {
		panic(err) // maps, slices and strings always encode
	}
	return b.Bytes()
}

// schemer collects the rules that are used in several places under $defs.
type schemer struct {
	defs map[string]any
}

// rule is the schema of a place.
func (s schemer) rule(r *rule) map[string]any {
	if r.ref == "" {
		return s.inline(r)
	}
	if _, known := s.defs[r.ref]; !known {
		s.defs[r.ref] = true // a rule may contain itself
		s.defs[r.ref] = s.inline(r)
	}
	return map[string]any{"$ref": "#/$defs/" + r.ref}
}

func (s schemer) inline(r *rule) map[string]any {
	switch r.shape {
	case anyShape:
		return map[string]any{}
	case listShape:
		return map[string]any{"type": "array", "minItems": 1, "items": s.rule(r.elem)}
	case mapShape:
		m := map[string]any{"type": "object", "minProperties": 1, "additionalProperties": s.rule(r.elem)}
		if r.name != nil && r.name.kind.schema != nil {
			m["propertyNames"] = map[string]any{"pattern": r.name.kind.schema["pattern"]}
		}
		return m
	case scalarShape:
		return r.scalarSchema()
	}
	switch {
	case r.scalar == nil:
		return s.object(r)
	case len(r.keys) == 0:
		return s.rule(r.scalar)
	}
	return map[string]any{"anyOf": []any{s.rule(r.scalar), s.object(r)}}
}

// scalarSchema also takes a text with ${NAME}, whose value the schema cannot see.
func (r *rule) scalarSchema() map[string]any {
	m := maps.Clone(r.kind.schema)
	switch {
	case m == nil:
		return map[string]any{"type": "string"}
	case r.kind.takes == nil:
		return m
	case r.words != nil:
		m["enum"] = r.words
	case r.most != 0:
		m["maximum"] = r.most
	}
	return map[string]any{"anyOf": []any{m, map[string]any{"$ref": "#/$defs/env"}}}
}

func (s schemer) object(r *rule) map[string]any {
	properties := make(map[string]any, len(r.keys))
	var required []string
	for _, k := range r.keys {
		p := s.rule(k.rule)
		p["description"] = k.doc
		if k.def != "" {
			p["default"] = k.defaultValue()
		}
		properties[k.name] = p
		if k.required {
			required = append(required, k.name)
		}
	}
	m := map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		m["required"] = required
	}
	var groups []any
	for _, g := range r.groups {
		groups = append(groups, g.schema())
		m["allOf"] = groups
	}
	return m
}

// schema says that one of the keys stands, or none where that is fine.
func (g group) schema() map[string]any {
	present := make([]any, 0, len(g.keys))
	for _, k := range g.keys {
		present = append(present, map[string]any{"required": []string{k}})
	}
	alternatives := present
	if g.optional {
		alternatives = append(slices.Clone(present), map[string]any{"not": map[string]any{"anyOf": present}})
	}
	return map[string]any{"oneOf": alternatives}
}

// defaultValue is the default in the JSON type of its place.
func (k key) defaultValue() any {
	var v any
	if k.rule.kind.env != nil && json.Unmarshal([]byte(k.def), &v) == nil { // a number or a boolean
		return v
	}
	return strings.Trim(k.def, "'")
}
