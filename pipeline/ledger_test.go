package pipeline

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/record"
)

func TestLedger_CheckSaysWhichLineDoesNotBalance(t *testing.T) {
	l := Ledger{
		Source: SourceLedger{Read: 10, Duplicate: 1, Filtered: map[string]int64{"x": 2, "y": 1}, Unrouted: 1, Undecodable: 2, Routed: 3},
		Sinks: map[string]SinkLedger{
			"a": {Routed: 9, Written: 1, Superseded: 1, NoEffect: map[string]int64{"sparse": 1}, Coalesced: 1, Suppressed: 1, DeadLettered: 1, Quarantined: 1, Pending: 2},
			"b": {Routed: 1, Written: 1, RouteFiltered: map[string]int64{"x": 5}},
		},
	}
	if err := l.Check(); err != nil {
		t.Error(err)
	}
	l.Source.Routed++
	b := l.Sinks["b"]
	b.Routed++
	l.Sinks["b"] = b
	err := l.Check()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"source: read 10", "= 11", "sink b: routed 2", "= 1"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "sink a") {
		t.Errorf("%q names a sink that balances", err)
	}
}

func TestLedger_SnapshotStaysAsItWasTaken(t *testing.T) {
	p := newPipeline(t, &recorder{}, func(o *Options) {
		o.Filters = []Filter{FilterFunc(func(*record.Change) (Verdict, error) { return Verdict{Drop: true, Reason: "all"}, nil })}
	})
	before := p.Ledger()
	if err := p.Run(t.Context(), pages(nil, pageOf(map[string]int{}, "p", 1, "a")), nil); err != nil {
		t.Fatal(err)
	}
	if before.Source.Read != 0 || before.Source.Filtered["all"] != 0 || p.Ledger().Source.Filtered["all"] != 1 {
		t.Errorf("the snapshot reads %+v, the ledger %+v", before.Source, p.Ledger().Source)
	}
	if _, err := json.Marshal(before); err != nil {
		t.Error(err)
	}
}
