package opensearch

import (
	"maps"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config/indexmap"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/search"
)

// defaults are what an index is made of where the mapping leaves it open. By itself the server
// makes a number a long or a float, by its first value: of two that come at once one fails.
type defaults struct {
	properties map[string]any // top-level fields
	templates  []any          // dynamic templates, behind those of the mapping
}

// newDefaults has every number as a double: declared ones by name, so that one whose first
// value is written as text is a number too, and others by a rule. A mapping that takes
// no new fields gets none, and where it has rules of its own, they decide of declared numbers.
func newDefaults(mappings map[string]any, fields search.Fields, declared map[string]item.Kind) (d defaults, err error) {
	if closed(mappings["dynamic"]) {
		return d, nil
	}
	double := map[string]any{"type": "double"}
	for _, kind := range []string{"long", "double"} {
		d.templates = append(d.templates, map[string]any{"_tw." + kind: map[string]any{"match_mapping_type": kind, "mapping": double}})
	}
	if rules, _ := mappings["dynamic_templates"].([]any); len(rules) > 0 {
		return d, nil
	}
	properties, err := indexmap.Object(mappings, "properties")
	if err != nil {
		return d, err
	}
	d.properties = make(map[string]any)
	for attribute, kind := range declared {
		name, form, ok := fields.Scalar(attribute)
		if kind != item.KindN || !ok || form == search.NumberString || form == search.NumberScaledFloat {
			continue
		}
		if !strings.Contains(name, ".") && !taken(properties, name) { // a dot leads into an object
			d.properties[name] = double
		}
	}
	return d, nil
}

// closed tells whether a value of dynamic makes no fields.
func closed(dynamic any) bool {
	switch dynamic {
	case false, "false", "strict":
		return true
	}
	return false
}

// taken tells whether properties say something of a field, or of what is inside.
func taken(properties map[string]any, name string) bool {
	for p := range properties {
		if p == name || strings.HasPrefix(p, name+".") {
			return true
		}
	}
	return false
}

// into is a copy of mappings with the defaults.
func (d defaults) into(mappings map[string]any) map[string]any {
	mappings = maps.Clone(mappings)
	if len(d.templates) > 0 {
		rules, _ := mappings["dynamic_templates"].([]any)
		mappings["dynamic_templates"] = slices.Concat(rules, d.templates)
	}
	if len(d.properties) > 0 {
		properties, _ := mappings["properties"].(map[string]any)
		properties = maps.Clone(properties)
		maps.Copy(properties, d.properties)
		mappings["properties"] = properties
	}
	return mappings
}
