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

// Stores opens the stores of sinks. [Assemble] calls each method once for each sink of its kind, one after the other.
// Sinks may share a store. A Stores may read the whole configuration to find what its sinks share, such as connections
// and the state. A method may block until ctx is done. Whoever created the Stores closes the opened stores after the
// pipeline's last Run.
type Stores interface {
	// View opens the table of a view sink (s.View is set). It creates a missing table.
	View(ctx context.Context, cfg *config.Config, s config.Sink) (view.Store, error)
	// Aggregate opens the table of an aggregate sink (s.Aggregate is set). It creates a missing
	// table.
	Aggregate(ctx context.Context, cfg *config.Config, s config.Sink) (view.GroupStore, error)
	// Search opens the index of a search sink (s.Search is set).
	Search(ctx context.Context, cfg *config.Config, s config.Sink) (search.Store, error)
	// Archive opens the bucket of an archive sink (s.Archive is set).
	Archive(ctx context.Context, cfg *config.Config, s config.Sink) (archive.Store, error)
	// Notify opens the destination of a notify sink (s.Notify is set).
	Notify(ctx context.Context, cfg *config.Config, s config.Sink) (notify.Store, error)

	// DeadLetters opens the store of dead letters. It may return nil if the file names no dead letters (cfg.DeadLetters
	// is nil). A change that cannot be delivered then blocks its key.
	DeadLetters(ctx context.Context, cfg *config.Config) (pipeline.DeadLetters, error)

	// State opens the store of the pipeline's state. It may return nil if the file names no state (cfg.State is nil).
	// Later changes of a dead-lettered key are then not quarantined.
	State(ctx context.Context, cfg *config.Config) (state.Store, error)
}
