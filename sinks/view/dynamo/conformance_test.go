package dynamo_test

import (
	"testing"

	"github.com/tablewake/tablewake/sinks/view/viewtest"
)

// checks are few: each makes several tables, and DynamoDB Local does one thing after the other.
func checks() int {
	if testing.Short() {
		return 1
	}
	return 3
}

func TestConformance(t *testing.T) {
	viewtest.Run(t, viewtest.Suite{
		Checks:    checks(),
		TypedKeys: true,
		Only:      []string{"MovesByNumber", "SharedDeadLetter", "SharedLast"},
		Open:      opener[viewtest.Store](t),
	})
}

func TestGroups(t *testing.T) {
	viewtest.RunGroups(t, viewtest.GroupSuite{Open: opener[viewtest.GroupStore](t)})
}

func TestAggregateConformance(t *testing.T) {
	viewtest.RunAggregates(t, viewtest.AggregateSuite{
		Checks: checks(),
		Only:   []string{"ByStatus", "LinesSpread", "LinesInFewActions"},
		Open:   opener[viewtest.Grouped](t),
	})
}

func TestPurge(t *testing.T) {
	viewtest.RunPurge(t, viewtest.StateSuite{Open: opener[viewtest.StateStore](t)})
}
