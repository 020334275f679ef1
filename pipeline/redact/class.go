package redact

import (
	"fmt"
	"strings"
	"time"
)

// Class makes errors of which a log shows more than the type. It is the first word of the line and
// names what is wrong; operators count it and search for it. Planners and stores make all of their
// errors by one.
type Class string

// Safe is text that holds nothing of an item, and may be shown in logs: names and templates of the
// configuration, the type of a value.
type Safe string

// Field is the name or the path of an attribute as the configuration has it. A log shows it.
type Field string

// New is an error with a fixed text, which a log shows.
func (c Class) New(text string) error { return &classError{class: string(c), text: text, shown: text} }

// Errorf is [fmt.Errorf] with a redacted text for logs. That text holds the format, and of args [Safe],
// [Field], Go's integers, durations, and of errors what [LogText] shows. Everything else is an ellipsis: give
// the name of a constant, as that of an [pipeline.Outcome], as Safe. An error that is wrapped (%w) and has a class keeps it.
func (c Class) Errorf(format string, args ...any) error {
	whole := fmt.Errorf(format, args...) //nolint:err113 // it is fmt.Errorf
	e := &classError{class: string(c), text: whole.Error()}
	switch w := whole.(type) { //nolint:errorlint // it is what fmt.Errorf makes
	case interface{ Unwrap() error }:
		e.causes = []error{w.Unwrap()}
	case interface{ Unwrap() []error }:
		e.causes = w.Unwrap()
	}
	shown := make([]any, len(args))
	for i, arg := range args {
		shown[i] = shownArg(arg)
		if f, ok := arg.(Field); ok && e.field == "" {
			e.field = string(f)
		}
	}
	e.shown = fmt.Sprintf(strings.ReplaceAll(format, "%w", "%v"), shown...)
	for _, cause := range e.causes {
		if cause == nil {
			continue
		}
		if class, field, _ := describe(cause); class != UnknownClass {
			e.class = class
			if e.field == "" {
				e.field = field
			}
			break
		}
	}
	return e
}

// shownArg returns what a log shows of an argument.
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

// ellipsis is shown in place of what may belong to an item.
type ellipsis struct{}

// Format writes the ellipsis, whatever the verb.
func (ellipsis) Format(s fmt.State, _ rune) { _, _ = s.Write([]byte("…")) }

// classError is an error of a Class.
type classError struct {
	class, field string
	text, shown  string
	causes       []error
}

var (
	_ Redacted  = (*classError)(nil)
	_ Described = (*classError)(nil)
)

// Error returns the whole text.
func (e *classError) Error() string { return e.text }

// Redacted returns the text for logs.
func (e *classError) Redacted() string { return e.shown }

// Describe returns the class, and the first [Field] of the arguments or of the causes.
func (e *classError) Describe() (class, field string) { return e.class, e.field }

// Unwrap returns the errors that were wrapped.
func (e *classError) Unwrap() []error { return e.causes }
