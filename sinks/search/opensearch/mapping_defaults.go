package opensearch

import (
	"maps"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config/indexmap"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/search"
)

// withDefaults returns the mappings of a new index: the configured mappings, and a rule that makes every other number a
// double. Without the rule the server maps a number to long or float by its first value, and one of two concurrent
// requests may fail. Declared numbers are mapped by name, so that the rule also holds if the first value is written as
// text. Other numbers are mapped by a dynamic template that follows the dynamic templates of the mapping. There are two
// exceptions. A mapping that allows no new fields stays as it is. If a mapping has its own dynamic templates, declared
// numbers are not mapped by name, so that those templates apply to them.
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
	hasOwnTemplates := len(rules) > 0
	if hasOwnTemplates {
		return mappings, nil
	}

	mapped, err := indexmap.ObjectMember(mappings, "properties")
	if err != nil {
		return nil, err
	}
	properties := maps.Clone(mapped)
	for attribute, kind := range declared {
		name, form, isShown := fields.Scalar(attribute)
		isNumber := kind == item.KindN && form != search.NumberString && form != search.NumberScaledFloat
		isInsideObject := strings.Contains(name, ".")
		if isShown && isNumber && !isInsideObject && !hasPath(mapped, name) {
			properties[name] = double
		}
	}
	mappings["properties"] = properties
	return mappings, nil
}

// forbidsNewFields reports whether a value of the parameter "dynamic" prevents new fields.
func forbidsNewFields(dynamic any) bool {
	switch dynamic {
	case false, "false", "strict":
		return true
	}
	return false
}
