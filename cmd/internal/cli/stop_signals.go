package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// StopSignals returns the signals that request a soft stop. It leaves out SIGHUP if the process ignores that signal, as
// under nohup.
func StopSignals() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{os.Interrupt, syscall.SIGTERM}
	}
	return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
}

// WithStopSignals returns a context that the first stop signal ends. A second stop signal has its default effect: it
// kills the process.
func WithStopSignals(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, StopSignals()...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
