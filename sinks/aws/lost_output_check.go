package aws

import (
	"context"
	"errors"
	"fmt"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/archive/s3"
	"github.com/tablewake/tablewake/sinks/search/opensearch"
	"github.com/tablewake/tablewake/sinks/state"
	statedynamo "github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/view/dynamo"
)

// hasWritten reports whether the state records that the sink has begun to write its output. If so, a missing target of
// the sink is lost, and is not created again.
func (b *Bundle) hasWritten(ctx context.Context, cfg *config.Config, s config.Sink) (bool, error) {
	if cfg.State == nil {
		return false, nil
	}
	db, err := b.stateDB(ctx, cfg)
	if err != nil {
		return false, err
	}
	birth, _, err := state.FindBirth(ctx, db.State(cfg.Name), s.Name, sinks.Target(s))
	return birth.Begun, err
}

// refuseLostTable returns a [state.LostError] if the table of a sink is missing although the state records that the
// sink wrote to it. db is a connection that reaches the table.
func (b *Bundle) refuseLostTable(ctx context.Context, cfg *config.Config, t rowTable, db *statedynamo.DB) error {
	hasWritten, err := b.hasWritten(ctx, cfg, t.sink)
	if err != nil || !hasWritten || b.lookOnly {
		return err
	}
	if _, err = db.Describe(ctx, t.Name); errors.Is(err, statedynamo.ErrNoTable) {
		err = lostTarget(t.sink, err)
	}
	return err
}

// lostTarget returns the error for a target that is missing although the state records that the sink wrote to it.
func lostTarget(s config.Sink, err error) error {
	return state.NewLostError(s.Name, fmt.Sprintf(
		"%s is missing, and the state knows what the sink wrote there: it was deleted (%v)", sinks.Target(s), err))
}

// refuseLostState returns a [state.LostError] if the state table is missing, but a sink has output that was written
// with a state table.
func (b *Bundle) refuseLostState(ctx context.Context, cfg *config.Config, db *statedynamo.DB) error {
	_, err := db.Describe(ctx, cfg.State.Table.Name)
	if !errors.Is(err, statedynamo.ErrNoTable) {
		return nil // the creation of the table reports other errors
	}
	for _, s := range cfg.Sinks {
		description, err := b.leftOutput(ctx, cfg, s, db)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		if _, err := db.Describe(ctx, cfg.State.Table.Name); err == nil {
			return nil // another process created the table meanwhile, and wrote the output
		}
		if description != "" {
			return lostState(cfg, s, description)
		}
	}
	return nil
}

// lostState returns the error of a missing state table, if a sink has the described output.
func lostState(cfg *config.Config, s config.Sink, description string) error {
	return pipeline.Fatal(&state.LostError{
		What: fmt.Sprintf(
			"the state table %s is missing, and %s holds %s of the sink %s: the state was deleted, and is not made",
			cfg.State.Table.Name, sinks.Target(s), description, s.Name),
		Hint: "`tablewake adopt --create` makes an empty one, shows what is there of each sink, and accepts it where that can be right; where it can't, it says how to fill the sink again",
	})
}

// leftOutput describes the existing output of a sink; "" if there is no output.
func (b *Bundle) leftOutput(
	ctx context.Context, cfg *config.Config, s config.Sink, db *statedynamo.DB,
) (string, error) {
	switch {
	case s.View != nil, s.Aggregate != nil:
		return b.leftRows(ctx, cfg, s, db)
	case s.Search != nil:
		o, err := b.connection(cfg, s.Search.Connection)
		if err != nil {
			return "", err
		}
		store, err := opensearch.New(o)
		if err != nil {
			return "", err
		}
		description, err := recordedBirth(ctx, cfg, s, store)
		return description, errors.Join(err, store.Close())
	case s.Archive != nil && s.Archive.Bucket != "":
		store, err := s3.New(s3.Options{Client: b.s3, Bucket: s.Archive.Bucket,
			Folder: archive.Folder(s.Archive.Prefix, s.Archive.Key)})
		if err != nil {
			return "", err
		}
		return recordedBirth(ctx, cfg, s, store)
	}
	return "", nil
}

// leftRows describes the rows of a view or an aggregate; "" if there are none.
func (b *Bundle) leftRows(ctx context.Context, cfg *config.Config, s config.Sink, db *statedynamo.DB) (string, error) {
	rowsDB := db
	if s.View != nil && s.View.Table.ARN != "" {
		client := b.tableClient(rowTable{Table: s.View.Table})
		var err error
		rowsDB, err = statedynamo.New(statedynamo.Options{Client: client, Table: "none", Pipeline: cfg.Name})
		if err != nil {
			return "", err
		}
	}
	store, err := dynamo.NewAt(db, rowsDB)
	if err != nil {
		return "", err
	}
	found, err := store.Output(sinks.OutputRef(cfg, s)).Inspect(ctx, true)
	if err != nil || found.Total() == 0 {
		return "", err
	}
	return fmt.Sprintf("rows (%d were seen)", found.Total()), nil
}

// recordedBirth describes the birth in a store's fingerprint of the sink; "" if there is none.
func recordedBirth(
	ctx context.Context, cfg *config.Config, s config.Sink, prints state.Fingerprints,
) (string, error) {
	stored, _, err := prints.Fingerprint(ctx, cfg.Name, s.Name)
	if err != nil || stored.Birth == "" {
		return "", err
	}
	return "output of the birth " + stored.Birth, nil
}
