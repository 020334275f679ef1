package sinks

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
)

// Option adds to what a file says.
type Option func(*assembly)

// With gives the Go sink that `custom: {name: NAME}` asks for. make is called once
// for each such sink with the settings of its `with`, decoded into a T (a struct
// with `yaml` tags, or a map) strictly: a key that T does not have is an error.
// A struct{} takes none.
//
// Several sinks may share a name; each is made anew.
func With[T any](name string, make func(ctx context.Context, settings T) (pipeline.Sink, error)) Option {
	return func(a *assembly) {
		a.custom[name] = func(ctx context.Context, with config.With) (pipeline.Sink, error) {
			var settings T
			if err := with.Decode(&settings); err != nil {
				return nil, err
			}
			return make(ctx, settings)
		}
	}
}

// WithFunc gives the detector that `func: NAME` asks for.
func WithFunc(name string, d pipeline.DetectorFunc) Option {
	return func(a *assembly) { a.funcs[name] = d }
}

// WithLogger is where the pipeline logs. Default: nowhere.
func WithLogger(l *slog.Logger) Option {
	return func(a *assembly) { a.options.Logger = l }
}

// WithCommands has lines of the log name the commands that show more of a failure. flags name the
// file and the stores: "-c tablewake.yaml --live". Default: none are named
func WithCommands(flags string) Option {
	return func(a *assembly) {
		a.options.See = func(f pipeline.Failure) string {
			sink := ""
			if f.Sink != "" {
				sink = " --sink " + f.Sink
			}
			if f.Letter {
				return "tablewake redrive " + flags + " --list" + sink
			}
			return "tablewake status " + flags
		}
	}
}

// WithTelemetry is where the pipeline's spans and metrics go. A nil provider is
// the global one, which is the default of both.
func WithTelemetry(t trace.TracerProvider, m metric.MeterProvider) Option {
	return func(a *assembly) { a.options.Tracer, a.options.Meter = t, m }
}

// WithBounds bounds what a run holds at once: workers that prepare pages, bytes
// of pages, and changes. 0 is the pipeline's default. Objects of archives may be larger: what
// waits for one is kept compressed, in as much memory again.
func WithBounds(workers int, bytes int64, changes int) Option {
	return func(a *assembly) {
		a.options.Workers, a.options.MaxBytes, a.options.MaxChanges = workers, bytes, changes
	}
}

// Suppressed has the notify sinks plan every event and send none: each is counted
// as suppressed for the reason, as in a replay.
func Suppressed(reason string) Option {
	return func(a *assembly) { a.suppress = reason }
}

// Finite says that the source ends, as a replay does: a batch that waits to be full
// waits for the end and not for time, so the same input makes the same objects of
// an archive however fast it is read. Without it they are cut by their age too (roll.age).
func Finite() Option {
	return func(a *assembly) { a.finite = true }
}

// Rebuild says that all of the history is replayed into views and aggregates that
// are empty, so that no change is refused for its age. Assemble fails where one of them
// is not empty.
func Rebuild() Option {
	return func(a *assembly) { a.rebuild = true }
}

// BornAs gives sinks that only plan the births that their outputs have in the state, so that they
// look for what is remembered under these. See [Births].
func BornAs(births map[string]string) Option {
	return func(a *assembly) { a.bornAs = births }
}

// ReadBefore says how it is known that the pipeline has read its source before, as "leases say that
// it was read": a state that knows nothing of any output was lost then, and Assemble fails. "": it
// is not known.
func ReadBefore(how string) Option {
	return func(a *assembly) { a.readBefore = how }
}

// WithStopTimeout is how long a soft stop drains before it turns hard. Default: 30s.
func WithStopTimeout(d time.Duration) Option {
	return func(a *assembly) { a.options.StopTimeout = d }
}

// Live says that the source is a stream which is read as it is written: how long a
// change may fail before it is given up then counts from its creation, and not
// from its first try.
func Live() Option {
	return func(a *assembly) { a.options.Live = true }
}
