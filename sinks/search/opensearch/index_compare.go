package opensearch

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// flattenSettings adds settings to byPath, by their full names. Three spellings of one setting get one name:
// {"index": {"number_of_shards": 1}}, {"number_of_shards": 1} and {"index.number_of_shards": "1"}.
func flattenSettings(byPath map[string]string, prefix string, settings map[string]any) {
	for name, v := range settings {
		if prefix != "" {
			name = prefix + "." + name
		}
		if inner, ok := v.(map[string]any); ok {
			flattenSettings(byPath, name, inner)
			continue
		}
		if name != "index" && !strings.HasPrefix(name, "index.") {
			name = "index." + name
		}
		if list, ok := v.([]any); ok && len(list) == 1 {
			v = list[0] // the server returns a list of one if a setting can have several values
		}
		byPath["settings."+name] = canonicalJSON(v)
	}
}

// flattenMapping adds the parameters of a mapping to byPath. A property named a.b is the property b
// inside a. flattenMapping ignores _meta.
func flattenMapping(byPath map[string]string, path string, mapping map[string]any) {
	for name, v := range mapping {
		if path == "mappings" && name == "_meta" {
			continue
		}
		if strings.HasSuffix(path, ".properties") {
			name = strings.ReplaceAll(name, ".", ".properties.")
		}
		if inner, ok := v.(map[string]any); ok && len(inner) > 0 {
			flattenMapping(byPath, path+"."+name, inner)
			continue
		}
		byPath[path+"."+name] = canonicalJSON(v)
	}
}

// changedDefinition describes the first difference between the recorded configuration (was) and the present
// configuration (is). It returns "" if they are equal.
func changedDefinition(was, is map[string]string) string {
	either := maps.Clone(was)
	maps.Copy(either, is)
	for _, path := range slices.Sorted(maps.Keys(either)) {
		before, wasSet := was[path]
		now, isSet := is[path]
		switch {
		case !isSet:
			return fmt.Sprintf("%s was %s and is not set", path, before)
		case !wasSet:
			return fmt.Sprintf("%s was not set and is %s", path, now)
		case before != now:
			return fmt.Sprintf("%s was %s and is %s", path, before, now)
		}
	}
	return ""
}

// definitionDifference describes the first difference between the configuration and an index. It returns "" if the
// index has everything that the configuration sets. It ignores what the index has in addition, which comes from dynamic
// mapping or an index template.
func definitionDifference(configured, actual map[string]string) string {
	for _, path := range slices.Sorted(maps.Keys(configured)) {
		value, isSet := actual[path]
		isIgnored := strings.HasPrefix(path, "mappings.dynamic_templates")
		switch {
		case isIgnored, isSet && value == configured[path]:
		case isSet:
			return fmt.Sprintf("%s is %s there, and %s in the file", path, value, configured[path])
		case strings.HasPrefix(path, "settings."):
			return fmt.Sprintf("%s is not set there, and %s in the file", path, configured[path])
		case hasField(actual, path): // the parameter has its default, which the server does not show
		default:
			return fmt.Sprintf("%s is not there", fieldOf(path))
		}
	}
	return ""
}

// hasField reports whether actual has the field of the parameter at path.
func hasField(actual map[string]string, path string) bool {
	field := fieldOf(path)
	return field == "mappings" || hasPath(actual, field)
}

// hasPath reports whether path is a key of m, or the beginning of a key.
func hasPath[V any](m map[string]V, path string) bool {
	for p := range m {
		if p == path || strings.HasPrefix(p, path+".") {
			return true
		}
	}
	return false
}

// fieldOf returns the path of the field of the parameter at path. It returns "mappings" if the parameter belongs to no
// field.
func fieldOf(path string) string {
	start := 0 // of the name of the innermost field
	for _, container := range []string{".properties.", ".fields."} {
		if i := strings.LastIndex(path, container); i >= 0 {
			start = max(start, i+len(container))
		}
	}
	if start == 0 {
		return "mappings"
	}
	name, _, _ := strings.Cut(path[start:], ".")
	return path[:start] + name
}
