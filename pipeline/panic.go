package pipeline

import (
	"errors"
	"log/slog"
	"runtime/debug"

	"github.com/tablewake/tablewake/pipeline/redact"
)

// recovered turns a recovered panic into an error; call it in a deferred function with what recover returned there.
func recovered(stage string, v any) *redact.PanicError {
	return &redact.PanicError{Stage: stage, Value: v, Stack: debug.Stack()}
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
	if p, ok := errors.AsType[*redact.PanicError](err); ok {
		return err.Error() + "\n" + string(p.Stack)
	}
	return err.Error()
}

// stackOf is the trace of a panic for a log; empty for other errors.
func stackOf(err error) slog.Attr {
	if p, ok := errors.AsType[*redact.PanicError](err); ok {
		return slog.String("stack", string(p.Stack))
	}
	return slog.Attr{}
}

// failed adds to a line of the log what it has of a failure: what went wrong, the field, the command that shows more,
// and of a panic its trace.
func (p *Pipeline) failed(f Failure, err error, attrs ...slog.Attr) []slog.Attr {
	attrs = append(attrs, slog.String("error", redact.LogText(err)))
	if field := redact.ErrorField(err); field != "" {
		attrs = append(attrs, slog.String("field", field))
	}
	if p.o.See != nil {
		attrs = append(attrs, slog.String("see", p.o.See(f)))
	}
	if stack := stackOf(err); stack.Key != "" {
		attrs = append(attrs, stack)
	}
	return attrs
}
