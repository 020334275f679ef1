package config

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// value is a checked place of the file. Its methods answer the zero value for
// a nil value, and for one that the walk found wrong, so that what is made of
// it needs no checks of its own.
type value struct {
	field   string     // sinks.orders.view.key.PK
	name    string     // the last of field
	node    *yaml.Node // what stands there
	rule    *rule
	data    any      // of a scalar: string, int64, bool, time.Duration, *template.Template, ...
	source  string   // of a scalar: its text, expanded
	env     bool     // of a scalar: the environment gave some of it
	entries []*value // of an object or map: in the order of the file; of a list: its elements
}

func (v *value) get(name string) *value {
	if v == nil || v.rule.shape == listShape {
		return nil
	}
	i := slices.IndexFunc(v.entries, func(e *value) bool { return e.name == name })
	if i < 0 {
		return nil
	}
	return v.entries[i]
}

func (v *value) all() []*value {
	if v == nil {
		return nil
	}
	return v.entries
}

// as is the value's data as a T.
func as[T any](v *value) T {
	var zero T
	if v == nil {
		return zero
	}
	t, ok := v.data.(T)
	if !ok {
		return zero
	}
	return t
}

// valid is the data of those entries that are a T.
func valid[T any](v *value) []T {
	var ts []T
	for _, e := range v.all() {
		if t, ok := e.data.(T); ok {
			ts = append(ts, t)
		}
	}
	return ts
}

func (v *value) text() string { return as[string](v) }

// written is the scalar's text, expanded, whatever was made of it; "" of a nil value.
func (v *value) written() string {
	if v == nil {
		return ""
	}
	return v.source
}

// texts is the texts of a list.
func (v *value) texts() []string {
	ss := make([]string, len(v.all()))
	for i, e := range v.all() {
		ss[i] = e.text()
	}
	return ss
}

// holds reports whether the text is one of a list.
func (v *value) holds(text string) bool { return slices.Contains(v.texts(), text) }
