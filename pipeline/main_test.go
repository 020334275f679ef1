package pipeline

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tablewake/tablewake/test/testmain"
)

// transitions lists the rows of laneState's table, without those to idle, because a lane that becomes idle is dropped.
// A lane with dead letters can get more of them, and a lane can fail again at once.
var transitions = map[laneState][]laneState{
	idle:          {queued, writing, deadLettering, blocked, parked, nacked},
	queued:        {writing, deadLettering, blocked, parked, nacked},
	writing:       {queued, parked, blocked, deadLettering, nacked},
	parked:        {queued},
	blocked:       {queued},
	deadLettering: {queued, parked, blocked, deadLettering, nacked},
	nacked:        {nacked},
}

func TestMain(m *testing.M) {
	onTransition = func(from, to laneState) {
		if !slices.Contains(transitions[from], to) {
			panic(fmt.Sprintf("a lane goes from state %d to %d, which its table does not have", from, to))
		}
	}
	testmain.Run(m)
}
