package fleet

import (
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/state"
)

// PendingSink is a sink that is not live, because it waits for a backfill or is being filled.
type PendingSink struct {
	Sink  string     `json:"sink"`
	Stage string     `json:"stage"` // waiting, filling or settling
	Run   string     `json:"run,omitempty"`
	Floor *time.Time `json:"floor,omitempty"` // the stream writes no changes that were made before this time

	// Started is the start of the backfill; this and the following fields are absent if unknown
	Started   *time.Time `json:"started,omitempty"`
	Parts     int        `json:"parts,omitempty"`          // number of parts that the backfill reads
	PartsDone *int       `json:"parts_done,omitempty"`     // number of parts that are written
	Items     *int64     `json:"items,omitempty"`          // number of items that are written
	Rate      *float64   `json:"items_a_second,omitempty"` // average since the start, pauses included
	Left      *float64   `json:"seconds_left,omitempty"`   // estimated from written parts; absent if there are none
}

// addPendingSinks adds the sinks that are not live.
func (r *Report) addPendingSinks(obs *Observation) {
	for _, b := range obs.Births {
		if b.Stage == state.Live {
			continue
		}
		s := PendingSink{Sink: b.Sink, Stage: b.Stage.String(), Run: b.Run, Floor: cli.OptionalTime(b.Floor)}
		s.setProgress(obs)
		r.PendingSinks = append(r.PendingSinks, s)
		if b.Stage == state.Waiting {
			r.addProblem(WaitingSink, b.Sink,
				"`"+target.BackfillCommand(obs.Flags, b.Sink, obs.Source)+"` fills it",
				"sink %s waits, and writes nothing: it was added to a pipeline that had written before", b.Sink)
		}
	}
}

// addLeftOutSinks adds a problem for each sink that may miss changes, because a process was started without it, or
// because adopt accepted it.
func (r *Report) addLeftOutSinks(obs *Observation) {
	for _, b := range obs.LeftOut {
		r.addProblem(NotRepaired, b.Sink, "`"+obs.command("gaps")+
			" --repair --audit` compares it with the table, and repairs it",
			"sink %s may miss changes: %s", b.Sink, sinks.LeftOutText(b.LeftOut))
	}
}

func (r Report) writePendingSinks(out printer) {
	if len(r.PendingSinks) == 0 {
		return
	}
	out.line("")
	rows := [][]string{{"SINK", "STAGE", "FLOOR", "BACKFILL"}}
	for _, s := range r.PendingSinks {
		floor, run := "", s.Run
		if s.Floor != nil {
			floor = s.Floor.Format(time.RFC3339)
		}
		if run == sinks.RebuildRun {
			run = "replay --rebuild"
		}
		rows = append(rows, []string{s.Sink, s.Stage, floor, run})
	}
	out.table(rows)
}
