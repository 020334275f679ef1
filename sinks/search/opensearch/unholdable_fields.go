package opensearch

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config/indexmap"
	"github.com/tablewake/tablewake/pipeline/item"
)

// setUnholdableHint sets the field and the hint in the error of the mutation i if the index cannot hold an attribute of
// the document because of its name or its depth. The hint names the attribute and the setting to change. A common
// reason is a dot in a name, which OpenSearch reads as a path.
func (b *bulk) setUnholdableHint(i int, f *failure) {
	err, isFailure := errors.AsType[*Error](b.results[i].Err)
	decoded, decodeErr := indexmap.Decode(b.mutations[i].Doc)
	fields, isObject := decoded.(map[string]any)
	if !isFailure || decodeErr != nil || !isObject {
		return
	}
	delete(fields, "_tw")

	if f.reasonContains("index.mapping.depth.limit") {
		if name, depth := deepestField(fields); depth > 0 {
			err.Field = name
			err.Hint = fmt.Sprintf(
				"it is nested deeper than the index takes: leave it out (fields.exclude of the sink: %s), or raise index.mapping.depth.limit in the settings of its mapping, and in the index", b.store.attributePath([]string{name}))
		}
		return
	}
	field, why := unholdableField(fields, f)
	if field == nil {
		return
	}
	attribute := b.store.attributePath(field)
	err.Field = strings.Join(field, ".")
	err.Hint = fmt.Sprintf(
		"%s: give attribute %s another name (fields.rename of the sink: {'%s': NAME}), or leave it out (fields.exclude)", why,
		attribute, attribute)
}

// unholdableField returns the path of the field that the index can't hold because of its name, and the reason. The path
// is a list of names. It returns nil if there is no such field.
func unholdableField(doc map[string]any, f *failure) (field []string, why string) {
	if field = unholdableName(doc); field != nil {
		if isBlank(field[len(field)-1]) {
			return field, "OpenSearch can't hold a field without a name"
		}
		return field, "OpenSearch can't hold a field of this name: a dot leads into an object, and there must be a name before and behind it"
	}
	if field = metadataField(doc, f); field != nil {
		return field, "OpenSearch keeps this name for itself"
	}
	if at := f.conflictingField(); at != "" {
		return dottedField(doc, at), fmt.Sprintf("OpenSearch reads the dot as a path into an object, and %q is a value", at)
	}
	return nil, ""
}

// attributePath returns the path of the attribute that becomes the field at names.
func (s *Store) attributePath(names []string) string {
	if s.indexes != nil {
		renamed := s.indexes.Fields.Rename
		for _, from := range slices.Sorted(maps.Keys(renamed)) {
			if at, err := indexmap.FieldPath(from, renamed); err == nil && slices.Equal(at, names) {
				return from
			}
		}
	}
	return item.PathText(names)
}

// reasonContains reports whether a text is part of the reason or of the cause's reason.
func (f *failure) reasonContains(part string) bool {
	return bytes.Contains(f.reason, []byte(part)) || bytes.Contains(f.causeReason, []byte(part))
}

// conflictPrefixes are the texts that the server writes before the name of a field that would be both a value and an
// object.
var conflictPrefixes = []string{"Existing mapping for [", "can't merge a non object mapping [", "object mapping for ["}

// conflictingField returns the field that cannot be both a value and an object. It returns "" if the failure has
// another reason.
func (f *failure) conflictingField() string {
	for _, before := range conflictPrefixes {
		if _, rest, found := strings.Cut(string(f.reason), before); found {
			name, _, _ := strings.Cut(rest, "]")
			return name
		}
	}
	return ""
}

// findField returns the path of the first field in v that match accepts, as a list of names. It returns nil if match
// accepts no field. Elements of lists have no names of their own.
func findField(v any, names []string, match func(names []string) bool) []string {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			inner := slices.Concat(names, []string{name})
			if match(inner) {
				return inner
			}
			if found := findField(v[name], inner, match); found != nil {
				return found
			}
		}
	case []any:
		for _, element := range v {
			if found := findField(element, names, match); found != nil {
				return found
			}
		}
	}
	return nil
}

// unholdableName returns the path of the first field with a name that no index accepts, or nil. In OpenSearch 2.x and
// 3.x a name must not be empty, and inside an object it must not be blank. In a name with dots, the parts before and
// after each dot must not be blank, except after dots at its end.
func unholdableName(top map[string]any) []string {
	return findField(top, nil, func(names []string) bool {
		name := names[len(names)-1]
		isInsideObject := len(names) > 1
		if name == "" || isInsideObject && isBlank(name) {
			return true
		}
		return strings.Contains(name, ".") &&
			slices.ContainsFunc(strings.Split(strings.TrimRight(name, "."), "."), isBlank)
	})
}

func isBlank(text string) bool { return strings.TrimSpace(text) == "" }

// metadataField returns the path of the field whose name the server reserves, or nil if the failure reports no such
// field.
func metadataField(top map[string]any, f *failure) []string {
	_, rest, _ := strings.Cut(string(f.causeReason), "Field [")
	name, rest, _ := strings.Cut(rest, "]")
	_, isField := top[name]
	if isField && strings.HasPrefix(rest, " is a metadata field") {
		return []string{name}
	}
	return nil
}

// dottedField returns the path of the first field whose own name contains a dot and whose path begins with at, the path
// of another field. It returns nil if there is no such field.
func dottedField(top map[string]any, at string) []string {
	return findField(top, nil, func(names []string) bool {
		return strings.Contains(names[len(names)-1], ".") && strings.HasPrefix(strings.Join(names, "."), at+".")
	})
}

// deepestField returns the top-level field with the most levels, and their number.
func deepestField(top map[string]any) (name string, most int) {
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
