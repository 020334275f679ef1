package config

import (
	"time"

	"go.yaml.in/yaml/v3"
)

// value is a checked place of the file. Its accessors answer the zero value for
// a nil value, and for one that the walk found wrong, so that what is built from
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
	for _, e := range v.entries {
		if e.name == name {
			return e
		}
	}
	return nil
}

func (v *value) all() []*value {
	if v == nil {
		return nil
	}
	return v.entries
}

func (v *value) line() int {
	if v == nil {
		return 0
	}
	return v.node.Line
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

func (v *value) text() string            { return as[string](v) }
func (v *value) integer() int64          { return as[int64](v) }
func (v *value) duration() time.Duration { return as[time.Duration](v) }

// written is the scalar's text, expanded, whatever was made of it; "" of a nil value.
func (v *value) written() string {
	if v == nil {
		return ""
	}
	return v.source
}

// texts is the texts of a list.
func (v *value) texts() []string {
	if v == nil {
		return nil
	}
	ss := make([]string, len(v.entries))
	for i, e := range v.entries {
		ss[i] = e.text()
	}
	return ss
}

// textMap is the texts of a map, by name.
func (v *value) textMap() map[string]string {
	if v == nil {
		return nil
	}
	m := make(map[string]string, len(v.entries))
	for _, e := range v.entries {
		m[e.name] = e.text()
	}
	return m
}
