package fleet

import (
	"time"

	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/sinks/state"
)

// Observation is the state of a fleet of consumers at one time, as its stores and the stream show it.
type Observation struct {
	Pipeline string
	Flags    string    // flags of every command of this pipeline, for hints: -c FILE --live
	Source   string    // flags that name the source of a backfill, for hints: --scan
	At       time.Time // by the clock of this machine; ages are relative to it
	Leases   leases.Snapshot
	// Silent has the consumers without a new heartbeat. It maps the id of each to the time for which it was watched, at
	// least one lease time
	Silent    map[string]time.Duration
	Streams   []Stream
	Gaps      []state.NotedGap
	HeldBack  []state.HeldBack            // notes of consumers; Report ignores the notes of silent consumers
	Letters   *Letters                    // nil: they were not counted
	Births    []state.Birth               // recorded identities of all outputs
	LeftOut   []state.Birth               // births of sinks that are in the file and may miss changes
	Fills     map[string]BackfillProgress // by run: the progress of the backfills that fill the outputs in Births
	Functions []Function                  // functions that run the pipeline, as the flags name them
	Tables    []string                    // tables whose streams the functions must read
	Kinesis   string                      // ARN of the Kinesis stream that the functions read instead; "": none
	Lost      []LostOutput                // sinks whose output does not belong to the state
	Unknown   []ReadFailure               // failed reads

	RepairsGaps bool // the file says on_gap: repair

	Unconfigured string // name of the file if it configures no consumer: there are no leases
	NoTable      string // name of the lease table if it does not exist: there are no leases

	Retention time.Duration // how long the stream keeps a record. Default: 24h
	Urgent    time.Duration // records that are lost within this time are a problem. Default: 4h

	unreadBefore map[string]string // by stream: an older stream of its table that is not read to its end
}

// Letters counts the dead letters of a pipeline, and the keys that are quarantined because of them.
type Letters struct {
	NotConfigured bool           `json:"none,omitempty"` // the file names no store for dead letters
	Sinks         map[string]int `json:"sinks"`          // letters by sink; "" has those of records that could not be decoded
	Keys          map[string]int `json:"quarantined"`    // keys by sink
	Truncated     bool           `json:"more,omitempty"` // there are more letters than the counted ones
	// Queued is the approximate number of messages in the queue, including those of other pipelines; they are not in
	// Sinks
	Queued  int    `json:"queued,omitempty"`
	Unknown string `json:"unknown,omitempty"` // reason why some or all letters could not be counted
	Failed  bool   `json:"failed,omitempty"`  // with Unknown: the count failed; false: it is never made

	Reasons map[string]int `json:"reasons,omitempty"` // letters by class: write, plan, quarantined, ...
	Oldest  *time.Time     `json:"oldest,omitempty"`  // time when the oldest counted letter was stored
}

// ReadFailure is a failed read, with its error.
type ReadFailure struct {
	What string
	Err  error
}

// AddReadFailure adds a ReadFailure, unless err is nil.
func (obs *Observation) AddReadFailure(what string, err error) {
	if err != nil {
		obs.Unknown = append(obs.Unknown, ReadFailure{what, err})
	}
}

// LostOutput is a sink whose output does not belong to the state, with the problem.
type LostOutput struct {
	Sink string
	What string
}

// Stream is a stream with its listed shards.
type Stream struct {
	ARN    string
	Status shardreader.StreamStatus
	Shards []shardreader.Shard
	Err    error // why the stream could not be listed; the tree then has only the shards of leases
}
