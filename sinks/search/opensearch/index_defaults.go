package opensearch

import (
	"maps"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config/indexmap"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/search"
)

// defaults are the parts of a new index that the configuration leaves open. Without them the server
// maps a number to long or float by its first value, and one of two concurrent requests may fail.
type defaults struct {
	properties map[string]any // top-level fields
	templates  []any          // dynamic templates, after those of the mapping
}

// newDefaults maps every number to double: declared numbers by name, so that it also holds if the first
// value is written as text, and others by a dynamic template. A mapping that allows
// no new fields gets no defaults. If a mapping has its own dynamic templates, they apply to declared numbers.
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

// closed reports whether a value of dynamic prevents new fields.
func closed(dynamic any) bool {
	switch dynamic {
	case false, "false", "strict":
		return true
	}
	return false
}

// taken reports whether properties map a field, or a field inside it.
func taken(properties map[string]any, name string) bool {
	for p := range properties {
		if p == name || strings.HasPrefix(p, name+".") {
			return true
		}
	}
	return false
}

// into returns a copy of mappings with the defaults.
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
