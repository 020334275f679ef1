package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/shardreader/worker"
)

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
