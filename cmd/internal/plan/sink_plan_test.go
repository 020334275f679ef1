package plan

import (
	"testing"

	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/state"
)

// The command that fills a sink has all flags that a backfill wants: where Lambda reads the stream, those of the
// function.
func TestCommandOfABackfill(t *testing.T) {
	const live, local = "-c two.yaml --live", "-c two.yaml --local out"
	added := sinks.OutputChange{Sink: "by_status", Kind: sinks.Added, CanBeFilled: true}
	waits := sinks.OutputChange{Sink: "by_status", Kind: sinks.Unchanged, Birth: state.Birth{Stage: state.Waiting}}
	for _, tt := range []struct {
		change    sinks.OutputChange
		flags     string
		hasLeases bool
		want      string
	}{
		{added, live, true, live + " --sink by_status --scan"},
		{added, live, false, live + " --sink by_status --scan --function NAME --lag TIME"},
		{waits, live, true, live + " --sink by_status --scan"},
		{waits, live, false, live + " --sink by_status --scan --function NAME --lag TIME"},
		{added, local, false, local + " --sink by_status --export PATH --keys PK,SK"},
		{waits, local, false, local + " --sink by_status --archive PATH"},
	} {
		if got := newSinkPlan(tt.change, tt.flags, tt.hasLeases).Command; got != "tablewake backfill "+tt.want {
			t.Errorf("%s with leases %v: %s, want %s", tt.change.Kind, tt.hasLeases, got, tt.want)
		}
	}
}
