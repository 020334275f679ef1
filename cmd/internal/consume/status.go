package consume

import (
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/sinks/state"
)

// consumerStatus is what /status shows of a consumer.
type consumerStatus struct {
	Worker      string        `json:"worker"`
	Name        string        `json:"name"`
	Lists       bool          `json:"lists_streams"` // it is the one of the fleet that does
	Consumers   int           `json:"consumers"`     // of the fleet, that take shards
	CallsAMonth float64       `json:"calls_a_month"`
	Shards      []shardStatus `json:"reads"`

	HeldBack []state.HeldBackShard `json:"held_back"` // what is not read on, or waits to be durable, the longest first
}

// shardStatus is a shard that it reads.
type shardStatus struct {
	Shard      string     `json:"shard"`
	Stream     string     `json:"stream"`
	Checkpoint string     `json:"checkpoint"`
	Behind     bool       `json:"behind"`
	Pending    int64      `json:"pending"`
	LastRead   *time.Time `json:"last_read,omitempty"`     // creation time of the last record read
	LastDone   *time.Time `json:"last_durable,omitempty"`  // of the last one that is durable everywhere
	Failures   int        `json:"failures,omitempty"`      // calls that failed in a row
	Failing    *time.Time `json:"failing_since,omitempty"` // when the first of them did
	Error      string     `json:"error,omitempty"`         // of the last of them
	Full       bool       `json:"full,omitempty"`          // the sinks hold all that they may of it
	Draining   bool       `json:"draining,omitempty"`
	Stopped    string     `json:"stopped,omitempty"` // why it is read no further
}

func consumerStatusOf(st coordinator.Status, held []pipeline.HeldBack) consumerStatus {
	c := consumerStatus{
		Worker: st.Member.Worker, Name: st.Member.Name, Lists: st.Leads, Consumers: st.Live, CallsAMonth: st.Member.Calls, Shards: []shardStatus{},
		HeldBack: heldBackShards(held, st),
	}
	for _, p := range st.Partitions {
		c.Shards = append(c.Shards, shardStatus{
			Shard: p.Shard, Stream: p.Stream, Checkpoint: p.Checkpoint, Behind: p.Behind, Pending: p.Pending,
			LastRead: cli.OptionalTime(p.Last), LastDone: cli.OptionalTime(p.Acked), Failures: p.Failures, Failing: cli.OptionalTime(p.Failing), Error: p.Error, Full: p.Paused, Draining: p.Draining, Stopped: p.Stopped,
		})
	}
	return c
}
