package opensearch

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config/indexmap"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/search"
)

// ownFieldMapping is the mapping of the field _tw of each document. _tw.version and _tw.by are not indexed, because
// they are only read together with a document that is found by its id.
const ownFieldMapping = `{"dynamic":false,"properties":{
	"version":{"type":"keyword","index":false,"doc_values":false},
	"by":{"type":"keyword","index":false,"doc_values":false},
	"birth":{"type":"keyword"},
	"deleted":{"type":"boolean"},
	"gone":{"type":"date"}}}`

// definition is the configured definition of an index, from which the body of a new index is made.
type definition struct {
	settings       map[string]any
	mappings       map[string]any
	settingsByPath map[string]string // the values of settings and of mappings, by path
	// created has the mappings of a new index: the field mappings, with the rules that withDefaults adds. These rules
	// are never compared
	created map[string]any
}

// parseDefinition parses the mapping of an index, and adds the mapping of the field _tw. The mapping is {"settings":
// ..., "mappings": ...}, or the content of mappings alone.
func parseDefinition(mapping json.RawMessage, fields search.Fields, kinds map[string]item.Kind) (*definition, error) {
	settings, mappings, err := indexmap.Parse(mapping)
	if err != nil {
		return nil, err
	}
	d := &definition{settings: settings, mappings: mappings}
	if err := d.checkNumbers(fields); err != nil {
		return nil, err
	}
	ownField, err := indexmap.Decode([]byte(ownFieldMapping))
	if err != nil {
		return nil, err
	}
	if err := setMember(d.mappings, "properties", "_tw", ownField); err != nil {
		return nil, err
	}
	d.settingsByPath = make(map[string]string)
	flattenSettings(d.settingsByPath, "", d.settings)
	flattenMapping(d.settingsByPath, "mappings", d.mappings)
	d.created, err = withDefaults(d.mappings, fields, kinds)
	return d, err
}

// body returns the request that creates an index with its alias.
func (d *definition) body(by creator) ([]byte, error) {
	mappings := maps.Clone(d.created)
	if err := setMember(mappings, "_meta", "tablewake", by); err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{
		"settings": d.settings,
		"mappings": mappings,
		"aliases":  map[string]alias{by.Index: {Filter: json.RawMessage(liveFilter), Writes: true}},
	})
}

// setMember sets mappings[part][name] to v. It changes a copy of mappings[part], because other mappings may share that
// map.
func setMember(mappings map[string]any, part, name string, v any) error {
	members, err := indexmap.ObjectMember(mappings, part)
	if err != nil {
		return err
	}
	changed := make(map[string]any, len(members)+1)
	maps.Copy(changed, members)
	changed[name] = v
	mappings[part] = changed
	return nil
}

// checkNumbers checks that the mapping of a field is scaled_float if the sink writes the numbers of the field as
// scaled_float.
func (d *definition) checkNumbers(fields search.Fields) error {
	for _, path := range slices.Sorted(maps.Keys(fields.Numbers)) {
		if fields.Numbers[path] != search.NumberScaledFloat {
			continue
		}
		if err := indexmap.CheckScaledFloat(d.mappings, path, fields.Rename); err != nil {
			return fmt.Errorf("numbers: %s is scaled_float, but %w: the index would keep it as a float, which loses digits",
				path, err)
		}
	}
	return nil
}

// canonicalJSON returns v as text. Equal values have equal texts, however the server spells them. The server returns
// some settings as strings, and may return 100 as 100.0.
func canonicalJSON(v any) string {
	switch v := v.(type) {
	case map[string]any:
		parts := make([]string, 0, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, strconv.Quote(name)+":"+canonicalJSON(v[name]))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = canonicalJSON(v[i])
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	text := fmt.Sprint(v)
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return text
}
