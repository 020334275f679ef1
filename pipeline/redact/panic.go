package redact

import "fmt"

// PanicError is a panic of user code (a filter, detector, sink, source or
// committer), caught where the pipeline called it.
type PanicError struct {
	Stage string // what was called: `filter "large"`, `sink "orders"`
	Value any    // what it panicked with
	Stack []byte // its goroutine's trace
}

// Error names the stage and the value; the trace is in Stack.
func (e *PanicError) Error() string { return fmt.Sprintf("panic in %s: %v", e.Stage, e.Value) }

// Unwrap is the value, where it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
