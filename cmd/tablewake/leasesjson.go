package main

import (
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// leaseJSON is a lease as `leases list -o json` prints it.
type leaseJSON struct {
	Shard      string     `json:"shard"`
	Stream     string     `json:"stream,omitempty"`
	Owner      string     `json:"owner"`
	Counter    int64      `json:"counter"`
	Checkpoint string     `json:"checkpoint"`
	Parents    []string   `json:"parents"`
	Children   []string   `json:"children"`
	From       *time.Time `json:"from,omitempty"`        // what was created before it is passed over
	LastRecord *time.Time `json:"last_record,omitempty"` // creation time of the record at the checkpoint
	Wanted     string     `json:"wanted,omitempty"`
	Pinned     string     `json:"pinned,omitempty"`
	Stopped    string     `json:"stopped,omitempty"` // why the shard is read no further than the checkpoint
	Broken     string     `json:"broken,omitempty"`  // why the row cannot be read; then nothing else of it is known
}

func leaseOf(l leases.Lease) leaseJSON {
	return leaseJSON{
		Shard: l.Shard, Stream: l.Stream, Owner: l.Owner, Counter: l.Counter, Checkpoint: l.Checkpoint.String(),
		Parents: append([]string{}, l.Parents...), Children: append([]string{}, l.Children...), Wanted: l.Wanted, Pinned: l.Pinned, Stopped: l.Stopped,
		From: cli.Known(l.From), LastRecord: cli.Known(l.Time),
	}
}
