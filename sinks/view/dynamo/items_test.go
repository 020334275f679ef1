package dynamo_test

import (
	"context"
	"testing"

	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/viewtest"
)

func TestItems(t *testing.T) {
	viewtest.RunItems(t, opener[viewtest.StateStore](t))
}

func (a *anyTable) RowClaims(ctx context.Context, t view.Target, rows []state.Row) ([]view.RowClaims, error) {
	t, err := a.tableOf(ctx, t, rows)
	if err != nil {
		return nil, err
	}
	return a.Store.RowClaims(ctx, t, rows)
}

func (a *anyTable) WriteItems(ctx context.Context, t view.Target, ws []state.ItemWrite) ([]view.Result, error) {
	var rows []state.Row
	for _, w := range ws {
		for _, s := range w.Rows {
			rows = append(rows, s.Row)
		}
	}
	t, err := a.tableOf(ctx, t, rows)
	if err != nil {
		return nil, err
	}
	return a.Store.WriteItems(ctx, t, ws)
}

// tableOf creates the table of a target if it does not exist. The types of its key attributes are those of the rows.
func (a *anyTable) tableOf(ctx context.Context, t view.Target, rows []state.Row) (view.Target, error) {
	if len(rows) == 0 {
		t.Table = named(t.Table)
		return t, nil
	}
	pk, sk, err := rows[0].Decode()
	if err != nil {
		return t, err
	}
	return a.table(ctx, t, pk, sk)
}
