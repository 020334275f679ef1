package leases_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// The reason for waiting is reported once, also for a shard without a reader.
func TestWaitPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := time.Now().Add(time.Minute)
		first := leases.Lease{Shard: "shardId-1", Owner: "a"}
		second := leases.Lease{Shard: "shardId-2", Owner: "a"}
		consumer := leases.Member{ID: "a", Heartbeat: 1, BusyShards: []string{"shardId-1", "shardId-2"}}
		stopped := consumer
		stopped.Stopped = map[string]string{"shardId-2": "its row is damaged"}
		second.Time = at.Add(-time.Second)
		passed := second
		passed.Time = at.Add(2 * time.Second)
		first.Time = passed.Time
		seen := []leases.Snapshot{
			{}, {}, {},
			{Leases: []leases.Lease{first, second}},
			{Leases: []leases.Lease{first, second}, Members: []leases.Member{consumer}},
			{Leases: []leases.Lease{first, second}, Members: []leases.Member{stopped}},
			{Leases: []leases.Lease{first, passed}, Members: []leases.Member{stopped}},
		}
		reads, broken := 0, false
		read := func(context.Context) (leases.Snapshot, error) {
			reads++
			if reads == 4 && !broken {
				reads, broken = reads-1, true
				return leases.Snapshot{}, pipeline.Transient(errors.New("throttled"))
			}
			return seen[reads-1], nil
		}
		var told []string
		if err := leases.WaitPassed(t.Context(), read, at, time.Second, func(text string) { told = append(told, text) }); err != nil {
			t.Fatal(err)
		}
		until := "waiting until all shards are read past " + at.Format(time.RFC3339) + ": not yet read are 1, first shardId-2"
		want := []string{"waiting for a consumer: none has begun to read the stream", "the leases cannot be read, and are read again: throttled", "waiting for a consumer: none runs", until, until + "; shardId-2 is read no further: its row is damaged"}
		if !slices.Equal(told, want) || reads != len(seen) || time.Now().Before(at) {
			t.Errorf("%d reads told %q, want %q", reads, told, want)
		}
	})
}
