package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/state"
)

// The command that fills a sink has all flags that a backfill needs. If Lambda reads the stream, they include the flags
// of the function.
func TestCommandOfABackfill(t *testing.T) {
	const live, local = "-c two.yaml --live", "-c two.yaml --local out"
	added := sinks.OutputChange{Sink: "by_status", Kind: sinks.Added, FilledByDefault: true}
	function := config.Config{File: "two.yaml"}
	consumer, several := function, function
	consumer.Leases = &config.Leases{}
	several.Source.Tables = []config.Table{{Name: "one"}, {Name: "two"}}
	waits := sinks.OutputChange{Sink: "by_status", Kind: sinks.Unchanged, Birth: state.Birth{Stage: state.Waiting}}
	for _, tt := range []struct {
		change sinks.OutputChange
		flags  target.Flags
		cfg    config.Config
		want   string
	}{
		{added, target.Flags{Live: true}, consumer, live + " --sink by_status --scan"},
		{added, target.Flags{Live: true}, function, live + " --sink by_status --scan --function NAME --lag TIME"},
		{added, target.Flags{Live: true}, several, live + " --sink by_status --archive PATH --function NAME --lag TIME"},
		{waits, target.Flags{Live: true}, consumer, live + " --sink by_status --scan"},
		{waits, target.Flags{Live: true}, function, live + " --sink by_status --scan --function NAME --lag TIME"},
		{added, target.Flags{Local: "out"}, function, local + " --sink by_status --export PATH --keys PK,SK"},
		{waits, target.Flags{Local: "out"}, function, local + " --sink by_status --archive PATH"},
	} {
		got := newSinkPlan(tt.change, tt.flags.CommandLine(&tt.cfg), tt.flags.BackfillSource(&tt.cfg)).Command
		if got != "tablewake backfill "+tt.want {
			t.Errorf("%s: %s, want %s", tt.change.Kind, got, tt.want)
		}
	}
}

// A sink that began with its pipeline may lack the items from before. The plan says so until the sink is filled, or the
// user says that there were no such items. This is only a note: there is nothing to do.
func TestNoteOfASinkThatWasNeverFilled(t *testing.T) {
	made := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	begun := sinks.OutputChange{Sink: "by_status", Kind: sinks.Unchanged, FilledByDefault: true, Birth: state.Birth{ID: "b", Begun: true, Made: made}}
	filled, archive, left := begun, begun, begun
	filled.Birth.Run = sinks.NoRun
	archive.FilledByDefault = false
	left.Birth.LeftOut = made
	const live = "-c two.yaml --live"
	for _, tt := range []struct {
		name   string
		change sinks.OutputChange
		flags  string
		note   string
		todo   bool
	}{
		{"begun", begun, live, "since its first start at 2026-01-02T03:04:05Z; earlier items that did not change since are only in it after `tablewake backfill " + live + " --sink by_status --scan`", false},
		{"in a folder", begun, "-c two.yaml --local out", "", false},
		{"filled, or not to be", filled, live, "", false},
		{"an archive", archive, live, "", false},
		{"left out", left, live, "", true},
	} {
		p := newSinkPlan(tt.change, tt.flags, "--scan")
		if !strings.HasSuffix(p.Note, tt.note) || (p.Note == "") != (tt.note == "") || (p.Todo != "") != tt.todo {
			t.Errorf("%s: note %q, to do %q", tt.name, p.Note, p.Todo)
		}
	}
}
