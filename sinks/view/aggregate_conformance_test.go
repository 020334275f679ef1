package view_test

import (
	"context"
	"sync"
	"testing"

	"github.com/tablewake/tablewake/sinks/view/viewtest"
)

// TestAggregateConformance runs the suites on the shortest implementation of a GroupStore, which is in memory.
func TestAggregateConformance(t *testing.T) {
	var folders sync.Map
	viewtest.RunAggregates(t, viewtest.AggregateSuite{Checks: 20, Open: func(_ context.Context, dir string) (viewtest.AggregateStore, error) {
		s, _ := folders.LoadOrStore(dir, newGroupMemory())
		return s.(*groupMemory), nil
	}})
}
