package fleet

import (
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
)

// Process is a consumer's report about itself: its reads and writes since it started.
type Process struct {
	Worker      string         `json:"worker"`
	Name        string         `json:"name"`
	Lists       bool           `json:"lists_streams"` // true for the consumer that lists the streams for all
	Consumers   int            `json:"consumers"`     // live consumers of the pipeline
	CallsAMonth float64        `json:"calls_a_month"`
	Shards      []ProcessShard `json:"reads"`

	// HeldBack are the shards that are paused or whose checkpoint waits, the oldest reason first
	HeldBack []state.HeldBackReason `json:"held_back"`

	ReadRate *float64 `json:"records_a_second,omitempty"` // absent: not measured yet
	// Lag is the age of the oldest record that is not durable in all sinks; absent if unknown
	Lag    *float64        `json:"lag_seconds,omitempty"`
	Ledger pipeline.Ledger `json:"ledger"`

	// LastLetter is the approximate time of the last dead letter; absent if there was none
	LastLetter *time.Time `json:"last_dead_letter,omitempty"`

	Sinks []ProcessSink `json:"sinks"` // in the order of the file
}

// ProcessShard is a shard that a consumer reads.
type ProcessShard struct {
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
	// Full is true if reading is paused, because the sinks have the maximum of pending records
	Full     bool   `json:"full,omitempty"`
	Draining bool   `json:"draining,omitempty"`
	Stopped  string `json:"stopped,omitempty"` // reason why its reading is stopped
}

// ProcessSink is the state of a sink in one consumer.
type ProcessSink struct {
	Sink    string   `json:"sink"`
	Rate    *float64 `json:"written_a_second,omitempty"` // absent: not measured yet
	Pending int64    `json:"pending"`
	// Oldest is the creation time of the oldest failed change that waits; absent if none waits, or if the time is
	// unknown
	Oldest  *time.Time `json:"oldest_waiting,omitempty"`
	Failing *time.Time `json:"failing_since,omitempty"`
	Error   string     `json:"error,omitempty"`   // redacted text of the last failure
	Blocked int        `json:"blocked,omitempty"` // keys blocked by a change that can never be written
}
