package fleet

import (
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/sinks/state"
)

// Look is what is visible of a fleet of consumers, at one time.
type Look struct {
	Pipeline string
	Flags    string    // flags of every command of this pipeline, for hints: -c FILE --live
	At       time.Time // by the clock of this machine; ages are relative to it
	Leases   leases.Snapshot
	Silent   map[string]time.Duration // by consumer id: how long it was watched without a new heartbeat, for a whole lease or more
	Streams  []Stream
	Gaps     []record.Gap
	HeldBack []state.HeldBack // what consumers noted; notes of silent ones are ignored
	Letters  *Letters         // nil: they were not counted
	Lost     []Lost           // sinks whose output does not belong to the state
	Unknown  []Unknown        // what could not be read

	Unconfigured string // name of the file if it configures no consumer: there are no leases
	NoTable      string // name of the lease table if it does not exist: there are no leases

	Retention time.Duration // how long the stream keeps a record. Default: 24h
	Urgent    time.Duration // records that are lost within this time are a problem. Default: 4h

	unreadBefore map[string]string // by stream: an older one of its table that is not read to its end
}

// Letters counts the dead letters of a pipeline, and the keys that are quarantined for them.
type Letters struct {
	None    bool           `json:"none,omitempty"`    // the file names no place for dead letters
	Sinks   map[string]int `json:"sinks"`             // letters by sink; "" has those of records that could not be decoded
	Keys    map[string]int `json:"quarantined"`       // keys by sink
	More    bool           `json:"more,omitempty"`    // there are more than were counted
	Unknown string         `json:"unknown,omitempty"` // why some or all could not be counted
	Failed  bool           `json:"failed,omitempty"`  // the count failed; false: such letters are never counted
}

// Unknown is something that could not be read, and why.
type Unknown struct {
	What string
	Err  error
}

// Missed notes that something could not be read, unless err is nil.
func (l *Look) Missed(what string, err error) {
	if err != nil {
		l.Unknown = append(l.Unknown, Unknown{what, err})
	}
}

// Lost is a sink whose output and state do not belong together.
type Lost struct {
	Sink string
	What string
}

// Stream is a stream with its listed shards.
type Stream struct {
	ARN    string
	Status shardreader.StreamStatus
	Shards []shardreader.Shard
	Err    error // why it could not be listed; then the tree has only its leases
}

// Report is the state of a fleet, with its problems.
type Report struct {
	Pipeline  string     `json:"pipeline"`
	At        time.Time  `json:"at"`
	Healthy   bool       `json:"healthy"`        // there are no problems
	Note      string     `json:"note,omitempty"` // why the report cannot have consumers; "": it can
	Problems  []Problem  `json:"problems"`
	Consumers []Consumer `json:"consumers"`
	Streams   []Listing  `json:"streams"`
	Shards    []Shard    `json:"shards"` // each after its parents
	Gaps      []Gap      `json:"gaps"`
	HeldBack  []HeldBack `json:"held_back"` // the oldest first

	Sinks   []Sink   `json:"sinks"`        // failing sinks, as consumers noted them
	Letters *Letters `json:"dead_letters"` // null: they were not counted

	HeldBackMore int `json:"held_back_more,omitempty"` // reasons beyond those that a note can have
}

// Problem is something that needs attention.
type Problem struct {
	Kind    ProblemKind `json:"kind"`
	Subject string      `json:"subject"` // a shard, a consumer or a sink
	Text    string      `json:"text"`
	Hint    string      `json:"hint"`
}

// ProblemKind is the kind of a problem.
type ProblemKind string

// The kinds of problems.
const (
	StoppedShard ProblemKind = "stopped_shard"  // the reading of a shard is stopped
	SilentMember ProblemKind = "silent_member"  // a consumer that has shards sends no heartbeats
	NoOwner      ProblemKind = "no_owner"       // no consumer reads a shard that could be read
	LossNear     ProblemKind = "loss_near"      // unread records will be lost soon
	LostLeases   ProblemKind = "lost_leases"    // there are heartbeats, and the lease table is gone
	NotLookedAt  ProblemKind = "not_looked_at"  // something could not be read, and is unknown
	NotListed    ProblemKind = "not_listed"     // a stream could not be listed
	NoConsumers  ProblemKind = "no_consumers"   // no consumer reads
	BrokenLease  ProblemKind = "broken_lease"   // a row of the lease table is damaged
	FailingShard ProblemKind = "failing_shard"  // the calls that read a shard fail
	FailingSink  ProblemKind = "failing_sink"   // a sink fails
	DeadLetters  ProblemKind = "dead_letters"   // changes are in dead letters
	LostStore    ProblemKind = "lost_store"     // a sink's output, or its state, was deleted, restored or exchanged
	Breach       ProblemKind = "lineage_breach" // a shard is not read to its end, and its child was read
)

// Consumer is a consumer, by its heartbeat.
type Consumer struct {
	Worker        string  `json:"worker"`
	Name          string  `json:"name"`
	Alive         bool    `json:"alive"`
	SilentSeconds float64 `json:"silent_seconds,omitempty"` // how long it was watched without a new heartbeat
	Gone          bool    `json:"gone"`                     // it is silent and has no shard any more
	Leaving       bool    `json:"leaving"`
	Shards        int     `json:"shards"`
	Behind        int     `json:"behind"` // shards that may have unread records; 200 at most
	Pending       int64   `json:"pending"`
	BytesASecond  float64 `json:"bytes_a_second"`
	CallsAMonth   float64 `json:"calls_a_month"`
}

// Listing is the result of listing a stream.
type Listing struct {
	ARN    string                   `json:"arn"`
	Status shardreader.StreamStatus `json:"status,omitempty"`
	Shards int                      `json:"shards"`
	Error  string                   `json:"error,omitempty"`
}

// Gap is a range of records that was lost before it was read.
type Gap struct {
	Stream        string     `json:"stream"`
	Shard         string     `json:"shard"`            // "": the gap is before the stream
	After         string     `json:"after,omitempty"`  // sequence number of the last record before it
	Before        string     `json:"before,omitempty"` // sequence number of the first record after it
	Whole         bool       `json:"whole"`            // the rest of the shard is lost
	UnknownExtent bool       `json:"unknown_extent"`   // it is unknown whether there were any records
	From          *time.Time `json:"from,omitempty"`
	To            *time.Time `json:"to,omitempty"`
	Found         *time.Time `json:"found,omitempty"`
	LostSeconds   *int64     `json:"lost_seconds_at_least,omitempty"` // time span of the lost writes, at least; absent if unknown
}

// State is the state of a shard.
type State string

// The states of shards.
const (
	Done      State = "done"      // read to its end, all of it durable
	Reading   State = "reading"   // a live consumer reads it
	Waiting   State = "waiting"   // a parent, or an older stream, is not read to its end
	Stopped   State = "stopped"   // its reading is stopped; Why has the reason
	Unowned   State = "unowned"   // no live consumer owns it
	Unclaimed State = "unclaimed" // it has no lease, and waits for nothing
)

// Shard is a shard in the tree.
type Shard struct {
	ID       string   `json:"shard"`
	Stream   string   `json:"stream,omitempty"`
	Parents  []string `json:"parents"`
	Children []string `json:"children"`
	Listed   bool     `json:"listed"`
	Open     bool     `json:"open"` // listed as open
	State    State    `json:"state"`
	Why      string   `json:"why,omitempty"`

	Owner      string     `json:"owner,omitempty"`
	Name       string     `json:"name,omitempty"` // of the owner, the same over restarts
	Pinned     string     `json:"pinned,omitempty"`
	Wanted     string     `json:"wanted,omitempty"`
	Checkpoint string     `json:"checkpoint,omitempty"` // "": there is no lease
	Counter    int64      `json:"counter,omitempty"`
	LastRecord *time.Time `json:"last_record,omitempty"`             // creation time of the last one that is durable everywhere
	AgeSeconds *float64   `json:"last_record_age_seconds,omitempty"` // of it
	Behind     *bool      `json:"behind,omitempty"`                  // it may have unread records; absent if unknown
	Records    *int64     `json:"records_behind,omitempty"`          // how many are not durable everywhere; absent if unknown
	FailingFor *float64   `json:"reads_fail_seconds,omitempty"`      // how long all its reads have failed
	Failing    string     `json:"reads_fail_for,omitempty"`          // the class of the error
	LossIn     *float64   `json:"seconds_until_loss,omitempty"`      // at the earliest; absent if no record is unread, or if it is unknown
}
