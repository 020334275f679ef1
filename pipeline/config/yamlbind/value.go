package yamlbind

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Value is a place of the file. Its methods answer the zero value for
// a nil value, and for one that was found wrong, so that what is made of
// it needs no checks of its own.
type Value struct {
	Field   string     // sinks.orders.view.key.PK
	Name    string     // the last of Field; of a list's element its number
	Key     *yaml.Node // of the mapping around it; nil elsewhere
	Node    *yaml.Node // what stands there
	Alias   bool       // an alias leads there
	Rule    *Rule
	Data    any      // of a scalar: string, int64, bool, time.Duration, *template.Template, ...
	Source  string   // of a scalar: its text, expanded
	Env     bool     // of a scalar: the environment gave some of it
	Entries []*Value // of an object or map: in the order of the file; of a list: its elements

	depth int
}

// Member is the place under a key of the mapping v.
func (v *Value) Member(key, n *yaml.Node) *Value {
	return &Value{Field: Join(v.Field, key.Value), Name: key.Value, Key: key, Node: n, Alias: v.Alias, depth: v.depth + 1}
}

// element is the place of an element of the list v.
func (v *Value) element(i int) *Value {
	return &Value{Field: fmt.Sprintf("%s[%d]", v.Field, i), Name: fmt.Sprint(i), Node: v.Node.Content[i], Alias: v.Alias, depth: v.depth + 1}
}

// Get is the entry of that name, or nil.
func (v *Value) Get(name string) *Value {
	if v == nil || v.Rule.Shape == ListShape {
		return nil
	}
	i := slices.IndexFunc(v.Entries, func(e *Value) bool { return e.Name == name })
	if i < 0 {
		return nil
	}
	return v.Entries[i]
}

// All are the entries.
func (v *Value) All() []*Value {
	if v == nil {
		return nil
	}
	return v.Entries
}

// As is the value's data as a T.
func As[T any](v *Value) (t T) {
	if v != nil {
		t, _ = v.Data.(T)
	}
	return t
}

// Valid is the data of those entries that are a T.
func Valid[T any](v *Value) []T {
	var ts []T
	for _, e := range v.All() {
		if t, ok := e.Data.(T); ok {
			ts = append(ts, t)
		}
	}
	return ts
}

// Text is the text of a scalar that is one.
func (v *Value) Text() string { return As[string](v) }

// Written is the scalar's text, expanded, whatever was made of it; "" of a nil value.
func (v *Value) Written() string {
	if v == nil {
		return ""
	}
	return v.Source
}

// Texts is the texts of a list.
func (v *Value) Texts() []string {
	ss := make([]string, len(v.All()))
	for i, e := range v.All() {
		ss[i] = e.Text()
	}
	return ss
}

// Holds reports whether the text is one of a list.
func (v *Value) Holds(text string) bool { return slices.Contains(v.Texts(), text) }
