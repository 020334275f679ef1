package consume

import (
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/sinks/state"
)

// consumerStatus is the consumer part of /status.
type consumerStatus struct {
	Worker      string        `json:"worker"`
	Name        string        `json:"name"`
	Lists       bool          `json:"lists_streams"` // it is the consumer that lists the streams for all
	Consumers   int           `json:"consumers"`     // live consumers of the pipeline
	CallsAMonth float64       `json:"calls_a_month"`
	Shards      []shardStatus `json:"reads"`

	HeldBack []state.HeldBackShard `json:"held_back"` // shards that are paused or whose checkpoint waits, the oldest reason first
}

// shardStatus is a shard that the consumer reads.
type shardStatus struct {
	Shard      string     `json:"shard"`
	Stream     string     `json:"stream"`
	Checkpoint string     `json:"checkpoint"`
	Behind     bool       `json:"behind"`
	Pending    int64      `json:"pending"`
	LastRead   *time.Time `json:"last_read,omitempty"`     // creation time of the last record read
	LastDone   *time.Time `json:"last_durable,omitempty"`  // creation time of the last record that all sinks have
	Failures   int        `json:"failures,omitempty"`      // failed calls in a row
	Failing    *time.Time `json:"failing_since,omitempty"` // time of the first failed call
	Error      string     `json:"error,omitempty"`         // error of the last failed call
	Full       bool       `json:"full,omitempty"`          // reading is paused: the sinks have as many pending records as they may
	Draining   bool       `json:"draining,omitempty"`
	Stopped    string     `json:"stopped,omitempty"` // why its reading is stopped
}

func newConsumerStatus(st coordinator.Status, held []pipeline.HeldBack) consumerStatus {
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
