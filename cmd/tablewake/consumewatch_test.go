package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/shardreader/worker"
)

// A consumer is idle only where nothing is left to read for anybody: not before it knows the
// stream and the leases, and not while those of one that died wait to be taken.
func TestIdle(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*worker.Status)
		want   bool
	}{
		"all is read":                      {func(*worker.Status) {}, true},
		"it has no shards":                 {func(st *worker.Status) { st.Partitions = nil }, true},
		"a shard stopped at a gap":         {func(st *worker.Status) { st.Partitions[0].Behind, st.Partitions[0].Stopped = true, "a gap" }, true},
		"a shard is behind":                {func(st *worker.Status) { st.Partitions[0].Behind = true }, false},
		"records are not durable":          {func(st *worker.Status) { st.Partitions[0].Pending = 1 }, false},
		"the leases were not read":         {func(st *worker.Status) { st.Seen = false }, false},
		"it is out of touch":               {func(st *worker.Status) { st.Contact = false }, false},
		"the stream was not listed":        {func(st *worker.Status) { st.Synced = false }, false},
		"the shards of a dead one wait":    {func(st *worker.Status) { st.Orphans = 1 }, false},
		"it has none, and those of a dead": {func(st *worker.Status) { st.Partitions, st.Orphans = nil, 2 }, false},
	} {
		st := worker.Status{Seen: true, Contact: true, Synced: true, Partitions: []worker.Partition{{Shard: "s"}}}
		tt.change(&st)
		if got := idle(st); got != tt.want {
			t.Errorf("%s: idle %v, want %v", name, got, tt.want)
		}
	}
}

// Shards that stand still are told at the end, those that nobody has among them.
func TestVerdict_StoppedShards(t *testing.T) {
	stop := newStopper(t.Context(), time.Minute)
	defer stop.close()
	c := &consuming{
		o: &consumeOptions{target: target{live: true}}, cfg: &config.Config{File: "shop.yaml"}, stop: stop,
		stopped: map[string]string{"shardId-2": "a gap", "shardId-1": worker.StoppedBroken},
	}
	err := c.verdict(summary{Balanced: true}, nil)
	code, ok := errors.AsType[*exitError](err)
	if !ok || code.code != exitUnwell || !strings.Contains(err.Error(), "shard shardId-1 is read no further ("+worker.StoppedBroken+"), and so are 1 others: `tablewake status -c shop.yaml --live`") {
		t.Errorf("the verdict is %v", err)
	}
	c.stopped = nil
	if err := c.verdict(summary{Balanced: true}, nil); err != nil {
		t.Errorf("nothing stands still, and the verdict is %v", err)
	}
}
