package yamlbind

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Value is a value in the file. Methods that read a nil Value, or a value that is wrong in the file, return zero
// values. So callers need no checks.
type Value struct {
	Field string     // full name, such as sinks.orders.view.key.PK
	Name  string     // last part of Field, such as PK; in a list, the index of the element
	Key   *yaml.Node // node of its key in the mapping around it; nil in lists
	Node  *yaml.Node
	Alias bool // the value is an alias, or inside an alias
	Rule  *Rule
	// Data is the data of a scalar, such as a string, an int64 or a *template.Template. It is nil if the scalar is
	// wrong.
	Data    any
	Source  string   // expanded text of a scalar
	Env     bool     // some of a scalar's text comes from an environment variable
	Default bool     // some of a scalar's text comes from a default, because a variable is not set or empty
	Entries []*Value // entries of an object or a map, in the order of the file; elements of a list

	depth int
}

// Member returns the value n, which is under key in the mapping v.
func (v *Value) Member(key, n *yaml.Node) *Value {
	return &Value{Field: Join(v.Field, key.Value), Name: key.Value, Key: key, Node: n, Alias: v.Alias, depth: v.depth + 1}
}

// element returns an element of the list v.
func (v *Value) element(i int) *Value {
	return &Value{Field: fmt.Sprintf("%s[%d]", v.Field, i), Name: fmt.Sprint(i), Node: v.Node.Content[i], Alias: v.Alias,
		depth: v.depth + 1}
}

// Get returns the entry with this name, or nil.
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

// All returns the entries, or nil if v is nil.
func (v *Value) All() []*Value {
	if v == nil {
		return nil
	}
	return v.Entries
}

// As returns the value's data if it is a T. Otherwise it returns the zero T.
func As[T any](v *Value) (t T) {
	if v != nil {
		t, _ = v.Data.(T)
	}
	return t
}

// Valid returns the data of the entries whose data is a T.
func Valid[T any](v *Value) []T {
	var ts []T
	for _, e := range v.All() {
		if t, ok := e.Data.(T); ok {
			ts = append(ts, t)
		}
	}
	return ts
}

// Text returns the data of a scalar if it is text. Otherwise it returns "".
func (v *Value) Text() string { return As[string](v) }

// Written returns the scalar's expanded text, even if it is wrong. It returns "" for a nil value.
func (v *Value) Written() string {
	if v == nil {
		return ""
	}
	return v.Source
}

// Texts returns the texts of a list.
func (v *Value) Texts() []string {
	ss := make([]string, len(v.All()))
	for i, e := range v.All() {
		ss[i] = e.Text()
	}
	return ss
}

// Holds reports whether the text is an element of the list v.
func (v *Value) Holds(text string) bool { return slices.Contains(v.Texts(), text) }
