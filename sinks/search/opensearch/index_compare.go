package opensearch

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// flattenSettings puts settings by their whole names: {"index": {"number_of_shards": 1}},
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
			v = list[0] // the server has a list where there may be one
		}
		to["settings."+name] = canonicalJSON(v)
	}
}

// flattenMapping puts what a mapping says by path. A property a.b is b inside a; _meta
// is for people.
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

// changedFile tells what an index was asked to be and is no longer, or the other way
// round; "" where nothing changed.
func changedFile(was, is map[string]string) string {
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

// difference tells in what an index is not what it was asked to be; "" where it is.
// What is there besides is the server's: of dynamic mapping, or of an index template. A
// parameter that says what it would be anyway is not repeated by the server.
func difference(asked, there map[string]string) string {
	for _, path := range slices.Sorted(maps.Keys(asked)) {
		is, ok := there[path]
		switch {
		case ok && is == asked[path], strings.HasPrefix(path, "mappings.dynamic_templates"):
		case ok:
			return fmt.Sprintf("%s is %s there, and %s in the file", path, is, asked[path])
		case strings.HasPrefix(path, "settings."):
			return fmt.Sprintf("%s is not set there, and %s in the file", path, asked[path])
		case !mapped(there, path):
			return fmt.Sprintf("%s is not there", fieldOf(path))
		}
	}
	return ""
}

// mapped tells whether there is the field that a path says something of.
func mapped(there map[string]string, path string) bool {
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

// fieldOf is the path of the field whose parameter a path is.
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
