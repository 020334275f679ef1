package statetest

import (
	"reflect"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// noon is a time in whole seconds, because some stores keep the times of gaps in seconds.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// knownGap returns a gap whose extent is known. A gap is a range of records that were lost before they were read.
func knownGap() record.Gap {
	return record.Gap{StreamARN: "arn:1", Shard: "shardId-2", After: "100", Before: "200", From: noon,
		To: noon.Add(time.Hour), Found: noon.Add(2 * time.Hour)}
}

// RunGaps checks an implementation of [state.Gaps]. open returns a new store.
func RunGaps(t *testing.T, open func(t *testing.T) state.Gaps) {
	for name, check := range map[string]func(*testing.T, state.Gaps){
		"FoundWhenNoted":   checkGapsAreFoundWhenNoted,
		"RepairsComeBack":  checkRepairsAreReadBack,
		"RepairsAreKept":   checkRepairsAreKept,
		"GrowingReopens":   checkGrowingReopens,
		"LateEndReopens":   checkLateEndReopens,
		"NotesOfTakeovers": checkNotesOfTakeovers,
		"RepairsOfNothing": checkRepairsOfMissingGaps,
	} {
		t.Run(name, func(t *testing.T) { check(t, open(t)) })
	}
}

// findGap returns the stored gap of a shard.
func findGap(t *testing.T, s state.Gaps, shard string) state.NotedGap {
	t.Helper()
	for _, g := range collect(t, s.Gaps(t.Context())) {
		if g.Shard == shard {
			return g
		}
	}
	t.Fatalf("the gap of %s is missing", shard)
	return state.NotedGap{}
}

// mustSetRepair sets the repair of g, which the caller read before. It returns the gap as it is stored afterwards.
func mustSetRepair(t *testing.T, s state.Gaps, g state.NotedGap, r state.GapRepair) state.NotedGap {
	t.Helper()
	r.Version = g.Repair.Version
	if done, err := s.SetGapRepair(t.Context(), g.Gap, r); !done || err != nil {
		t.Fatalf("the repair of %+v is refused: %v", g, err)
	}
	return findGap(t, s, g.Shard)
}

// Every process reads the noted gaps, in the order of Found. A gap that is noted again is stored once.
func checkGapsAreReadBack(t *testing.T, f *fixture) {
	g, unknown := knownGap(), record.Gap{StreamARN: "arn:1", Shard: "shardId-1", Found: noon.Add(3 * time.Hour),
		UnknownExtent: true}
	g.From = g.From.Add(6)
	wider := g
	wider.Before, wider.Whole = "300", true
	for _, g := range []record.Gap{unknown, g, wider} {
		must(t, f.state.AddGap(t.Context(), g))
	}
	got := collect(t, f.suite.State(f.open(), "test").Gaps(t.Context()))
	want := []state.NotedGap{
		{Gap: wider, Repair: state.GapRepair{Stage: state.GapOpen, Version: 2}},
		{Gap: unknown, Repair: state.GapRepair{Stage: state.GapOpen, Version: 1}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("gaps:\n%+v, want\n%+v", got, want)
	}
}

// If several processes claim the repair of a gap at once, one of them succeeds.
func checkGapsAreTakenOnce(t *testing.T, f *fixture) {
	must(t, f.state.AddGap(t.Context(), knownGap()))
	g := findGap(t, f.state, knownGap().Shard)
	got := processes(f, 4, func(i int, s state.Store) (bool, error) {
		return s.SetGapRepair(t.Context(), g.Gap, state.GapRepair{Stage: state.GapRepairing, Owner: string(rune('a' + i)),
			Version: g.Repair.Version})
	})
	winners := ""
	for i, took := range got {
		if took {
			winners += string(rune('a' + i))
		}
	}
	if current := findGap(t, f.state, g.Shard); len(winners) != 1 || current.Repair.Owner != winners {
		t.Errorf("taken by %q, and the owner is %q", winners, current.Repair.Owner)
	}
}

// If a gap is noted without Found, the store sets Found to the time of the note. Found stays when the end of the gap
// becomes known.
func checkGapsAreFoundWhenNoted(t *testing.T, s state.Gaps) {
	before := time.Now().Truncate(time.Second)
	must(t, s.AddGap(t.Context(), record.Gap{StreamARN: "arn:1", Shard: "shardId-1"}))
	g := findGap(t, s, "shardId-1")
	if g.Found.Before(before) || g.Found.After(time.Now()) {
		t.Errorf("a gap without a time, noted after %v: %+v", before, g)
	}
	must(t, s.AddGap(t.Context(), record.Gap{StreamARN: "arn:1", Shard: "shardId-1", Before: "9",
		To: before.Add(-time.Hour)}))
	if current := findGap(t, s, "shardId-1"); !current.Found.Equal(g.Found) {
		t.Errorf("a gap whose end became known was found at %v, want %v", current.Found, g.Found)
	}
}

// A repair is read as it was written. A repair with another version than the stored one is refused.
func checkRepairsAreReadBack(t *testing.T, s state.Gaps) {
	must(t, s.AddGap(t.Context(), knownGap()))
	expected := findGap(t, s, knownGap().Shard)
	if want := (state.NotedGap{Gap: knownGap(), Repair: state.GapRepair{Stage: state.GapOpen,
		Version: 1}}); !reflect.DeepEqual(expected, want) {
		t.Fatalf("noted as %+v, want %+v", expected, want)
	}
	r := state.GapRepair{
		Stage: state.GapRepairing, Run: "run", Owner: "owner", Expires: noon.Add(time.Minute + 7), How: "export",
		Exports: []string{"s3://b/p", "é"},
		Sinks:   []string{"orders"}, Items: 1, Differences: 2, Repaired: 3, Left: 4, Done: 5, Total: 6, Since: noon.Add(3),
		At: noon.Add(7),
	}
	g := mustSetRepair(t, s, expected, r)
	r.Version = expected.Repair.Version + 1
	if want := (state.NotedGap{Gap: knownGap(), Repair: r}); !reflect.DeepEqual(g, want) {
		t.Errorf("came back as\n%+v, want\n%+v", g, want)
	}
	if done, err := s.SetGapRepair(t.Context(), expected.Gap, expected.Repair); done || err != nil {
		t.Errorf("a repair over another one: %v, %v", done, err)
	}
	if current := findGap(t, s, g.Shard); !reflect.DeepEqual(current, g) {
		t.Errorf("a refused repair left %+v, want %+v", current, g)
	}
}

// A gap keeps its repair if it is noted again unchanged, or if more of it becomes known.
func checkRepairsAreKept(t *testing.T, s state.Gaps) {
	first := knownGap()
	first.Before, first.To = "", time.Time{}
	must(t, s.AddGap(t.Context(), first))
	g := mustSetRepair(t, s, findGap(t, s, first.Shard), state.GapRepair{Stage: state.GapRepaired, Run: "run"})
	must(t, s.AddGap(t.Context(), first))
	end := knownGap()
	end.To = end.Found.Add(time.Hour) // time of the next record, an hour after the gap was found
	must(t, s.AddGap(t.Context(), end))
	current := findGap(t, s, first.Shard)
	if current.Gap != end || current.Repair.Stage != state.GapRepaired || current.Repair.Run != "run" {
		t.Errorf("of %+v is left %+v", g, current)
	}
	if done, err := s.SetGapRepair(t.Context(), g.Gap, g.Repair); done || err != nil {
		t.Errorf("a repair over a gap that changed: %v, %v", done, err)
	}
}

// A consumer that takes over a shard notes its gap again, without an end. Within 23 hours after the first note the gap
// has not grown, because the stream still has all records since then.
func checkNotesOfTakeovers(t *testing.T, s state.Gaps) {
	for name, c := range map[string]struct {
		age  time.Duration
		want state.GapStage
	}{"soon": {22 * time.Hour, state.GapRepaired}, "a day later": {24 * time.Hour, state.GapOpen}} {
		t.Run(name, func(t *testing.T) {
			gap := record.Gap{StreamARN: "arn:1", Shard: name, After: "100",
				Found: time.Now().Add(-c.age).Truncate(time.Second).UTC()}
			must(t, s.AddGap(t.Context(), gap))
			expected := mustSetRepair(t, s, findGap(t, s, name), state.GapRepair{Stage: state.GapRepaired, Run: "run"})
			gap.Found = time.Time{}
			must(t, s.AddGap(t.Context(), gap))
			current := findGap(t, s, name)
			isKept, mustBeKept := current.Found.Equal(expected.Found), c.want == state.GapRepaired
			if current.Repair.Stage != c.want || isKept != mustBeKept {
				t.Errorf("noted again it is %+v, and was %+v", current, expected)
			}
		})
	}
}

// If a gap grows, it is open again. A repair of the smaller gap is refused.
func checkGrowingReopens(t *testing.T, s state.Gaps) {
	for name, grow := range map[string]func(*record.Gap){
		"later end":           func(g *record.Gap) { g.Before = "1000" },
		"later time":          func(g *record.Gap) { g.To = g.To.Add(time.Second) },
		"whole":               func(g *record.Gap) { g.Whole = true },
		"unknown extent":      func(g *record.Gap) { g.UnknownExtent = true },
		"end not known":       func(g *record.Gap) { g.Before, g.To = "", time.Time{} },
		"end found out later": func(g *record.Gap) { g.Before, g.To, g.Found = "", time.Time{}, time.Time{} },
		"earlier time":        func(g *record.Gap) { g.From = g.From.Add(-time.Second) },
		"start not known":     func(g *record.Gap) { g.From = time.Time{} },
	} {
		t.Run(name, func(t *testing.T) {
			gap := knownGap()
			gap.Shard = name
			must(t, s.AddGap(t.Context(), gap))
			g := mustSetRepair(t, s, findGap(t, s, name), state.GapRepair{Stage: state.GapRepairing, Run: "run", Owner: "owner"})
			grow(&gap)
			must(t, s.AddGap(t.Context(), gap))
			current := findGap(t, s, name)
			if current.Repair.Stage != state.GapOpen || current.Repair.Run != "" || current.Repair.Version <= g.Repair.Version {
				t.Errorf("a gap that grew is %+v", current)
			}
			g.Repair.Stage = state.GapRepaired
			if done, err := s.SetGapRepair(t.Context(), g.Gap, g.Repair); done || err != nil {
				t.Errorf("the repair of what it was: %v, %v", done, err)
			}
		})
	}
}

// If the end of a gap becomes known and is a day after the gap was found, records that were created in between may be
// lost too. So the gap is open again.
func checkLateEndReopens(t *testing.T, s state.Gaps) {
	gap := knownGap()
	gap.Before, gap.To = "", time.Time{}
	must(t, s.AddGap(t.Context(), gap))
	mustSetRepair(t, s, findGap(t, s, gap.Shard), state.GapRepair{Stage: state.GapRepaired, Run: "run"})
	gap.Before, gap.To = "200", gap.Found.Add(24*time.Hour)
	must(t, s.AddGap(t.Context(), gap))
	if current := findGap(t, s, gap.Shard); current.Repair.Stage != state.GapOpen {
		t.Errorf("a gap that ended a day later is %+v", current)
	}
}

// A repair of a gap that is not noted is refused.
func checkRepairsOfMissingGaps(t *testing.T, s state.Gaps) {
	if done, err := s.SetGapRepair(t.Context(), knownGap(), state.GapRepair{Stage: state.GapRepaired}); done ||
		err != nil {
		t.Errorf("a repair of a gap that is not noted: %v, %v", done, err)
	}
	if gaps := collect(t, s.Gaps(t.Context())); len(gaps) > 0 {
		t.Errorf("it left %+v", gaps)
	}
}
