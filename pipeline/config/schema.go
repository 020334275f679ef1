package config

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Schema is the JSON Schema (draft 2020-12) of the file, made of the same table
// that the strict reading uses.
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
	case objectShape:
		return s.object(r)
	case mapShape:
		m := map[string]any{"type": "object", "minProperties": r.least, "additionalProperties": s.rule(r.elem)}
		if r.names != nil && r.names.like != nil {
			m["propertyNames"] = map[string]any{"pattern": r.names.like.String()}
		}
		return m
	case listShape:
		return map[string]any{"type": "array", "minItems": r.least, "items": s.rule(r.elem)}
	case eitherShape:
		return map[string]any{"anyOf": []any{s.rule(r.scalar), s.rule(r.object)}}
	case anyShape:
		return map[string]any{}
	case wordShape:
		return orEnv(map[string]any{"enum": r.words})
	case integerShape:
		m := map[string]any{"type": "integer", "minimum": r.least}
		if r.most != 0 {
			m["maximum"] = r.most
		}
		return orEnv(m)
	case numberShape:
		return orEnv(map[string]any{"type": "number"})
	case booleanShape:
		return orEnv(map[string]any{"type": "boolean"})
	case scalarShape:
		return map[string]any{"type": []string{"string", "number", "boolean"}}
	case sizeShape:
		return orEnv(map[string]any{"type": "string", "pattern": sizeForm.String()})
	case durationShape:
		return orEnv(map[string]any{"type": "string", "pattern": durationForm.String()})
	default:
		if r.like != nil {
			return orEnv(map[string]any{"type": "string", "pattern": r.like.String()})
		}
		return map[string]any{"type": "string"}
	}
}

// orEnv also takes a text with ${NAME}, whose value the schema cannot see.
func orEnv(m map[string]any) map[string]any {
	return map[string]any{"anyOf": []any{m, map[string]any{"$ref": "#/$defs/env"}}}
}

func (s schemer) object(r *rule) map[string]any {
	properties := make(map[string]any, len(r.keys))
	var required []string
	for _, k := range r.keys {
		p := s.rule(k.rule)
		p["description"] = k.doc
		if k.def != "" {
			p["default"] = defaultValue(k)
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
	groups := make([]any, 0, len(r.oneOf))
	for _, g := range r.oneOf {
		groups = append(groups, oneOf(g))
	}
	if len(groups) > 0 {
		m["allOf"] = groups
	}
	return m
}

// oneOf says that one of the keys stands, or none where that is fine.
func oneOf(g group) map[string]any {
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
func defaultValue(k key) any {
	var v any
	if shape := k.rule.shape; shape == integerShape || shape == booleanShape || shape == numberShape {
		if json.Unmarshal([]byte(k.def), &v) == nil {
			return v
		}
	}
	return strings.Trim(k.def, "'")
}
