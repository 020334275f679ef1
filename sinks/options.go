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

// WithCommands makes log lines about a failure name a command that shows more. It makes errors name a command that
// helps. flags are the flags of these commands for the file and the stores, such as "-c tablewake.yaml --live".
// Default: no command is named.
func WithCommands(flags string) Option {
	return optionFunc(func(a *assembly) {
		a.flags = flags
		a.options.DetailCommand = func(f pipeline.Failure) string {
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

// WithTelemetry sets the providers of the pipeline's spans and metrics. Default, also for a nil provider: the global
// provider.
func WithTelemetry(t trace.TracerProvider, m metric.MeterProvider) Option {
	return optionFunc(func(a *assembly) { a.options.Tracer, a.options.Meter = t, m })
}

// WithBounds limits the memory of a run: the workers that prepare pages, the bytes of pages, and the number of changes.
// 0 is the pipeline's default. The changes of one archive object may need more bytes than the limit. They are then kept
// compressed, in up to the same amount of additional memory.
func WithBounds(workers int, bytes int64, changes int) Option {
	return optionFunc(func(a *assembly) {
		a.options.Workers, a.options.MaxBytes, a.options.MaxChanges = workers, bytes, changes
	})
}

// SuppressEvents makes notify sinks plan every event and send none. Each event counts as suppressed, with the reason. A
// replay uses this option.
func SuppressEvents(reason string) Option {
	return optionFunc(func(a *assembly) { a.suppress = reason })
}

// Finite declares that the source ends, as in a replay. A batch that waits for more changes then ends when it is full
// or when the source ends, and not after a time. So the same input makes the same archive objects, however fast it is
// read. Without Finite an object also ends at an age (roll.age).
func Finite() Option {
	return optionFunc(func(a *assembly) { a.finite = true })
}

// Rebuild declares that the whole history is replayed into empty sinks, so that no change is too
// old. Assemble fails with [ErrNotEmpty] or [ErrIndexNotEmpty] if a view, an aggregate or a search
// index is not empty.
func Rebuild() Option {
	return optionFunc(func(a *assembly) { a.rebuild = true })
}

// RecordOutputsOnly declares that the pipeline never runs. Assemble records the outputs. It does not note
// (Birth.LeftOut) that the file lacks a sink.
func RecordOutputsOnly() Option {
	return optionFunc(func(a *assembly) { a.recordOnly = true })
}

// BackfillOptions describe a pipeline that fills sinks. The floor of a sink, the earliest time of the stream's changes
// that it takes, does not apply to this pipeline.
type BackfillOptions struct {
	Sinks     []string           // names of the sinks to fill; a sink that [CheckNamed] refuses is an error
	Narrowing pipeline.Condition // selects the items that are read. Default: all
	// Views is a map that Assemble adds the views to, so that the caller can list their waiting claims at the end.
	// Default: the views are not returned
	Views map[string]*view.Sink
}

// Backfill makes a pipeline of some sinks. Its source is a snapshot of the table, or an archive of the table's changes.
// The pipeline raises no events. Several items may claim one row of a view. The claims that do not get the row wait,
// and are not dead letters. A Go sink ([With], [On]) gets each item as a change with the operation SNAPSHOT. If order
// matters to a Go sink, it must compare versions, because changes of the stream are newer than items of a snapshot.
func Backfill(o BackfillOptions) Option {
	return optionFunc(func(a *assembly) { a.backfill, a.finite = &o, true })
}

// Redrive declares that the changes come from dead letters. A change for a sink that waits to be filled then fails, so
// that its dead letter stays.
func Redrive() Option {
	return optionFunc(func(a *assembly) { a.redrive = true })
}

// BornAs sets the births of outputs for sinks that only plan. births maps the name of a sink to the ID of its birth, as
// [Births] returns it. The state keeps items under these IDs. So the sinks need the IDs to find their items.
func BornAs(births map[string]string) Option {
	return optionFunc(func(a *assembly) { a.bornAs = births })
}

// SourceWasRead declares that the pipeline has read its source before. how is the evidence, such as "leases say that it
// was read"; "" means that it is unknown whether the source was read. If how is not "" and the state has no birth of
// any output, the state was lost, and Assemble returns an error.
func SourceWasRead(how string) Option {
	return optionFunc(func(a *assembly) { a.readBefore = how })
}

// WithStopTimeout sets how long a soft stop drains before it becomes a hard stop. Default: 30s.
func WithStopTimeout(d time.Duration) Option {
	return optionFunc(func(a *assembly) { a.options.StopTimeout = d })
}

// Live declares that the source is a stream that is read while it is written. A failing change then expires `max_hold`
// after its creation. Without Live it expires `max_hold` after its first try.
func Live() Option {
	return optionFunc(func(a *assembly) { a.options.Live = true })
}

// Discard is the name of a Go sink that every configuration can use without [With]. It drops every
// change. `sinks: {nothing: {custom: {name: discard}}}` measures how fast a stream is read, decoded
// and filtered without any writes.
const Discard = "discard"
