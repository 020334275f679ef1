package dynamo

import (
	"context"
	"errors"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	state "github.com/tablewake/tablewake/sinks/state/dynamo"
)

// tableSpecs returns the definitions of the lease table and of the state table.
func (t *Table) tableSpecs() []state.TableSpec {
	return []state.TableSpec{
		{Name: t.options.Table, PK: state.KeyAttribute{Name: attrKey, Type: types.ScalarAttributeTypeS}},
		t.db.StateTable(),
	}
}

// CreateTables creates the lease table and the state table if they do not exist, as [state.DB.Create] does. Several
// processes may call it at once.
func (t *Table) CreateTables(ctx context.Context) error {
	specs := t.tableSpecs()
	errs := make([]error, len(specs))
	var wg sync.WaitGroup
	for i, spec := range specs {
		wg.Go(func() { errs[i] = t.db.Create(ctx, spec) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return t.Check(ctx)
}

// Check waits until both tables are active, and finds the lease table's [RowFormat]. The error is fatal if a table is
// missing or has another key. A damaged lease is not an error here, because [Table.Read] reports it.
func (t *Table) Check(ctx context.Context) error {
	for _, table := range t.tableSpecs() {
		if err := t.db.Check(ctx, table); err != nil {
			return err
		}
	}
	_, err := t.rowFormat(ctx)
	return err
}
