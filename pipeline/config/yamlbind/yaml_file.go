package yamlbind

import (
	"fmt"
	"reflect"
	"strings"
)

// FileHints are the hints that differ between kinds of files.
type FileHints struct {
	Empty  string // hint for an empty file
	Second string // hint for a second document
	Tag    string // hint for a YAML tag. Default: a hint to remove the tag
	Merge  string // hint for a merge key
	Values bool   // problems may repeat wrong numbers and booleans, and texts that lack quotes
}

// Options define how a file is read.
type Options struct {
	Words    FileHints
	MaxNodes int                         // maximum number of values of the file, with its aliases expanded
	Getenv   func(string) (string, bool) // value of ${NAME}; nil: ${NAME} is plain text
	Context  any                         // a value for Made methods and kinds, which read it with [Context]
}

// File is a YAML file that is being read, with its values and problems.
type File struct {
	Problems Problems // errors, which make the file unusable
	Warnings Problems

	name string
	text []byte
	o    Options

	values map[any]*Value // the value that is bound to a field, by the address of the field
	lines  []string       // lines of the file; nil if problems may not repeat its text
	nodes  int            // number of values so far, with aliases expanded

	isTooLarge bool // the file has too many values or levels, and a problem says so
}

// New returns a File with the content b. name is the name of the file in messages.
func New(name string, b []byte, o Options) *File {
	f := &File{name: name, text: b, o: o, values: make(map[any]*Value)}
	if o.Words.Values {
		f.lines = strings.Split(string(b), "\n")
	}
	return f
}

// Read reads the file into the struct that out points to. r is the rule of the struct's type.
func (f *File) Read(r *Rule, out any) {
	if doc := f.document(f.text); doc != nil {
		f.bind(&Value{Node: doc}, r, reflect.ValueOf(out).Elem(), reflect.Value{})
	}
}

// Context returns [Options.Context], which must have the type T.
func Context[T any](f *File) T { return f.o.Context.(T) }

// Name returns the name of the file in messages.
func (f *File) Name() string { return f.name }

// FailAt notes a problem at a line and a column.
func (f *File) FailAt(line, column int, field, message, hint string) {
	f.Problems = append(f.Problems, Problem{f.name, line, column, field, message, hint})
}

// ValueOf returns the value that is bound to a field, or nil if the file does not have the field. field is the address
// of the field, or the value itself.
func (f *File) ValueOf(field any) *Value {
	if v, ok := field.(*Value); ok {
		return v
	}
	return f.values[field]
}

// Has reports whether the file has the field.
func (f *File) Has(field any) bool { return f.ValueOf(field) != nil }

// Sound reports whether the file has the field and its data is valid.
func (f *File) Sound(field any) bool { return f.Has(field) && f.ValueOf(field).Data != nil }

// Problem returns a problem at a field or a value.
func (f *File) Problem(field any, hint, format string, args ...any) Problem {
	v := f.ValueOf(field)
	return Problem{f.name, v.Node.Line, v.Node.Column, v.Field, fmt.Sprintf(format, args...), hint}
}

// Fail notes a problem at a field or a value.
func (f *File) Fail(field any, hint, format string, args ...any) {
	f.Problems = append(f.Problems, f.Problem(field, hint, format, args...))
}

// FailKey notes a problem at the key of a value.
func (f *File) FailKey(v *Value, hint, format string, args ...any) {
	f.FailAt(v.Key.Line, v.Key.Column, v.Field, fmt.Sprintf(format, args...), hint)
}

// FailIf notes a problem if holds is true.
func (f *File) FailIf(holds bool, field any, hint, format string, args ...any) {
	if holds {
		f.Fail(field, hint, format, args...)
	}
}

// Refuse notes a problem if the file has the field.
func (f *File) Refuse(field any, hint, format string, args ...any) {
	f.FailIf(f.Has(field), field, hint, format, args...)
}

// Warn notes a warning.
func (f *File) Warn(field any, hint, format string, args ...any) {
	f.Warnings = append(f.Warnings, f.Problem(field, hint, format, args...))
}

// WarnIf notes a warning if holds is true.
func (f *File) WarnIf(holds bool, field any, hint, format string, args ...any) {
	if holds {
		f.Warn(field, hint, format, args...)
	}
}

// line returns line n of the file, where the first line is 1. It returns "" if there is no such line.
func (f *File) line(n int) string {
	if n < 1 || n > len(f.lines) {
		return ""
	}
	return f.lines[n-1]
}
