package yamlbind

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Schema returns the JSON Schema (draft 2020-12) of the files that rule r describes.
func Schema(r *Rule, title, description string) []byte {
	s := schemer{"env": map[string]any{
		"type":        "string",
		"pattern":     `\$\{[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\}`,
		"description": "${NAME} or ${NAME:-default}: the value of an environment variable, as text.",
	}}
	root := s.rule(r)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = title
	root["description"] = description
	root["$defs"] = s
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(root); err != nil {
		panic(err) // maps, slices and strings always encode
	}
	return b.Bytes()
}

// schemer makes a schema. The map has the schemas under $defs, which are the schemas of rules that are used in several
// places.
type schemer map[string]any

// rule returns the schema of a rule, or a reference to it.
func (s schemer) rule(r *Rule) map[string]any {
	if r.ref == "" {
		return s.inlineSchema(r)
	}
	if _, known := s[r.ref]; !known {
		s[r.ref] = true // ends the recursion, because a rule may contain itself
		s[r.ref] = s.inlineSchema(r)
	}
	return map[string]any{"$ref": "#/$defs/" + r.ref}
}

func (s schemer) inlineSchema(r *Rule) map[string]any {
	switch r.Shape {
	case AnyShape:
		if r.schema != nil {
			return maps.Clone(r.schema)
		}
		return map[string]any{}
	case ListShape:
		list := map[string]any{"type": "array", "minItems": 1, "items": s.rule(r.elem)}
		if r.mayBeSingle {
			return map[string]any{"anyOf": []any{s.rule(r.elem), list}}
		}
		return list
	case MapShape:
		m := map[string]any{"type": "object", "minProperties": 1, "additionalProperties": s.rule(r.elem)}
		if r.Name != nil && r.Name.Kind.Schema != nil {
			m["propertyNames"] = map[string]any{"pattern": r.Name.Kind.Schema["pattern"]}
		}
		if r.word != "" {
			return map[string]any{"anyOf": []any{map[string]any{"enum": []string{r.word}}, m}}
		}
		return m
	case ScalarShape:
		return r.scalarSchema()
	}
	switch {
	case r.scalar == nil:
		return s.object(r)
	case len(r.Keys) == 0:
		return s.rule(r.scalar)
	}
	return map[string]any{"anyOf": []any{s.rule(r.scalar), s.object(r)}}
}

// scalarSchema returns the schema of a scalar. It also allows text with ${NAME}, because the schema cannot check the
// variable.
func (r *Rule) scalarSchema() map[string]any {
	m := maps.Clone(r.Kind.Schema)
	switch {
	case m == nil:
		return map[string]any{"type": "string"}
	case r.Kind.Takes == nil:
		return m
	case r.Words != nil:
		m["enum"] = r.Words
	case r.max != 0:
		m["maximum"] = r.max
	}
	return map[string]any{"anyOf": []any{m, map[string]any{"$ref": "#/$defs/env"}}}
}

func (s schemer) object(r *Rule) map[string]any {
	properties := make(map[string]any, len(r.Keys))
	var required []string
	for _, k := range r.Keys {
		p := s.rule(k.Rule)
		p["description"] = k.Doc
		if k.Def != "" {
			p["default"] = k.defaultValue()
		}
		properties[k.Name] = p
		if k.required {
			required = append(required, k.Name)
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

// schema returns a schema that requires exactly one of the keys, or at most one if the group is optional.
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

// defaultValue returns the default in the JSON type of the key's value.
func (k Key) defaultValue() any {
	var v any
	if k.Rule.Kind.env != nil && json.Unmarshal([]byte(k.Def), &v) == nil { // a number or a boolean
		return v
	}
	return strings.Trim(k.Def, "'")
}
