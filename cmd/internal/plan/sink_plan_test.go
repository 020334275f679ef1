package plan

import (
	"testing"

	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/state"
)

// The command that fills a sink has all flags that a backfill wants: where Lambda reads the stream, those of the
// function.
func TestCommandOfABackfill(t *testing.T) {
	const live, local = "-c two.yaml --live", "-c two.yaml --local out"
	added := sinks.OutputChange{Sink: "by_status", Kind: sinks.Added, CanBeFilled: true}
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
