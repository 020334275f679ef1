package sqlite_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/tablewake/tablewake/sinks/view/sqlite"
	"github.com/tablewake/tablewake/sinks/view/viewtest"
)

func TestAggregateConformance(t *testing.T) {
	viewtest.RunAggregates(t, viewtest.AggregateSuite{
		Checks: 3, // each check opens several files and syncs every write
		Only:   []string{"ByStatus", "LinesSpread", "LinesInFewActions"},
		Open: func(ctx context.Context, dir string) (viewtest.AggregateStore, error) {
			return sqlite.Open(ctx, filepath.Join(dir, "views.db"), sqlite.Options{})
		},
	})
}
