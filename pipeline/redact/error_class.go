package redact

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Class makes errors with a redacted text for logs. The class is the first word of the redacted text and names the kind
// of the problem. Operators count problems by class and search logs for a class. Each planner and each store makes all
// its errors with one Class.
type Class string

// Safe is text that has no data of an item and may be logged: names and templates of the configuration, the type of a
// value.
type Safe string

// Field is the name or the path of an attribute in the configuration. Logs show it.
type Field string

// New returns an error with a fixed text. Logs show the text.
func (c Class) New(text string) error { return &classError{class: string(c), text: text, shown: text} }

// Errorf is [fmt.Errorf] with a redacted text for logs. The redacted text consists of the format and of the args that
// hold no data: [Safe], [Field], bools, Go's integers, durations, and the [SafeText] of errors. An ellipsis replaces
// any other arg, even a string that is a constant. So pass such a string as Safe. If a wrapped error (%w) has a class,
// the new error has the same class.
func (c Class) Errorf(format string, args ...any) error {
	full := fmt.Errorf(format, args...) //nolint:err113 // a wrapper of fmt.Errorf
	e := &classError{class: string(c), text: full.Error(), causes: causesOf(full)}
	redacted := make([]any, len(args))
	for i, arg := range args {
		redacted[i] = shownArg(arg)
		if f, ok := arg.(Field); ok && e.field == "" {
			e.field = string(f)
		}
	}
	e.shown = fmt.Sprintf(strings.ReplaceAll(format, "%w", "%v"), redacted...)
	e.inheritClass()
	return e
}

// causesOf returns the errors that a result of fmt.Errorf wraps.
func causesOf(err error) []error {
	switch w := err.(type) { //nolint:errorlint // the result of fmt.Errorf itself
	case interface{ Unwrap() error }:
		return []error{w.Unwrap()}
	case interface{ Unwrap() []error }:
		return w.Unwrap()
	}
	return nil
}

// inheritClass takes the class of the first cause that has one. It also takes the field of this cause if e has none.
func (e *classError) inheritClass() {
	for _, cause := range e.causes {
		if cause == nil {
			continue
		}
		class, field, _ := describe(cause)
		if class != UnknownClass {
			e.class, e.field = class, cmp.Or(e.field, field)
			return
		}
	}
}

// shownArg returns the argument in the form of the redacted text.
func shownArg(arg any) any {
	switch a := arg.(type) {
	case nil, Safe, Field, bool, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64, time.Duration:
		return arg
	case error:
		_, _, text := describe(a)
		return text
	}
	return ellipsis{}
}

// ellipsis replaces an argument that may be data of an item.
type ellipsis struct{}

// Format writes the ellipsis for any verb.
func (ellipsis) Format(s fmt.State, _ rune) { _, _ = s.Write([]byte("…")) }

// classError is an error of a Class.
type classError struct {
	class, field string
	text, shown  string // shown is the redacted text
	causes       []error
}

var (
	_ Redacted  = (*classError)(nil)
	_ Described = (*classError)(nil)
)

// Error returns the full text.
func (e *classError) Error() string { return e.text }

// Redacted returns the text for logs.
func (e *classError) Redacted() string { return e.shown }

// Describe returns the class, and the first [Field] of the arguments or of the causes.
func (e *classError) Describe() (class, field string) { return e.class, e.field }

// Unwrap returns the errors that were wrapped.
func (e *classError) Unwrap() []error { return e.causes }
