package viewtest

import (
	"context"
	"slices"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// AggregateStore is a store of aggregates under test.
type AggregateStore interface {
	view.GroupStore
	view.Reader
	Close() error
}

// AggregateSuite describes a kind of store of aggregates under test.
type AggregateSuite struct {
	Open   func(ctx context.Context, dir string) (AggregateStore, error) // as in [Suite]
	Checks int                                                           // as in [Suite]
	// names of the aggregates to run, for stores that are slow to open. Default: all
	Only []string
}

// RunAggregates runs the sink suite once for each test aggregate. The test aggregates have every kind of value, groups
// that change, lists, one shard and several shards. For some of them the limit of actions is low, so that batches are
// split.
func RunAggregates(t *testing.T, s AggregateSuite) {
	for _, a := range aggregates() {
		if len(s.Only) > 0 && !slices.Contains(s.Only, a.name) {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			t.Parallel() // a store waits for its disk most of the time
			sinktest.Run(t, a.suite(t, s))
		})
	}
}

// suite returns the sink suite that checks the aggregate on the stores of suite.
func (a *testAggregate) suite(t *testing.T, suite AggregateSuite) sinktest.Suite {
	return sinktest.Suite{
		Checks:  suite.Checks,
		ByState: true,
		Flaws:   true,
		Stream:  sinktest.StreamOptions{Keys: a.keys, Snapshots: true},
		Model: func(s *sinktest.Stream) map[string]string {
			rows := make(map[string]string)
			for _, row := range a.modelRows(s.Items()) {
				rows[rowName(row, a.key...)] = sinktest.Canonical(row)
			}
			return rows
		},
		Open: func(dir string) (sinktest.Store, error) {
			open := func() (AggregateStore, error) { return suite.Open(t.Context(), dir) }
			readState := func(s AggregateStore) (map[string]string, error) { return a.state(t.Context(), s) }
			return openStore(open, a.faultySink, a.flawed().faultySink, readState)
		},
	}
}

// faultySink returns the sink on a store whose calls f makes fail.
func (a *testAggregate) faultySink(s AggregateStore, f *sinktest.Faults) (pipeline.Sink, error) {
	return a.sink(&faultyGroups{s, f, a.maxActions})
}

// state returns the rows of all groups of the aggregate, by key.
func (a *testAggregate) state(ctx context.Context, r view.Reader) (map[string]string, error) {
	s, err := a.sink(nil)
	if err != nil {
		return nil, err
	}
	return byKey(s.Groups().All(ctx, r, view.Query{}), a.key...)
}

// faultyGroups is a store whose calls the suite can make fail, including between two writes of one call.
type faultyGroups struct {
	view.GroupStore
	faults     *sinktest.Faults
	maxActions int
}

func (f *faultyGroups) MaxActions() int { return f.maxActions }

func (f *faultyGroups) Contributions(
	ctx context.Context, t state.Target, items []item.Key,
) ([]state.Contribution, error) {
	return readWithFaults(f.faults, func() ([]state.Contribution, error) {
		return f.GroupStore.Contributions(ctx, t, items)
	})
}

func (f *faultyGroups) Contribute(ctx context.Context, t view.Target, ws []state.GroupWrite) ([]view.Result, error) {
	return writeWithFaults(f.faults, ws, refusesShares, func(ws []state.GroupWrite) ([]view.Result, error) {
		return f.GroupStore.Contribute(ctx, t, ws)
	})
}
