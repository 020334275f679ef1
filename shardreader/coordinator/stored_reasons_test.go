package coordinator_test

import (
	"testing"

	"github.com/tablewake/tablewake/shardreader/coordinator"
)

// Leases and heartbeats of earlier versions have these texts. If one of them changes, a consumer takes a shard that
// passed its gap for a stopped one, and an operator's reset does not fit any more.
func TestStoredReasons_NeverChange(t *testing.T) {
	for reason, stored := range map[string]string{
		coordinator.PassedGap:                 "records were lost before they were read, and reading goes on behind them (on_gap: continue or repair)",
		coordinator.StoppedAtGap:              "records were lost before they were read, and the shard is read no further (on_gap: stop)",
		coordinator.StoppedGone:               "the shard disappeared before it was read to its end, and its descendants are not read (on_gap: stop)",
		coordinator.StoppedUnbegun:            "its parent is gone and was never read to its end, and nobody knows whether records were lost (on_gap: stop)",
		coordinator.StoppedBetweenStreams:     "its stream follows one that was read, and what was written to the table between them is in neither (on_gap: stop)",
		coordinator.StoppedDamaged:            "its row in the lease table is damaged",
		coordinator.StoppedChildBelowParent:   "a child shard starts at a sequence number that is not above its parent's last: newer records would pass for older ones, so the child is not read",
		coordinator.StoppedSequenceBelowStart: "the shard holds a sequence number below the one that it starts with: its records may be older than its parent's, so it is read no further",
	} {
		if reason != stored {
			t.Errorf("the stored reason was %q, and is %q", stored, reason)
		}
	}
}
