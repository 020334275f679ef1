package dynamo_test

import (
	"testing"

	"github.com/tablewake/tablewake/sinks/view/viewtest"
)

func TestConformance(t *testing.T) {
	viewtest.Run(t, viewtest.Suite{
		Checks:    2, // each makes several tables
		TypedKeys: true,
		Only:      []string{"MovesByNumber", "SharedDeadLetter", "SharedLast"},
		Open:      opener[viewtest.Store](t),
	})
}
