package view

import (
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
)

// refuseOld fails the deliveries that are older than what the store is sure to
// remember, and takes their ops away. What a backfill brings has no age: it is the
// item as it stands.
func refuseOld(r state.Retention, ds []pipeline.Delivery, failed *pipeline.BatchError) {
	if !r.Forgets {
		return
	}
	now := time.Now()
	for i := range ds {
		c := ds[i].Change
		if c.Op == pipeline.Snapshot || c.Time.IsZero() {
			continue
		}
		if err := r.Check(c.Time, now); err != nil {
			failed.Add(i, err)
			ds[i].Ops = nil
		}
	}
}
