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

// What comes with the error of a read is not used: only heartbeats after the first one that was read well count.
func TestWaitPassed_FailedReadIsNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lease := leases.Lease{Shard: "shardId-1", Owner: "a"}
		seen := func(heartbeat, quiet int64) leases.Snapshot {
			return leases.Snapshot{Leases: []leases.Lease{lease}, Members: []leases.Member{{ID: "a", Heartbeat: heartbeat, QuietHeartbeat: quiet}}}
		}
		answers := []leases.Snapshot{{}, seen(1, 0), seen(9, 8), seen(12, 11)}
		reads := 0
		read := func(context.Context) (leases.Snapshot, error) {
			reads++
			if reads == 2 {
				return answers[1], pipeline.Transient(errors.New("throttled"))
			}
			return answers[reads-1], nil
		}
		if err := leases.WaitPassed(t.Context(), read, time.Now(), time.Second, func(string) {}); err != nil || reads != len(answers) {
			t.Errorf("%d reads, want %d: %v", reads, len(answers), err)
		}
	})
}
