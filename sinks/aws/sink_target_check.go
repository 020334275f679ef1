package aws

import (
	"context"
	"errors"
	"fmt"

	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/archive/s3"
	"github.com/tablewake/tablewake/sinks/search/opensearch"
	statedynamo "github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/view/dynamo"
)

// CheckSink compares the target of a sink with the configuration, as a start of the pipeline does. The target is a
// table, indexes, a bucket, a queue, a topic or a bus. CheckSink writes nothing, and does not need the state table. If
// the target is missing although the state records that the sink wrote to it, the error is a [state.LostError].
// createdLater names the missing parts that a start or the first document will create; it is "" if no part is missing.
func (b *Bundle) CheckSink(ctx context.Context, cfg *config.Config, s config.Sink) (createdLater string, err error) {
	hasWritten, _ := b.hasWritten(ctx, cfg, s) // the caller checks the state itself
	if s.Search != nil {
		return b.checkIndexes(ctx, cfg, s, hasWritten)
	}
	err = b.checkTarget(ctx, cfg, s)
	isMissing := err != nil && awserr.KindOf(err) == awserr.Missing
	if isMissing && hasWritten {
		return "", lostTarget(s, err)
	}
	return "", err
}

// checkTarget checks the target of a sink that is not a search sink.
func (b *Bundle) checkTarget(ctx context.Context, cfg *config.Config, s config.Sink) error {
	switch {
	case s.View != nil, s.Aggregate != nil:
		return b.checkRows(ctx, cfg, s)
	case s.Archive != nil:
		store, err := s3.New(s3.Options{Client: b.s3, Bucket: s.Archive.Bucket})
		if err != nil {
			return err
		}
		return store.Check(ctx)
	case s.Notify != nil:
		_, err := b.publisher(ctx, s.Notify, nil)
		return err
	}
	return nil
}

// checkRows checks the table of a view or an aggregate.
func (b *Bundle) checkRows(ctx context.Context, cfg *config.Config, s config.Sink) error {
	t := tableOf(s)
	o := statedynamo.Options{Client: b.dynamodb, Table: "none", Pipeline: cfg.Name} // Table is never used
	if t.selfGuarded {
		o.Client = b.tableClient(t)
	}
	db, err := statedynamo.New(o)
	if err != nil {
		return err
	}
	table, keyTypes, err := tableAndKeyTypes(ctx, cfg, db, t)
	if err != nil {
		return err
	}
	rows, err := dynamo.NewRows(db)
	if err != nil {
		return err
	}
	if err := rows.Check(ctx, table, keyTypes); err != nil {
		return err
	}

	if t.selfGuarded || cfg.State == nil {
		return nil
	}
	stateDB, err := b.stateDB(ctx, cfg)
	if err != nil {
		return nil //nolint:nilerr // the caller checks the state itself
	}
	return b.checkTransaction(ctx, stateDB, t)
}

// checkIndexes checks the server and the indexes of a search sink. hasWritten means that the state records documents of
// the sink. createdLater is as for CheckSink.
func (b *Bundle) checkIndexes(
	ctx context.Context, cfg *config.Config, s config.Sink, hasWritten bool,
) (createdLater string, err error) {
	o, err := b.searchOptions(cfg, s)
	if err != nil {
		return "", err
	}
	o.Indexes.WroteDocuments = hasWritten
	store, err := opensearch.New(o)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	names, err := store.Check(ctx)
	if err != nil || len(names) > 0 {
		return "", err
	}
	creation := "a start creates it"
	if _, isSingle := s.Search.Index.Prefix(); !isSingle || s.Search.OnDemand {
		creation = "its first document creates it"
	}
	return fmt.Sprintf("the index %s is missing, and %s", s.Search.Index, creation), nil
}
