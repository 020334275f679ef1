package opensearch

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// flattenSettings adds settings to the map named to, by their full names. Three spellings of one setting get one name:
// {"index": {"number_of_shards": 1}}, {"number_of_shards": 1} and {"index.number_of_shards": "1"}.
func flattenSettings(to map[string]string, prefix string, settings map[string]any) {
	for name, v := range settings {
		if prefix != "" {
			name = prefix + "." + name
		}
		if inner, ok := v.(map[string]any); ok {
			flattenSettings(to, name, inner)
			continue
		}
		if name != "index" && !strings.HasPrefix(name, "index.") {
			name = "index." + name
		}
		if list, ok := v.([]any); ok && len(list) == 1 {
			v = list[0] // the server returns a list of one if a setting can have several values
		}
		to["settings."+name] = canonicalJSON(v)
	}
}

// flattenMapping adds the parameters of a mapping to the map named to, by path. A property named a.b is the property b
// inside a. flattenMapping ignores _meta.
func flattenMapping(to map[string]string, path string, mapping map[string]any) {
	for name, v := range mapping {
		if path == "mappings" && name == "_meta" {
			continue
		}
		if strings.HasSuffix(path, ".properties") {
			name = strings.ReplaceAll(name, ".", ".properties.")
		}
		if inner, ok := v.(map[string]any); ok && len(inner) > 0 {
			flattenMapping(to, path+"."+name, inner)
			continue
		}
		to[path+"."+name] = canonicalJSON(v)
	}
}

// changedDefinition describes the first difference between the recorded configuration (was) and the present one (is).
// It returns "" if they are equal.
func changedDefinition(was, value map[string]string) string {
	either := maps.Clone(was)
	maps.Copy(either, value)
	for _, path := range slices.Sorted(maps.Keys(either)) {
		before, had := was[path]
		now, has := value[path]
		switch {
		case had && has && before != now:
			return fmt.Sprintf("%s was %s and is %s", path, before, now)
		case had && !has:
			return fmt.Sprintf("%s was %s and is not set", path, before)
		case has && !had:
			return fmt.Sprintf("%s was not set and is %s", path, now)
		}
	}
	return ""
}

// definitionDifference describes the first difference between the configuration (asked) and an index (there). It
// returns "" if the index has everything that the configuration sets. It ignores what the index has in addition, which
// comes from dynamic mapping or an index template. It also ignores a missing parameter of a field, because the server
// does not return a parameter that has its default value.
func definitionDifference(configured, actual map[string]string) string {
	for _, path := range slices.Sorted(maps.Keys(configured)) {
		value, ok := actual[path]
		switch {
		case ok && value == configured[path], strings.HasPrefix(path, "mappings.dynamic_templates"):
		case ok:
			return fmt.Sprintf("%s is %s there, and %s in the file", path, value, configured[path])
		case strings.HasPrefix(path, "settings."):
			return fmt.Sprintf("%s is not set there, and %s in the file", path, configured[path])
		case !hasField(actual, path):
			return fmt.Sprintf("%s is not there", fieldOf(path))
		}
	}
	return ""
}

// hasField reports whether the field exists that a parameter's path belongs to.
func hasField(actual map[string]string, path string) bool {
	field := fieldOf(path)
	if field == "mappings" {
		return true
	}
	for p := range actual {
		if p == field || strings.HasPrefix(p, field+".") {
			return true
		}
	}
	return false
}

// fieldOf returns the path of the field that a parameter's path belongs to, or "mappings" if the parameter is not one
// of a field.
func fieldOf(path string) string {
	at := -1
	for _, container := range []string{".properties.", ".fields."} {
		if i := strings.LastIndex(path, container); i >= 0 {
			at = max(at, i+len(container))
		}
	}
	if at < 0 {
		return "mappings"
	}
	name, _, _ := strings.Cut(path[at:], ".")
	return path[:at] + name
}
