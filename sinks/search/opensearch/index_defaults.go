package opensearch

import (
	"maps"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config/indexmap"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/search"
)

// withDefaults returns the mappings of a new index: mappings with what the configuration leaves open. Without that the
// server maps a number to long or float by its first value, and one of two concurrent requests may fail. Every number
// is a double: declared numbers by name, so that it also holds if the first value is written as text, and others by a
// dynamic template after those of the mapping. A mapping that allows no new fields stays as it is. If a mapping has its
// own dynamic templates, they apply to declared numbers.
func withDefaults(
	mappings map[string]any, fields search.Fields, declared map[string]item.Kind,
) (map[string]any, error) {
	mappings = maps.Clone(mappings)
	if forbidsNewFields(mappings["dynamic"]) {
		return mappings, nil
	}
	double := map[string]any{"type": "double"}
	rules, _ := mappings["dynamic_templates"].([]any)
	templates := slices.Clone(rules)
	for _, kind := range []string{"long", "double"} {
		templates = append(templates, map[string]any{"_tw." + kind: map[string]any{"match_mapping_type": kind,
			"mapping": double}})
	}
	mappings["dynamic_templates"] = templates
	if len(rules) > 0 {
		return mappings, nil
	}
	mapped, err := indexmap.ObjectMember(mappings, "properties")
	if err != nil {
		return nil, err
	}
	properties := maps.Clone(mapped)
	for attribute, kind := range declared {
		name, form, ok := fields.Scalar(attribute)
		if kind != item.KindN || !ok || form == search.NumberString || form == search.NumberScaledFloat {
			continue
		}
		if !strings.Contains(name, ".") && !mapsField(mapped, name) { // a dot leads into an object
			properties[name] = double
		}
	}
	mappings["properties"] = properties
	return mappings, nil
}

// forbidsNewFields reports whether a value of dynamic prevents new fields.
func forbidsNewFields(dynamic any) bool {
	switch dynamic {
	case false, "false", "strict":
		return true
	}
	return false
}

// mapsField reports whether properties map a field, or a field inside it.
func mapsField(properties map[string]any, name string) bool {
	for p := range properties {
		if p == name || strings.HasPrefix(p, name+".") {
			return true
		}
	}
	return false
}
