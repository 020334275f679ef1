package fleet

import (
	"time"

	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/sinks/state"
)

// Look is what is seen of a fleet of consumers.
type Look struct {
	Pipeline string
	Flags    string    // what every command of this pipeline needs, for hints: -c FILE --live
	At       time.Time // of this machine's clock, which ages are told by
	Leases   leases.Snapshot
	Silent   map[string]time.Duration // by worker: how long its beat was seen to stand still, where that is a whole lease
	Streams  []Stream
	Gaps     []state.Gap
	HeldBack []state.HeldBack // what consumers noted; those that are silent do not count
	Letters  *Letters         // nil: nobody looked
	Lost     []Lost           // what sinks wrote that does not belong together with the state
	Unknown  []Unknown        // what could not be looked at

	Unconfigured string // the file, where it configures no consumer: gaps alone are seen
	NoTable      string // the lease table, where there is none: gaps alone are seen

	Retention time.Duration // how long the stream keeps a record. Default: 24h
	Urgent    time.Duration // records that are lost within it are a problem. Default: 4h
}

// Letters are the dead letters of a pipeline, and the keys that are quarantined behind them.
type Letters struct {
	None    bool           `json:"none,omitempty"`    // the file names no dead letters
	Sinks   map[string]int `json:"sinks"`             // letters by sink, "": of records that could not be decoded
	Keys    map[string]int `json:"quarantined"`       // keys by sink
	More    bool           `json:"more,omitempty"`    // there are more than were counted
	Unknown string         `json:"unknown,omitempty"` // why they could not be counted, or not all of them
	Failed  bool           `json:"failed,omitempty"`  // it is a failure; false: they never can
}

// Unknown is something that could not be looked at.
type Unknown struct {
	What string
	Err  error
}

// Missed notes that something could not be looked at; not if err is nil.
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

// Stream is a stream as it is listed.
type Stream struct {
	ARN    string
	Status shardreader.StreamStatus
	Shards []shardreader.Shard
	Err    error // why it could not be listed; the tree is then made of leases alone
}

// Report is how a fleet stands.
type Report struct {
	Pipeline  string     `json:"pipeline"`
	At        time.Time  `json:"at"`
	Healthy   bool       `json:"healthy"`        // there are no problems
	Note      string     `json:"note,omitempty"` // why there are no consumers to be seen; "" where there may be some
	Problems  []Problem  `json:"problems"`
	Consumers []Consumer `json:"consumers"`
	Streams   []Listing  `json:"streams"`
	Shards    []Shard    `json:"shards"` // each behind its parents
	Gaps      []Gap      `json:"gaps"`
	HeldBack  []HeldBack `json:"held_back"` // the longest first

	Sinks   []Sink   `json:"sinks"`        // that fail, as consumers noted it
	Letters *Letters `json:"dead_letters"` // null: nobody looked

	HeldBackMore int `json:"held_back_more,omitempty"` // reasons that consumers did not note, as there are too many
}

// Problem is something that needs attention.
type Problem struct {
	Kind    ProblemKind `json:"kind"`
	Subject string      `json:"subject"` // a shard, a consumer or a sink
	Text    string      `json:"text"`
	Hint    string      `json:"hint"`
}

// ProblemKind tells what a problem is about.
type ProblemKind string

// The kinds of problems.
const (
	StoppedShard ProblemKind = "stopped_shard"  // a shard is read no further
	SilentMember ProblemKind = "silent_member"  // a consumer that has shards shows no sign of life
	NoOwner      ProblemKind = "no_owner"       // a shard that could be read is read by nobody
	LossNear     ProblemKind = "loss_near"      // what is unread will be lost soon
	LostLeases   ProblemKind = "lost_leases"    // consumers were seen, and the lease table is gone
	NotLookedAt  ProblemKind = "not_looked_at"  // something could not be looked at, and is unknown
	NotListed    ProblemKind = "not_listed"     // a stream could not be listed
	NoConsumers  ProblemKind = "no_consumers"   // nobody reads
	BrokenLease  ProblemKind = "broken_lease"   // somebody damaged a row of the leases
	FailingShard ProblemKind = "failing_shard"  // the calls that read a shard fail
	FailingSink  ProblemKind = "failing_sink"   // a sink fails
	DeadLetters  ProblemKind = "dead_letters"   // changes are in dead letters
	LostStore    ProblemKind = "lost_store"     // a sink's output, or its state, was deleted, restored or exchanged
	Breach       ProblemKind = "lineage_breach" // a lease stands above one of its descendants
)

// Consumer is a worker, by its own row.
type Consumer struct {
	Worker        string  `json:"worker"`
	Name          string  `json:"name"`
	Alive         bool    `json:"alive"`
	SilentSeconds float64 `json:"silent_seconds,omitempty"` // how long its beat was seen to stand still
	Gone          bool    `json:"gone"`                     // it is silent, and others have all that it had
	Leaving       bool    `json:"leaving"`
	Shards        int     `json:"shards"`
	Behind        int     `json:"behind"` // shards whose newest record it has not read yet; 200 at most
	Pending       int64   `json:"pending"`
	BytesASecond  float64 `json:"bytes_a_second"`
	CallsAMonth   float64 `json:"calls_a_month"`
}

// Listing is what became of listing a stream.
type Listing struct {
	ARN    string                   `json:"arn"`
	Status shardreader.StreamStatus `json:"status,omitempty"`
	Shards int                      `json:"shards"`
	Error  string                   `json:"error,omitempty"`
}

// Gap is a part of a stream that was lost before it was read.
type Gap struct {
	Stream        string     `json:"stream"`
	Shard         string     `json:"shard"`            // "" where it lies before the stream
	After         string     `json:"after,omitempty"`  // sequence number of the last record before it
	Before        string     `json:"before,omitempty"` // sequence number of the first record behind it
	Whole         bool       `json:"whole"`            // the rest of the shard is lost
	UnknownExtent bool       `json:"unknown_extent"`   // nobody knows whether there was anything to lose
	From          *time.Time `json:"from,omitempty"`
	To            *time.Time `json:"to,omitempty"`
	Found         *time.Time `json:"found,omitempty"`
	LostSeconds   *int64     `json:"lost_seconds_at_least,omitempty"` // of writes, at least; absent where nothing tells
}

// State is what becomes of a shard.
type State string

// The states of shards.
const (
	Done      State = "done"      // read to its end, all of it durable
	Reading   State = "reading"   // a consumer that lives reads it
	Waiting   State = "waiting"   // for its parents' ends
	Stopped   State = "stopped"   // read no further; Why says for what
	Unowned   State = "unowned"   // nobody who lives owns it
	Unclaimed State = "unclaimed" // there is no lease of it, and it waits for nothing
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
	Checkpoint string     `json:"checkpoint,omitempty"` // "" where there is no lease
	Counter    int64      `json:"counter,omitempty"`
	LastRecord *time.Time `json:"last_record,omitempty"`             // creation time of the last one that is durable everywhere
	AgeSeconds *float64   `json:"last_record_age_seconds,omitempty"` // of it
	Behind     *bool      `json:"behind,omitempty"`                  // there are records that its owner has not read; absent where nobody says
	Records    *int64     `json:"records_behind,omitempty"`          // how many are not durable everywhere; absent where nobody knows
	FailingFor *float64   `json:"reads_fail_seconds,omitempty"`      // for how long all calls that read it fail
	Failing    string     `json:"reads_fail_for,omitempty"`          // the class of the error
	LossIn     *float64   `json:"seconds_until_loss,omitempty"`      // at the earliest; absent where nothing is at stake, or nothing tells
}
