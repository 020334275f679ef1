package pipeline

import (
	"errors"
	"log/slog"
	"runtime/debug"

	"github.com/tablewake/tablewake/pipeline/redact"
)

// panicError returns the error of a panic. A deferred function calls it with the result of recover.
func panicError(stage string, v any) *redact.PanicError {
	return &redact.PanicError{Stage: stage, Value: v, Stack: debug.Stack()}
}

// guard calls f, which is code of the user. A panic becomes an error that names the stage. If denials is not nil, it
// makes a denial ([Denied]) transient or fatal.
func guard(stage string, denials *DenialTracker, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = panicError(stage, v)
		}
		if denials != nil {
			err = denials.Classify(err)
		}
	}()
	return f()
}

// errorText returns the whole text of an error, with the stack of a panic.
func errorText(err error) string {
	if p, ok := errors.AsType[*redact.PanicError](err); ok {
		return err.Error() + "\n" + string(p.Stack)
	}
	return err.Error()
}

// failureAttrs appends the attributes of a failure for the log. These are the redacted text, the field, the command
// that shows more, and the stack of a panic.
func (p *Pipeline) failureAttrs(f Failure, err error, attrs ...slog.Attr) []slog.Attr {
	attrs = append(attrs, slog.String("error", redact.LogText(err)))
	if field := redact.ErrorField(err); field != "" {
		attrs = append(attrs, slog.String("field", field))
	}
	if p.options.DetailCommand != nil {
		attrs = append(attrs, slog.String("see", p.options.DetailCommand(f)))
	}
	if panicked, ok := errors.AsType[*redact.PanicError](err); ok {
		attrs = append(attrs, slog.String("stack", string(panicked.Stack)))
	}
	return attrs
}
