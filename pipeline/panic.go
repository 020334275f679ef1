package pipeline

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
)

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

// recovered turns a recovered panic into an error; call it in a deferred function
// with what recover returned there.
func recovered(stage string, v any) *PanicError {
	return &PanicError{Stage: stage, Value: v, Stack: debug.Stack()}
}

// guard calls code of the user. It makes a panic an error of that stage, and p decides about refusals (nil: nobody).
func guard(stage string, p *Patience, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = recovered(stage, v)
		}
		if p != nil {
			err = p.Take(err)
		}
	}()
	return f()
}

// errorText is the whole text of an error, with the trace of a panic.
func errorText(err error) string {
	if p, ok := errors.AsType[*PanicError](err); ok {
		return err.Error() + "\n" + string(p.Stack)
	}
	return err.Error()
}

// stackOf is the trace of a panic for a log; empty for other errors.
func stackOf(err error) slog.Attr {
	if p, ok := errors.AsType[*PanicError](err); ok {
		return slog.String("stack", string(p.Stack))
	}
	return slog.Attr{}
}
