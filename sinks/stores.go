package sinks

import (
	"context"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/notify"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// Stores opens what sinks write to. [Assemble] calls each method once for each
// sink of its kind, one after the other; sinks may share a store. A method
// may block while it connects, until ctx is done. Who made the Stores closes them,
// after the pipeline's last Run. A Stores may look into the whole configuration, for
// what its sinks share: connections, state.
type Stores interface {
	// View opens the table of a view sink (s.View is set), making it where it is missing.
	View(ctx context.Context, cfg *config.Config, s config.Sink) (view.Store, error)
	// Aggregate opens the table of an aggregate sink (s.Aggregate is set), making it where it is missing.
	Aggregate(ctx context.Context, cfg *config.Config, s config.Sink) (view.GroupStore, error)
	// Search opens the index of a search sink (s.Search is set).
	Search(ctx context.Context, cfg *config.Config, s config.Sink) (search.Store, error)
	// Archive opens the bucket of an archive sink (s.Archive is set).
	Archive(ctx context.Context, cfg *config.Config, s config.Sink) (archive.Store, error)
	// Notify opens what a notify sink publishes to (s.Notify is set).
	Notify(ctx context.Context, cfg *config.Config, s config.Sink) (notify.Store, error)

	// DeadLetters may answer nil where the file names none (cfg.DeadLetters is nil): what cannot
	// be delivered then blocks its key.
	DeadLetters(ctx context.Context, cfg *config.Config) (pipeline.DeadLetters, error)

	// State opens what the pipeline remembers besides. It may answer nil where the
	// file names no place for it (cfg.State is nil): a key then goes on behind a change that was
	// given up.
	State(ctx context.Context, cfg *config.Config) (state.Store, error)
}
