package aws

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/state"
	statedynamo "github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/dynamo"
)

// View opens the sink's table.
func (b *Bundle) View(ctx context.Context, cfg *config.Config, s config.Sink) (view.Store, error) {
	return b.rows(ctx, cfg, s.View.Table, s.View.Key, false)
}

// Aggregate opens the sink's table.
func (b *Bundle) Aggregate(ctx context.Context, cfg *config.Config, s config.Sink) (view.GroupStore, error) {
	return b.rows(ctx, cfg, s.Aggregate.Table, s.Aggregate.Group, s.Aggregate.Shards > 1)
}

// State opens the state table; nil where the file names none.
func (b *Bundle) State(ctx context.Context, cfg *config.Config) (state.Store, error) {
	if cfg.State == nil {
		return nil, nil
	}
	db, err := b.db(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return db.State(cfg.Name), nil
}

// rows opens a table of rows. sharded rows have a text as their partition key.
func (b *Bundle) rows(ctx context.Context, cfg *config.Config, table string, key []config.Column, sharded bool) (*dynamo.Store, error) {
	if cfg.State == nil {
		return nil, errors.New("what must be remembered of items has no place: add state: {table: NAME}, a table of its own")
	}
	db, err := b.db(ctx, cfg)
	if err != nil {
		return nil, err
	}
	t := view.Table{Name: table, PK: key[0].Name}
	k := dynamo.KeyTypes{PK: keyType(cfg, key[0].Template)}
	if len(key) > 1 {
		t.SK, k.SK = key[1].Name, keyType(cfg, key[1].Template)
	}
	if sharded {
		k.PK = types.ScalarAttributeTypeS
	}
	if k, err = typed(ctx, db, table, k, len(key)); err != nil {
		return nil, err
	}
	return open(b, fmt.Sprint("rows ", t, k), func() (*dynamo.Store, error) { // sinks of a table look at it once
		store, err := dynamo.New(db)
		if err != nil {
			return nil, err
		}
		return store, b.made(ctx,
			func(ctx context.Context) error { return store.Create(ctx, t, k) },
			func(ctx context.Context) error { return store.Check(ctx, t, k) })
	})
}

// anyType is the type of a key attribute that only the items tell.
const anyType types.ScalarAttributeType = "?"

// keyType is the type of what t makes.
func keyType(cfg *config.Config, t *template.Template) types.ScalarAttributeType {
	path, whole := t.Path()
	if !whole {
		return types.ScalarAttributeTypeS
	}
	kind, declared := cfg.Attributes[path]
	switch {
	case !declared:
		return anyType
	case kind == pipeline.KindN:
		return types.ScalarAttributeTypeN
	case kind == pipeline.KindB:
		return types.ScalarAttributeTypeB
	default:
		return types.ScalarAttributeTypeS
	}
}

// typed is k with the types that the table has where nothing else tells them; S, where
// there is no table yet either.
func typed(ctx context.Context, db *statedynamo.DB, table string, k dynamo.KeyTypes, attributes int) (dynamo.KeyTypes, error) {
	if k.PK != anyType && k.SK != anyType {
		return k, nil
	}
	is, err := db.Describe(ctx, table)
	if err != nil && !errors.Is(err, statedynamo.ErrNoTable) {
		return k, err
	}
	if k.PK == anyType {
		k.PK = is.PK.Type
	}
	if k.SK == anyType && attributes > 1 {
		k.SK = is.SK.Type
	}
	return k, nil
}

// db opens the state table.
func (b *Bundle) db(ctx context.Context, cfg *config.Config) (*statedynamo.DB, error) {
	return open(b, "state "+cfg.State.Table, func() (*statedynamo.DB, error) {
		db, err := statedynamo.New(statedynamo.Options{Client: b.dynamodb, Table: cfg.State.Table, Retention: cfg.State.GuardRetention})
		if err != nil {
			return nil, err
		}
		return db, b.made(ctx, db.CreateState, func(ctx context.Context) error { return db.Check(ctx, db.StateTable()) })
	})
}
