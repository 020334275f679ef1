package view_test

import (
	"errors"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// If a store may have forgotten newer changes, it refuses a change that is older than the retention. The other changes
// of the batch are written. A store that is younger than its retention, a store that forgets nothing, and a rebuild
// refuse no changes.
func TestRetention(t *testing.T) {
	const keep = 30 * 24 * time.Hour
	now := time.Now()
	old := sinktest.Record{EventName: "INSERT", New: order("Status=paid", "Total=#1"), Second: now.Add(-keep - time.Hour).Unix()}
	fresh := sinktest.Record{EventName: "INSERT", New: with(order("Status=paid", "Total=#2"), "SK", sinktest.Attr{"S": "fresh"}), Second: now.Unix()}
	for name, test := range map[string]struct {
		of      state.Retention
		refuses bool
	}{
		"an old store":           {state.Retention{StoreAge: state.StoreAge{Born: now.Add(-2 * keep), Forgets: true}}, true},
		"a young store":          {state.Retention{StoreAge: state.StoreAge{Born: now.Add(-keep / 2), Forgets: true}}, false},
		"a store without an end": {state.Retention{StoreAge: state.StoreAge{Born: now.Add(-2 * keep)}}, false},
	} {
		own := byStatus(t, newShelf())
		own.Retention = test.of
		shared := byEmail(t, newShelf(), view.KeepLast)
		shared.PK, shared.Retention = attribute(t, "PK=STATUS#{Status}"), test.of
		counted := revenue(t, newGroupMemory())
		counted.Retention = test.of
		for kind, sink := range map[string]interface {
			pipeline.Sink
			pipeline.Planner
		}{"own rows": newSink(t, own), "shared rows": newSink(t, shared), "groups": newAggregate(t, counted)} {
			ds := make([]pipeline.Delivery, 2)
			for i, c := range changes(t, old, fresh) {
				ds[i].Change = c
				if err := sink.Plan(&ds[i]); err != nil {
					t.Fatal(err)
				}
			}
			err := sink.Write(t.Context(), ds)
			failed, _ := errors.AsType[*pipeline.BatchError](err)
			if !test.refuses {
				if err != nil {
					t.Errorf("%s, %s: %v", name, kind, err)
				}
				continue
			}
			if failed == nil || len(failed.Failed) != 1 || ds[1].Outcome != pipeline.Written {
				t.Errorf("%s, %s: %v, the fresh one is %s", name, kind, err, ds[1].Outcome)
				continue
			}
			if _, ok := errors.AsType[*state.TooOldError](failed.Failed[0]); !ok {
				t.Errorf("%s, %s: the old one failed with %v", name, kind, failed.Failed[0])
			}
		}
	}
}
