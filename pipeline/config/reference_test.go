package config_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/config"
)

// referenceHead begins the table of all keys in README.md. The table is the end of the file.
const referenceHead = "| key | value | default | what it is |\n|---|---|---|---|\n"

// The table of all keys in README.md is generated from the schema, and the schema from the tags. -update writes the
// table.
func TestReference(t *testing.T) {
	b, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(b), referenceHead)
	if !found {
		t.Fatal("README.md has no table of all keys")
	}
	var root map[string]any
	if err := json.Unmarshal(config.Schema(), &root); err != nil {
		t.Fatal(err)
	}
	r := reference{t: t, root: root, uses: map[string]int{}}
	r.countUses(root)
	r.addKeys("", root)
	defs, _ := root["$defs"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(defs)) {
		if def, ok := defs[name].(map[string]any); ok && r.uses[name] > 1 {
			r.addKeys(name, def)
		}
	}
	if len(r.rows) < 150 {
		t.Errorf("%d keys were found in the schema", len(r.rows))
	}
	golden(t, "README.md", before+referenceHead+strings.Join(r.rows, ""))
}

// reference collects the rows of the table of all keys. If several keys use a definition, the keys of that definition
// get their own rows, below its name.
type reference struct {
	t    *testing.T
	root map[string]any
	uses map[string]int // number of references to each definition
	rows []string
}

// refOf returns the name of the definition that a schema refers to, or "".
func refOf(node map[string]any) string {
	ref, _ := node["$ref"].(string)
	return strings.TrimPrefix(ref, "#/$defs/")
}

func (r *reference) countUses(node any) {
	switch node := node.(type) {
	case map[string]any:
		r.uses[refOf(node)]++
		for _, child := range node {
			r.countUses(child)
		}
	case []any:
		for _, child := range node {
			r.countUses(child)
		}
	}
}

// resolve returns a schema with the definition that it refers to.
func (r *reference) resolve(node map[string]any) map[string]any {
	name := refOf(node)
	if name == "" {
		return node
	}
	defs, _ := r.root["$defs"].(map[string]any)
	def, ok := defs[name].(map[string]any)
	if !ok {
		r.t.Fatalf("the schema has no definition %s", name)
	}
	merged := maps.Clone(def)
	maps.Copy(merged, node)
	return merged
}

// addKeys adds a row for each key below a path.
func (r *reference) addKeys(path string, node map[string]any) {
	if r.uses[refOf(node)] > 1 && refOf(node) != "" {
		return
	}
	node = r.resolve(node)
	properties, _ := node["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if child, ok := properties[name].(map[string]any); ok {
			key := strings.TrimPrefix(path+"."+name, ".")
			r.addKey(key, child)
			r.addKeys(key, child)
		}
	}
	if element, ok := node["items"].(map[string]any); ok {
		r.addKeys(path+"[]", element)
	}
	if element, ok := node["additionalProperties"].(map[string]any); ok {
		r.addKeys(path+".*", element)
	}
	for _, form := range r.forms(node) {
		r.addKeys(path, form)
	}
}

// forms returns the alternative forms of a value, except an environment variable.
func (r *reference) forms(node map[string]any) []map[string]any {
	alternatives, _ := node["anyOf"].([]any)
	var forms []map[string]any
	for _, a := range alternatives {
		if form, ok := a.(map[string]any); ok && form["$ref"] != "#/$defs/env" {
			forms = append(forms, form)
		}
	}
	return forms
}

func (r *reference) addKey(path string, node map[string]any) {
	what := textOf(r.resolve(node)["description"])
	if !strings.HasSuffix(what, ".") {
		r.t.Errorf("%s: the description %q is no sentence", path, what)
	}
	row := fmt.Sprintf("| `%s` | %s | %s | %s |\n", path, strings.Join(r.values(node), " or "), code(textOf(r.resolve(node)["default"])),
		strings.NewReplacer("|", `\|`, "<", `\<`).Replace(what))
	if !slices.Contains(r.rows, row) { // two forms of a value can have the same key
		r.rows = append(r.rows, row)
	}
}

// values describes the possible values of a key: words, types, or the name of a definition.
func (r *reference) values(node map[string]any) []string {
	if ref := refOf(node); ref != "" && r.uses[ref] > 1 {
		return []string{"[" + ref + "]"}
	}
	node = r.resolve(node)
	var all []string
	add := func(values ...string) {
		for _, v := range values {
			if v != "" && !slices.Contains(all, v) {
				all = append(all, v)
			}
		}
	}
	for _, form := range r.forms(node) {
		add(r.values(form)...)
	}
	words, _ := node["enum"].([]any)
	for _, w := range words {
		add(code(textOf(w)))
	}
	kind, _ := node["type"].(string)
	switch element, _ := node["items"].(map[string]any); {
	case len(words) > 0:
	case kind == "array":
		add("list of " + strings.Join(r.values(element), " or "))
	case kind == "object":
		add("map")
	case kind == "string":
		add("text")
	default:
		add(kind)
	}
	return all
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + strings.ReplaceAll(text, "|", `\|`) + "`"
}

func textOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
