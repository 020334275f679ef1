package dynamo_test

import (
	"testing"

	"github.com/tablewake/tablewake/sinks/view/viewtest"
)

// few reduces the number of checks and subjects, because each check creates several tables and DynamoDB Local does one
// thing at a time.
func few(subjects ...string) (checks int, only []string) {
	if testing.Short() {
		return 1, subjects[:1]
	}
	return 2, subjects
}

// many is several times more than any request of DynamoDB can contain.
const many = 500

// TestConformance runs the suite without faults. TestConformance_Faults runs SharedLast with faults.
func TestConformance(t *testing.T) {
	checks, only := few("MovesByNumber", "MovesByNumberInPlace", "SharedDeadLetter", "ElementsBySKUInParts", "ElementsByPosition")
	viewtest.Run(t, viewtest.Suite{Checks: checks, LargestCall: many, Only: only, TypedKeys: true, CountItems: plain, Open: opener[viewtest.Store](t)})
}

func TestItemRows(t *testing.T) {
	viewtest.RunItemRows(t, opener[viewtest.StateStore](t))
}

func TestGroups(t *testing.T) {
	viewtest.RunGroups(t, opener[viewtest.StateStore](t))
}

func TestAggregateConformance(t *testing.T) {
	checks, only := few("ByStatus", "LinesSpread", "LinesInFewActions")
	viewtest.RunAggregates(t, viewtest.AggregateSuite{Checks: checks, Only: only, Open: opener[viewtest.AggregateStore](t)})
}

func TestOwners(t *testing.T) {
	viewtest.RunOwners(t, opener[viewtest.StateStore](t))
}

func TestPurge(t *testing.T) {
	viewtest.RunPurge(t, opener[viewtest.StateStore](t))
}

func TestListers(t *testing.T) {
	viewtest.RunListers(t, opener[viewtest.StateStore](t), true)
}
