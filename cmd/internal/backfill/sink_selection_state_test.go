package backfill

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/sinks/state"
)

// A state that a killed or refused run leaves, with what commands do in it.
type leftState struct {
	births    map[string]state.Birth // by sink: Stage and Run
	stored    string                 // Sinks of the stored backfill "r"; "" if none is stored
	abandoned bool                   // the state says that the run "r" is abandoned
	// selected has the result for --sink names, "" for none: "NAMES in RUN", where the RUN "new" is a new id; or a part
	// of the error
	selected map[string]string
}

var (
	fillingR  = state.Birth{Stage: state.Filling, Run: "r"}
	fillingN  = state.Birth{Stage: state.Filling, Run: "n"}
	settlingR = state.Birth{Stage: state.Settling, Run: "r"}
	liveR     = state.Birth{Run: "r"}
	waits     = state.Birth{Stage: state.Waiting}
	leftRuns  = map[string]leftState{
		"killed between the births of a first start": {
			births:   map[string]state.Birth{"a": fillingR, "b": {}},
			selected: map[string]string{"": "a, b in r", "a": "a in r", "b": "b in new", "a,b": "a, b in r"},
		},
		"killed between the births of sinks that wait": {
			births:   map[string]state.Birth{"a": fillingR, "b": waits},
			selected: map[string]string{"": "a, b in r", "a": "a in r", "b": "b in new", "a,b": "a, b in r"},
		},
		"killed before the backfill is stored, prepared, or abandoned": {
			births:   map[string]state.Birth{"a": fillingR, "b": fillingR},
			selected: map[string]string{"": "a, b in r", "a": "a in new", "b": "b in new", "a,b": "a, b in r"},
		},
		"killed while it reads": {
			births: map[string]state.Birth{"a": fillingR, "b": fillingR}, stored: "a,b",
			selected: map[string]string{"": "a, b in r", "a": "name the same sinks", "b": "name the same sinks", "a,b": "a, b in r"},
		},
		"killed between the births of an abandoned run": {
			births: map[string]state.Birth{"a": fillingN, "b": fillingR}, stored: "a,b",
			selected: map[string]string{"": "b in r", "a": "a in n", "b": "b in r", "a,b": "the run r fills b, and not a, b"},
		},
		"killed before an abandoned run is removed": {
			births: map[string]state.Birth{"a": fillingN, "b": fillingN}, stored: "a,b",
			selected: map[string]string{"": "a, b in n", "a": "a in new", "b": "b in new", "a,b": "a, b in n"},
		},
		"killed between the births of a correction for fewer sinks": {
			births:   map[string]state.Birth{"a": fillingN, "b": fillingR},
			selected: map[string]string{"": "a, b in new", "a": "a in n", "b": "b in r", "a,b": "a, b in new"},
		},
		"a correction for fewer sinks reads": {
			births: map[string]state.Birth{"a": fillingR, "b": fillingN}, stored: "a",
			selected: map[string]string{"": "a in r", "a": "a in r", "b": "b in n", "a,b": "the run r fills a, and not a, b: name the same sinks"},
		},
		"a correction for fewer sinks is live": {
			births: map[string]state.Birth{"a": liveR, "b": fillingN}, stored: "a",
			selected: map[string]string{"": "b in n", "a": "is filled", "b": "b in n", "a,b": "is filled"},
		},
		"a correction with the same run is live": {
			births: map[string]state.Birth{"a": liveR, "b": fillingR}, stored: "a",
			selected: map[string]string{"": "b in new", "a": "is filled", "b": "b in new", "a,b": "is filled"},
		},
		"killed before all births are settling": {
			births: map[string]state.Birth{"a": settlingR, "b": fillingR}, stored: "a,b",
			selected: map[string]string{"": "a, b in r", "a": "name the same sinks", "b": "name the same sinks", "a,b": "a, b in r"},
		},
		"killed before all births are live": {
			births: map[string]state.Birth{"a": liveR, "b": settlingR}, stored: "a,b",
			selected: map[string]string{"": "a, b in r", "a": "name the same sinks", "b": "name the same sinks", "a,b": "a, b in r"},
		},
		"the output of a sink was lost, and adopted": {
			births: map[string]state.Birth{"a": waits, "b": fillingR}, stored: "a,b",
			selected: map[string]string{"": "b in r", "a": "a in new", "b": "b in r", "a,b": "the run r fills b, and not a, b"},
		},
		"a sink that the narrowing left out is filled": {
			births: map[string]state.Birth{"a": fillingN, "b": liveR}, stored: "a,b",
			selected: map[string]string{"": "a in n", "a": "a in n", "b": "is filled", "a,b": "is filled"},
		},
		"another command took a sink from a run that had written nothing": {
			births: map[string]state.Birth{"a": fillingN, "b": fillingR}, abandoned: true,
			selected: map[string]string{"": "a, b in new", "a": "a in n", "b": "b in new", "a,b": "a, b in new"},
		},
		"all are live": {
			births: map[string]state.Birth{"a": liveR, "b": liveR}, stored: "a,b",
			selected: map[string]string{"": "nothing to do", "a": "is filled", "b": "is filled", "a,b": "is filled"},
		},
	}
)

// Each state that a run leaves has commands that end it. No command fills a live sink again, or fills a part of the
// sinks of a stored run.
func TestSelectSinks_LeftStates(t *testing.T) {
	for what, left := range leftRuns {
		cfg, births := parsed(t)
		for i := range births {
			if b, ok := left.births[births[i].Sink]; ok {
				births[i].Stage, births[i].Run = b.Stage, b.Run
			}
		}
		var stored []state.Backfill
		if left.stored != "" || left.abandoned {
			stored = append(stored, state.Backfill{Run: "r", Sinks: left.stored})
		}
		canEnd := make(map[string]bool)
		for names, want := range left.selected {
			sel, err := selectSinks(cfg.Sinks, births, stored, strings.FieldsFunc(names, func(r rune) bool { return r == ',' }))
			if err != nil {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: --sink %q: %v, want %s", what, names, err, want)
				}
				continue
			}
			run := sel.runID
			if run != "r" && run != "n" {
				run = "new"
			}
			if got := sel.String() + " in " + run; got != want {
				t.Errorf("%s: --sink %q: %s, want %s", what, names, got, want)
			}
			for _, name := range sel.names() {
				canEnd[name] = true
			}
		}
		for sink, b := range left.births {
			if b.Stage != state.Live && !canEnd[sink] {
				t.Errorf("%s: no command ends %s", what, sink)
			}
		}
	}
}

// The birth of a sink that a new run takes over keeps its floor, and another run's births stay.
func TestBeginBirth_TakesOver(t *testing.T) {
	floorTime := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	j := &job{o: &options{}, selection: &selection{runID: "new", replaced: []string{"r"}}}
	b := state.Birth{Sink: "a", Stage: state.Filling, Run: "r", Floor: floorTime, Stream: "s"}
	want := b
	want.Run = "new"
	if j.beginBirth(&b, nil, floorTime.Add(time.Hour), "other"); b != want {
		t.Errorf("it is %+v, want %+v", b, want)
	}
	other := state.Birth{Sink: "a", Stage: state.Filling, Run: "other", Floor: floorTime}
	changed := other
	j.o.archive = []string{"x"}
	if j.beginBirth(&changed, nil, floorTime, ""); changed != other {
		t.Errorf("the birth of another run is %+v", changed)
	}
	if j.beginBirth(&b, nil, floorTime, ""); !b.Floor.IsZero() || !slices.Equal(j.selection.replaced, []string{"r"}) {
		t.Errorf("an archive leaves the floor in %+v", b)
	}
}
