package opensearch

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config/indexmap"
	"github.com/tablewake/tablewake/pipeline/item"
)

// explain adds to the error of a document that the index can't hold which attribute
// it is, and the key to set, where the name or the depth of an attribute is why: OpenSearch reads
// a dot in a name as a path.
func (s *Store) explain(err *Error, f *failure, doc []byte) {
	v, unread := indexmap.Decode(doc)
	top, ok := v.(map[string]any)
	if unread != nil || !ok {
		return
	}
	delete(top, "_tw")
	if f.says("index.mapping.depth.limit") {
		if name, depth := deepest(top); depth > 0 {
			err.Field = name
			err.Hint = fmt.Sprintf("it is nested deeper than the index takes: leave it out (fields.exclude of the sink: %s), or raise index.mapping.depth.limit in the settings of its mapping, and in the index", s.attribute([]string{name}))
		}
		return
	}
	field, why := unholdable(top), "OpenSearch can't hold a field of this name: a dot leads into an object, and there must be a name before and behind it"
	if field != nil && strings.TrimSpace(field[len(field)-1]) == "" {
		why = "OpenSearch can't hold a field without a name"
	}
	if field == nil {
		if field = metadata(top, f); field != nil {
			why = "OpenSearch keeps this name for itself"
		}
	}
	if field == nil {
		if at := f.merged(); at != "" {
			field = beside(top, at)
			why = fmt.Sprintf("OpenSearch reads the dot as a path into an object, and %q is a value", at)
		}
	}
	if field == nil {
		return
	}
	attribute := s.attribute(field)
	err.Field = strings.Join(field, ".")
	err.Hint = fmt.Sprintf("%s: give attribute %s another name (fields.rename of the sink: {'%s': NAME}), or leave it out (fields.exclude)", why, attribute, attribute)
}

// attribute is the path of the attribute that stands in documents at names.
func (s *Store) attribute(names []string) string {
	if s.indexes != nil {
		renamed := s.indexes.Fields.Rename
		for _, from := range slices.Sorted(maps.Keys(renamed)) {
			if at, err := indexmap.Written(from, renamed); err == nil && slices.Equal(at, names) {
				return from
			}
		}
	}
	return item.PathText(names)
}

// says reports whether a text is part of the reason or of the cause's reason.
func (f *failure) says(part string) bool {
	return bytes.Contains(f.reason, []byte(part)) || bytes.Contains(f.causeReason, []byte(part))
}

// mergedMarks stand before the name of a field that is a value here and an object there.
var mergedMarks = []string{"Existing mapping for [", "can't merge a non object mapping [", "object mapping for ["}

// merged is the field that can't be a value and an object; "" where that is not why.
func (f *failure) merged() string {
	for _, before := range mergedMarks {
		if _, rest, found := strings.Cut(string(f.reason), before); found {
			name, _, _ := strings.Cut(rest, "]")
			return name
		}
	}
	return ""
}

// fieldsOf calls yield with the names that lead to each field of an object, and with its value,
// until it is false. What is in lists has no names of its own.
func fieldsOf(v any, names []string, yield func(names []string, v any) bool) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			inner := slices.Concat(names, []string{name})
			if !yield(inner, v[name]) || !fieldsOf(v[name], inner, yield) {
				return false
			}
		}
	case []any:
		for _, element := range v {
			if !fieldsOf(element, names, yield) {
				return false
			}
		}
	}
	return true
}

// find is the first field that is so; nil where none is.
func find(top map[string]any, is func(names []string, v any) bool) (found []string) {
	fieldsOf(top, nil, func(names []string, v any) bool {
		if is(names, v) {
			found = names
		}
		return found == nil
	})
	return found
}

// unholdable is the first field of a name that no index holds. In 2.x and 3.x a name must not be
// empty, nor blank inside an object. A name that has dots must have something other than blanks before
// and behind each, but for dots at its end.
func unholdable(top map[string]any) []string {
	blank := func(text string) bool { return strings.TrimSpace(text) == "" }
	return find(top, func(names []string, _ any) bool {
		name := names[len(names)-1]
		if name == "" || len(names) > 1 && blank(name) {
			return true
		}
		return strings.Contains(name, ".") && slices.ContainsFunc(strings.Split(strings.TrimRight(name, "."), "."), blank)
	})
}

// metadata is the field that has a name of the server's own, where the failure says so.
func metadata(top map[string]any, f *failure) []string {
	_, rest, _ := strings.Cut(string(f.causeReason), "Field [")
	name, rest, _ := strings.Cut(rest, "]")
	if _, there := top[name]; !there || !strings.HasPrefix(rest, " is a metadata field") {
		return nil
	}
	return []string{name}
}

// beside is the first field whose own name leads by a dot into the field at.
func beside(top map[string]any, at string) []string {
	return find(top, func(names []string, _ any) bool {
		return strings.Contains(names[len(names)-1], ".") && strings.HasPrefix(strings.Join(names, "."), at+".")
	})
}

// deepest is the top-level field that is nested most.
func deepest(top map[string]any) (name string, most int) {
	for _, n := range slices.Sorted(maps.Keys(top)) {
		if d := depthOf(top[n]); d > most {
			name, most = n, d
		}
	}
	return name, most
}

func depthOf(v any) (depth int) {
	switch v := v.(type) {
	case map[string]any:
		for _, inner := range v {
			depth = max(depth, depthOf(inner))
		}
	case []any:
		for _, inner := range v {
			depth = max(depth, depthOf(inner))
		}
	default:
		return 0
	}
	return depth + 1
}
