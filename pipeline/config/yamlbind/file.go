package yamlbind

import (
	"fmt"
	"reflect"
	"strings"
)

// Words are what the problems of one kind of file say otherwise than those of others.
type Words struct {
	Empty  string // what to do about an empty file
	Second string // about a second document
	Tag    string // about a YAML tag. Default: to remove it
	Merge  string // about a merge key
	Values bool   // problems repeat the numbers and booleans that they are about, and what to quote
}

// Options say how a file is read.
type Options struct {
	Words    Words
	MaxNodes int                         // what aliases may expand the file to
	Getenv   func(string) (string, bool) // answers ${NAME}; nil: it is text like any other
	Owner    any                         // given to hooks and kinds by [Owner]
}

// File is a YAML file while it is read: its places, and what is wrong with it.
type File struct {
	Problems Problems // what keeps the file from being used
	Warnings Problems // what may surprise

	name string
	text []byte
	o    Options

	places map[any]*Value // by the address of the field that holds what stands there
	lines  []string       // nil where problems repeat nothing of the file
	nodes  int
	large  bool // the file is too large, which has been said
}

// New is a file of these bytes. name stands in messages.
func New(name string, b []byte, o Options) *File {
	f := &File{name: name, text: b, o: o, places: make(map[any]*Value)}
	if o.Words.Values {
		f.lines = strings.Split(string(b), "\n")
	}
	return f
}

// Read reads the file into the struct that out points to, by the rule of its type.
func (f *File) Read(r *Rule, out any) {
	if doc := f.document(f.text); doc != nil {
		f.bind(&Value{Node: doc}, r, reflect.ValueOf(out).Elem(), reflect.Value{})
	}
}

// Owner is who reads the file.
func Owner[T any](f *File) T { return f.o.Owner.(T) }

// Name is the name of the file in messages.
func (f *File) Name() string { return f.name }

// At notes a problem.
func (f *File) At(line, column int, field, message, hint string) {
	f.Problems = append(f.Problems, Problem{f.name, line, column, field, message, hint})
}

// Of is the place of a field, by the field's address; nil where the file leaves it out. A place is its own.
func (f *File) Of(at any) *Value {
	if v, ok := at.(*Value); ok {
		return v
	}
	return f.places[at]
}

// Has reports whether the file has the field.
func (f *File) Has(at any) bool { return f.Of(at) != nil }

// Sound reports whether the file has the field, and nothing was wrong with it when it was bound.
func (f *File) Sound(at any) bool { return f.Has(at) && f.Of(at).Data != nil }

// Problem is one with a field or a place.
func (f *File) Problem(at any, hint, format string, args ...any) Problem {
	v := f.Of(at)
	return Problem{f.name, v.Node.Line, v.Node.Column, v.Field, fmt.Sprintf(format, args...), hint}
}

// Fail notes what keeps the file from being used.
func (f *File) Fail(at any, hint, format string, args ...any) {
	f.Problems = append(f.Problems, f.Problem(at, hint, format, args...))
}

// FailKey fails at the key of a place.
func (f *File) FailKey(v *Value, hint, format string, args ...any) {
	f.At(v.Key.Line, v.Key.Column, v.Field, fmt.Sprintf(format, args...), hint)
}

// FailIf fails where bad holds, and Refuse where the file has the field.
func (f *File) FailIf(bad bool, at any, hint, format string, args ...any) {
	if bad {
		f.Fail(at, hint, format, args...)
	}
}

// Refuse fails where the file has the field.
func (f *File) Refuse(at any, hint, format string, args ...any) {
	f.FailIf(f.Has(at), at, hint, format, args...)
}

// Warn notes what may surprise.
func (f *File) Warn(at any, hint, format string, args ...any) {
	f.Warnings = append(f.Warnings, f.Problem(at, hint, format, args...))
}

// WarnIf warns where it holds.
func (f *File) WarnIf(holds bool, at any, hint, format string, args ...any) {
	if holds {
		f.Warn(at, hint, format, args...)
	}
}

// line is a line of the file, 1-based; "" where there is none.
func (f *File) line(n int) string {
	if n < 1 || n > len(f.lines) {
		return ""
	}
	return f.lines[n-1]
}
