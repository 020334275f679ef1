package redact

import "fmt"

// PanicError is a recovered panic of user code: a filter, a detector, a sink, a source or a committer.
type PanicError struct {
	Stage string // the code that panicked: `filter "large"`, `sink "orders"`
	Value any    // the argument of panic
	Stack []byte // the stack trace of the goroutine
}

// Error returns the stage and the value, without the stack trace.
func (e *PanicError) Error() string { return fmt.Sprintf("panic in %s: %v", e.Stage, e.Value) }

// Unwrap returns the value if it is an error, else nil.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
