package sinks

import (
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/view"
)

// Option changes how [Assemble] makes the pipeline of a configuration. An [Extension] is the Option that adds Go code.
type Option interface {
	apply(a *assembly)
}

// optionFunc adapts a function to an Option.
type optionFunc func(*assembly)

func (f optionFunc) apply(a *assembly) { f(a) }

// Options combines several options.
func Options(opts ...Option) Option {
	return optionFunc(func(a *assembly) {
		for _, o := range opts {
			o.apply(a)
		}
	})
}

// WithLogger sets the pipeline's log. Default: no log.
func WithLogger(l *slog.Logger) Option {
	return optionFunc(func(a *assembly) { a.options.Logger = l })
}

// WithCommands makes log lines about a failure name the command that shows more, and errors the
// one that mends them. flags are the command's flags for the file and the stores: "-c tablewake.yaml --live". Default:
// no command is named.
func WithCommands(flags string) Option {
	return optionFunc(func(a *assembly) {
		a.flags = flags
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
	})
}

// WithTelemetry sets the providers of the pipeline's spans and metrics. Default, also for a nil
// provider: the global one.
func WithTelemetry(t trace.TracerProvider, m metric.MeterProvider) Option {
	return optionFunc(func(a *assembly) { a.options.Tracer, a.options.Meter = t, m })
}

// WithBounds limits the memory of a run: the workers that prepare pages, the bytes of pages, and the number of changes.
// 0 is the pipeline's default. The changes of one archive object may need more bytes. They are kept compressed then, in
// up to the same amount of additional memory.
func WithBounds(workers int, bytes int64, changes int) Option {
	return optionFunc(func(a *assembly) {
		a.options.Workers, a.options.MaxBytes, a.options.MaxChanges = workers, bytes, changes
	})
}

// SuppressEvents makes notify sinks plan every event and send none. Each event counts as suppressed
// with the reason. A replay uses it.
func SuppressEvents(reason string) Option {
	return optionFunc(func(a *assembly) { a.suppress = reason })
}

// Finite declares that the source ends, as in a replay. Batches that wait to be full then wait for the end of the
// source, and not for a time. So the same input makes the same objects of an archive, however fast it is read. Without
// Finite an object is also cut by its age (roll.age).
func Finite() Option {
	return optionFunc(func(a *assembly) { a.finite = true })
}

// Rebuild declares that the whole history is replayed into empty sinks, so that no change is too
// old. Assemble fails with [ErrNotEmpty] or [ErrIndexNotEmpty] if a view, an aggregate or a search
// index is not empty.
func Rebuild() Option {
	return optionFunc(func(a *assembly) { a.rebuild = true })
}

// RecordOutputsOnly declares that the pipeline never runs. Assemble records the outputs. It does not note the sinks
// that the file lacks.
func RecordOutputsOnly() Option {
	return optionFunc(func(a *assembly) { a.recordOnly = true })
}

// BackfillOptions describe a pipeline that fills sinks. The floor of its sinks does not apply to it.
type BackfillOptions struct {
	Sinks     []string           // names of the sinks to fill; a sink that [CheckNamed] refuses is an error
	Narrowing pipeline.Condition // selects the items that are read. Default: all
	// Assemble adds the views here, so that the caller can list the waiting claims at the end. Default: it adds none
	Views map[string]*view.Sink
}

// Backfill makes a pipeline of some sinks. Its source is a snapshot of the table, or an archive of its changes. It
// raises no events. A view's claim that does not get its row waits, and is not a dead letter. A Go sink ([With], [On])
// gets each item as a change with the operation SNAPSHOT. If order matters to it, it must compare versions: changes of
// the stream are newer.
func Backfill(o BackfillOptions) Option {
	return optionFunc(func(a *assembly) { a.backfill, a.finite = &o, true })
}

// Redrive declares that the changes come from dead letters. A change for a waiting sink then fails, so that its letter
// stays.
func Redrive() Option {
	return optionFunc(func(a *assembly) { a.redrive = true })
}

// BornAs sets the births of outputs, by sink, for sinks that only plan. With them the sinks find the items that the
// state keeps under these births. See [Births].
func BornAs(births map[string]string) Option {
	return optionFunc(func(a *assembly) { a.bornAs = births })
}

// AlreadyRead declares that the pipeline has read its source before; how says how this is known, as
// in "leases say that it was read". Assemble then fails if the state has no birth of any output,
// because the state was lost. "" means unknown.
func AlreadyRead(how string) Option {
	return optionFunc(func(a *assembly) { a.readBefore = how })
}

// WithStopTimeout sets how long a soft stop drains before it becomes a hard stop. Default: 30s.
func WithStopTimeout(d time.Duration) Option {
	return optionFunc(func(a *assembly) { a.options.StopTimeout = d })
}

// Live declares that the source is a stream that is read while it is written. The time until a
// failing change expires (`max_hold`) then starts at the change's creation instead of its first
// try.
func Live() Option {
	return optionFunc(func(a *assembly) { a.options.Live = true })
}

// Discard is the name of a Go sink that every configuration can use without [With]. It drops every
// change. `sinks: {nothing: {custom: {name: discard}}}` measures how fast a stream is read, decoded
// and filtered without any writes.
const Discard = "discard"
