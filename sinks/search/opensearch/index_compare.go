package opensearch

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// flattenSettings adds settings by their full names: {"index": {"number_of_shards": 1}},
// {"number_of_shards": 1} and {"index.number_of_shards": "1"} are the same.
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
			v = list[0] // the server returns a list if there may be several values
		}
		to["settings."+name] = canonicalJSON(v)
	}
}

// flattenMapping adds the parameters of a mapping by path. A property a.b is b inside a. _meta
// is ignored.
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

// changedDefinition describes the first difference between the recorded configuration and the present one;
// "" if there is none.
func changedDefinition(was, is map[string]string) string {
	either := maps.Clone(was)
	maps.Copy(either, is)
	for _, path := range slices.Sorted(maps.Keys(either)) {
		before, had := was[path]
		now, has := is[path]
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

// definitionDifference describes the first difference between an index and the configuration; "" if there is none.
// Additional settings of the index come from dynamic mapping or an index template, and are ignored. A
// parameter that has its default value is not returned by the server.
func definitionDifference(asked, there map[string]string) string {
	for _, path := range slices.Sorted(maps.Keys(asked)) {
		is, ok := there[path]
		switch {
		case ok && is == asked[path], strings.HasPrefix(path, "mappings.dynamic_templates"):
		case ok:
			return fmt.Sprintf("%s is %s there, and %s in the file", path, is, asked[path])
		case strings.HasPrefix(path, "settings."):
			return fmt.Sprintf("%s is not set there, and %s in the file", path, asked[path])
		case !hasField(there, path):
			return fmt.Sprintf("%s is not there", fieldOf(path))
		}
	}
	return ""
}

// hasField reports whether the field of a parameter's path exists.
func hasField(there map[string]string, path string) bool {
	field := fieldOf(path)
	if field == "mappings" {
		return true
	}
	for p := range there {
		if p == field || strings.HasPrefix(p, field+".") {
			return true
		}
	}
	return false
}

// fieldOf returns the path of the field of a parameter's path.
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
