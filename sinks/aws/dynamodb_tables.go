package aws

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/internal/openstores"
	"github.com/tablewake/tablewake/sinks/state"
	statedynamo "github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/dynamo"
)

// View opens the sink's table.
func (b *Bundle) View(ctx context.Context, cfg *config.Config, s config.Sink) (view.Store, error) {
	t := tableOf(s)
	if t.selfGuarded {
		return b.selfGuardedRows(ctx, cfg, t)
	}
	return b.openRows(ctx, cfg, t)
}

// Aggregate opens the sink's table.
func (b *Bundle) Aggregate(ctx context.Context, cfg *config.Config, s config.Sink) (view.GroupStore, error) {
	return b.openRows(ctx, cfg, tableOf(s))
}

// State opens the state table. It returns nil if the file names no state table.
func (b *Bundle) State(ctx context.Context, cfg *config.Config) (state.Store, error) {
	if cfg.State == nil {
		return nil, nil
	}
	db, err := b.stateDB(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return db.State(cfg.Name), nil
}

// rowTable is a table of rows, with its settings from the file.
type rowTable struct {
	config.Table
	sink    config.Sink
	key     []config.Column
	sharded bool // rows are spread over shards, so the partition key is a text
	// selfGuarded means that the rows guard themselves, and their tombstones are in place, in the rows. Such rows need
	// no transaction.
	selfGuarded bool
	// alternative ends the error for a table that no transaction can include. It names settings that need no
	// transaction; "" if there are none.
	alternative string
}

// tableOf returns the table of a view or an aggregate.
func tableOf(s config.Sink) rowTable {
	if a := s.Aggregate; a != nil {
		return rowTable{Table: a.Table, sink: s, key: a.Group, sharded: a.Shards > 1}
	}
	v := s.View
	t := rowTable{Table: v.Table, sink: s, key: v.Key}
	switch {
	case v.InPlace && v.RowsGuardThemselves():
		t.selfGuarded = true
	case v.RowsGuardThemselves():
		t.alternative = ", or write tombstones: in_place, for readers that leave tombstones out"
	default:
		t.alternative = ", or put {@key} into the row's key and write tombstones: in_place, for readers that leave tombstones out"
	}
	return t
}

// rowStore is a store of the rows of views and of aggregates.
type rowStore interface {
	view.Store
	view.GroupStore
}

// openRows opens a table whose rows change in the same transactions as rows of the state table.
func (b *Bundle) openRows(ctx context.Context, cfg *config.Config, t rowTable) (rowStore, error) {
	if cfg.State == nil {
		return nil, errors.New("what must be remembered of items has no place: add state: {table: NAME}, a table of its own" +
			t.alternative)
	}
	db, err := b.stateDB(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := b.refuseLostTable(ctx, cfg, t, db); err != nil {
		return nil, err
	}
	table, keyTypes, err := tableAndKeyTypes(ctx, cfg, db, t)
	if err != nil {
		return nil, err
	}
	return openstores.Open(b.opened, fmt.Sprint("rows of ", cfg.Name, " ", table, keyTypes), func() (rowStore, error) {
		// the sinks that share a table also share the check
		store, err := dynamo.New(db)
		if err != nil || b.lookOnly {
			return store, err
		}
		if err := b.makeTable(ctx, store, table, keyTypes); err != nil {
			return store, err
		}
		return store, b.checkTransaction(ctx, db, t)
	})
}

// checkTransaction returns an error if a transaction cannot include both the table of rows and the state table.
func (b *Bundle) checkTransaction(ctx context.Context, db *statedynamo.DB, t rowTable) error {
	why, err := db.WhyNoTransaction(ctx, t.Name)
	if err != nil {
		return err
	}
	if why == "" && t.ARN != "" && SameRegion("", t.ARN, b.sdk) != nil {
		why = "the table " + t.ARN + " is in another Region than this process (" + b.sdk.Region + ")"
	}
	if why == "" {
		return nil
	}
	return fmt.Errorf(
		"no transaction reaches its rows and the state table: %s: give both one account and one Region, and no strong consistency between Regions%s", why, t.alternative)
}

// selfGuardedRows opens a table whose rows guard themselves, with their tombstones in place. The table may be in
// another account or Region than the state table. The file may also name no state table.
func (b *Bundle) selfGuardedRows(ctx context.Context, cfg *config.Config, t rowTable) (view.Store, error) {
	var db *statedynamo.DB // nil: the file names no state table
	var err error
	if cfg.State != nil {
		if db, err = b.stateDB(ctx, cfg); err != nil {
			return nil, err
		}
	}
	rows, err := statedynamo.New(statedynamo.Options{Client: b.tableClient(t), Table: "none", // never used
		Pipeline: cfg.Name, Retention: sinks.GuardRetention(cfg)})
	if err != nil {
		return nil, err
	}
	if err := b.refuseLostTable(ctx, cfg, t, rows); err != nil {
		return nil, err
	}
	table, keyTypes, err := tableAndKeyTypes(ctx, cfg, rows, t)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprint("rows in place of ", cfg.Name, " ", t.ARN, table, keyTypes)
	return openstores.Open(b.opened, name, func() (view.Store, error) {
		var store tableMaker
		var err error
		if db == nil {
			store, err = dynamo.NewRows(rows)
		} else {
			store, err = dynamo.NewAt(db, rows)
		}
		if err != nil {
			return nil, err
		}
		return store, b.makeTable(ctx, store, table, keyTypes)
	})
}

// tableMaker is a store of rows that can create and check its tables.
type tableMaker interface {
	view.Store
	Create(ctx context.Context, t view.Table, k dynamo.KeyTypes) error
	Check(ctx context.Context, t view.Table, k dynamo.KeyTypes) error
}

// makeTable creates a missing table of rows, or checks the existing one. With [LookOnly] it does neither.
func (b *Bundle) makeTable(ctx context.Context, store tableMaker, t view.Table, keyTypes dynamo.KeyTypes) error {
	if b.lookOnly {
		return nil
	}
	if b.createMissing {
		return store.Create(ctx, t, keyTypes)
	}
	return store.Check(ctx, t, keyTypes)
}

// tableAndKeyTypes returns a table and the types of its key attributes.
func tableAndKeyTypes(
	ctx context.Context, cfg *config.Config, db *statedynamo.DB, t rowTable,
) (view.Table, dynamo.KeyTypes, error) {
	table := sinks.RowTable(t.Name, t.key)
	keyTypes := dynamo.KeyTypes{PK: keyType(cfg, t.sink, t.key[0].Template)}
	if len(t.key) > 1 {
		keyTypes.SK = keyType(cfg, t.sink, t.key[1].Template)
	}
	if t.sharded {
		keyTypes.PK = types.ScalarAttributeTypeS
	}
	keyTypes, err := resolveTypes(ctx, db, t.Name, keyTypes)
	return table, keyTypes, err
}

// unknownType is the type of a key attribute that the configuration does not declare.
const unknownType types.ScalarAttributeType = "?"

// keyType returns the type of the values that the template t makes from the items of a sink.
func keyType(cfg *config.Config, s config.Sink, t *template.Template) types.ScalarAttributeType {
	switch cfg.KeyType(s.Scope, t) {
	case item.Absent:
		return unknownType
	case item.KindN:
		return types.ScalarAttributeTypeN
	case item.KindB:
		return types.ScalarAttributeTypeB
	default:
		return types.ScalarAttributeTypeS
	}
}

// resolveTypes replaces unknown key types by the types of the existing table. If there is no table, it replaces them by
// S.
func resolveTypes(
	ctx context.Context, db *statedynamo.DB, table string, keyTypes dynamo.KeyTypes,
) (dynamo.KeyTypes, error) {
	if keyTypes.PK != unknownType && keyTypes.SK != unknownType {
		return keyTypes, nil
	}
	description, err := db.Describe(ctx, table)
	if err != nil && !errors.Is(err, statedynamo.ErrNoTable) {
		return keyTypes, err
	}
	if keyTypes.PK == unknownType {
		keyTypes.PK = description.PK.Type
	}
	if keyTypes.SK == unknownType {
		keyTypes.SK = description.SK.Type
	}
	return keyTypes, nil
}

// stateDB opens the state table.
func (b *Bundle) stateDB(ctx context.Context, cfg *config.Config) (*statedynamo.DB, error) {
	return openstores.Open(b.opened, fmt.Sprintf("state %s of %s", cfg.State.Table.Name, cfg.Name),
		func() (*statedynamo.DB, error) {
			if err := SameRegion("state.table", cfg.State.Table.ARN, b.sdk); err != nil {
				return nil, err
			}
			db, err := statedynamo.New(statedynamo.Options{Client: b.dynamodb, Table: cfg.State.Table.Name, Pipeline: cfg.Name,
				Retention: sinks.GuardRetention(cfg)})
			if err != nil {
				return nil, err
			}
			if !b.createMissing {
				return db, db.Check(ctx, db.StateTable())
			}
			if !b.lookOnly { // with LookOnly the caller reports output without a state
				if err := b.refuseLostState(ctx, cfg, db); err != nil {
					return db, err
				}
			}
			return db, db.CreateState(ctx)
		})
}
