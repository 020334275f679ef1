package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/sinks/state"
)

// Report is the state of a fleet, with its problems.
type Report struct {
	Pipeline          string          `json:"pipeline"`
	Flags             string          `json:"flags,omitempty"` // flags of each command of this pipeline: -c FILE --live
	At                time.Time       `json:"at"`
	Healthy           bool            `json:"healthy"`        // there are no problems
	NoConsumersReason string          `json:"note,omitempty"` // reason why the report cannot have consumers; "": it can
	Problems          []Problem       `json:"problems"`
	Consumers         []Consumer      `json:"consumers"`
	Streams           []StreamListing `json:"streams"`
	Shards            []Shard         `json:"shards"` // each after its parents
	Gaps              []Gap           `json:"gaps"`
	HeldBack          []HeldBack      `json:"held_back"` // the oldest first

	Sinks        []Sink        `json:"sinks"`        // failing sinks, as consumers noted them
	PendingSinks []PendingSink `json:"filling"`      // sinks that are not live
	Letters      *Letters      `json:"dead_letters"` // null: they were not counted

	Functions []Function `json:"functions,omitempty"` // functions that run the pipeline instead of consumers

	HeldBackMore int `json:"held_back_more,omitempty"` // number of reasons beyond the maximum of a note

	LossWarning time.Duration `json:"-"` // Observation.Urgent, or its default
}

// LossIsNear reports whether a loss in the given number of seconds is a problem. nil means that no loss is known.
func (r *Report) LossIsNear(seconds *float64) bool {
	return seconds != nil && *seconds < r.LossWarning.Seconds()
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
	StoppedShard   ProblemKind = "stopped_shard" // the reading of a shard is stopped
	SilentConsumer ProblemKind = "silent_member" // a consumer that has shards sends no heartbeats
	NoOwner        ProblemKind = "no_owner"      // no consumer reads a shard that could be read
	LossNear       ProblemKind = "loss_near"     // unread records will be lost soon
	LostLeases     ProblemKind = "lost_leases"   // there are heartbeats, and the lease table is gone
	ReadFailed     ProblemKind = "not_looked_at" // a read failed, so a part of the state is unknown
	NotListed      ProblemKind = "not_listed"    // a stream could not be listed
	NoConsumers    ProblemKind = "no_consumers"  // no consumer reads
	BrokenLease    ProblemKind = "broken_lease"  // a row of the lease table is damaged
	FailingShard   ProblemKind = "failing_shard" // the calls that read a shard fail
	FailingSink    ProblemKind = "failing_sink"  // a sink fails
	IdleMapping    ProblemKind = "idle_mapping"  // an event source mapping is disabled
	FailingBatch   ProblemKind = "failing_batch" // the last batch of an event source mapping failed
	WaitingSink    ProblemKind = "waiting_sink"  // a sink waits for a backfill, and writes nothing
	DeadLetters    ProblemKind = "dead_letters"  // changes are in dead letters
	LostStore      ProblemKind = "lost_store"    // a sink's output, or its state, was deleted, restored or exchanged
	// sinks miss the changes of a gap, or of a time when a process ran without them, and the repair is not finished
	NotRepaired   ProblemKind = "not_repaired"
	LineageBreach ProblemKind = "lineage_breach" // a shard is not read to its end, and its child was read
)

// Consumer is the state of a consumer, as its heartbeat shows it.
type Consumer struct {
	Worker        string  `json:"worker"`
	Name          string  `json:"name"`
	Alive         bool    `json:"alive"`
	SilentSeconds float64 `json:"silent_seconds,omitempty"` // watched for this time without a new heartbeat
	Gone          bool    `json:"gone"`                     // the consumer is silent and owns no shard any more
	Leaving       bool    `json:"leaving"`
	Shards        int     `json:"shards"`
	Behind        int     `json:"behind"` // number of shards that may have unread records; 200 at most
	Pending       int64   `json:"pending"`
	BytesASecond  float64 `json:"bytes_a_second"`
	CallsAMonth   float64 `json:"calls_a_month"`
}

// StreamListing is the result of listing a stream.
type StreamListing struct {
	ARN    string                   `json:"arn"`
	Status shardreader.StreamStatus `json:"status,omitempty"`
	Shards int                      `json:"shards"`
	Error  string                   `json:"error,omitempty"`
}

// Gap is a range of records that was lost before it was read.
type Gap struct {
	Stream        string     `json:"stream"`
	Shard         string     `json:"shard"`            // "": the gap is before the stream
	After         string     `json:"after,omitempty"`  // sequence number of the last record before the gap
	Before        string     `json:"before,omitempty"` // sequence number of the first record after the gap
	RestOfShard   bool       `json:"whole"`            // the rest of the shard is lost
	UnknownExtent bool       `json:"unknown_extent"`   // it is unknown whether there were any records
	From          *time.Time `json:"from,omitempty"`
	To            *time.Time `json:"to,omitempty"`
	FoundAt       *time.Time `json:"found,omitempty"`
	// minimum time span of the lost writes; absent if unknown
	LostSeconds *int64 `json:"lost_seconds_at_least,omitempty"`

	Repair state.GapRepair `json:"repair"`
}

// State is the state of a shard.
type State string

// The states of shards.
const (
	Done      State = "done"      // read to its end, all of it durable
	Reading   State = "reading"   // a live consumer reads it
	Waiting   State = "waiting"   // a parent, or an older stream, is not read to its end
	Stopped   State = "stopped"   // its reading is stopped; StopReason has the reason
	Unowned   State = "unowned"   // no live consumer owns it
	Unclaimed State = "unclaimed" // it has no lease, and waits for nothing
)

// Shard is a shard in the tree.
type Shard struct {
	ID         string   `json:"shard"`
	Stream     string   `json:"stream,omitempty"`
	Parents    []string `json:"parents"`
	Children   []string `json:"children"`
	Listed     bool     `json:"listed"`
	Open       bool     `json:"open"` // listed as open
	State      State    `json:"state"`
	StopReason string   `json:"why,omitempty"`

	Owner       string `json:"owner,omitempty"`
	Name        string `json:"name,omitempty"` // name of the owner, the same over restarts
	Pinned      string `json:"pinned,omitempty"`
	RequestedBy string `json:"wanted,omitempty"`
	Checkpoint  string `json:"checkpoint,omitempty"` // "": there is no lease
	Counter     int64  `json:"counter,omitempty"`
	// LastRecord is the creation time of the last record that is durable in all sinks.
	LastRecord *time.Time `json:"last_record,omitempty"`
	AgeSeconds *float64   `json:"last_record_age_seconds,omitempty"` // age of LastRecord
	Behind     *bool      `json:"behind,omitempty"`                  // it may have unread records; absent if unknown
	// Records is the number of records that are not durable in all sinks; absent if unknown.
	Records        *int64   `json:"records_behind,omitempty"`
	FailingSeconds *float64 `json:"reads_fail_seconds,omitempty"` // time for which all its reads have failed
	ErrorClass     string   `json:"reads_fail_for,omitempty"`     // class of the error
	// LossInSeconds is the shortest time until an unread record is lost; absent if no record is unread, or if it is
	// unknown.
	LossInSeconds *float64 `json:"seconds_until_loss,omitempty"`

	AfterStream bool `json:"-"` // with Waiting: it waits for the end of an older stream, not of a parent
}

// Report derives the report from an observation. It makes no call.
func (obs Observation) Report() Report {
	obs.Retention = cmp.Or(obs.Retention, 24*time.Hour)
	obs.Urgent = cmp.Or(obs.Urgent, 4*time.Hour)
	r := Report{LossWarning: obs.Urgent, Pipeline: obs.Pipeline, Flags: obs.Flags, At: obs.At.UTC(), Problems: []Problem{},
		Consumers: []Consumer{}, Streams: []StreamListing{}, Shards: []Shard{}, Gaps: []Gap{}, HeldBack: []HeldBack{},
		Sinks: []Sink{}, PendingSinks: []PendingSink{}}
	r.addStoreProblems(&obs)
	for _, m := range obs.Leases.Members {
		r.addConsumer(&obs, m) // first, because addHeldBack and addSinks need to know who is alive
	}
	r.addFunctions(&obs)
	r.addHeldBack(&obs)
	r.addPendingSinks(&obs)
	r.addLeftOutSinks(&obs)
	r.addSinks(&obs)
	r.addLetters(&obs)
	for _, s := range obs.Streams {
		r.addStream(s)
	}
	hasReadableShard := r.addShards(&obs)
	for _, g := range obs.Gaps {
		r.Gaps = append(r.Gaps, NewGap(g, obs.Retention))
		r.addGapRepair(&obs, g)
	}
	r.addNoConsumers(&obs, hasReadableShard)
	slices.SortStableFunc(r.Problems, func(a, b Problem) int { return cmp.Compare(a.Kind.rank(), b.Kind.rank()) })
	r.Healthy = len(r.Problems) == 0
	return r
}

// addStoreProblems adds the problems of the stores, and notes which stores the file configures.
func (r *Report) addStoreProblems(obs *Observation) {
	switch {
	case obs.Unconfigured != "":
		r.NoConsumersReason = "no consumer is configured: " + obs.Unconfigured + " says nothing of leases, so Lambda reads the stream"
		if len(obs.Functions) == 0 {
			r.NoConsumersReason += "; with --function NAME its event source mappings show too"
		}
	case obs.NoTable != "" && len(obs.Leases.Members) > 0:
		r.addLostLeases(obs)
	case obs.NoTable != "":
		r.addProblem(NoConsumers, obs.Pipeline, "start `"+obs.command("consume")+
			" --create`; if a function reads the stream, take leases out of the file",
			"no consumer has begun: there is no lease table %s", obs.NoTable)
	}
	for _, lost := range obs.Lost {
		r.addProblem(LostStore, lost.Sink, "`"+obs.command("adopt")+" --sink "+lost.Sink+
			"` shows what is there, and what can be done; no consumer starts before", "sink %s: %s", lost.Sink, lost.What)
	}
	for _, u := range obs.Unknown {
		r.addProblem(ReadFailed, u.What, "it is unknown, so look again once the store answers",
			"%s could not be looked at: %v", u.What, u.Err)
	}
}

// addShards adds the shards and their problems. It reports whether consumers could read a shard now or later: whether
// one is neither read to its end nor stuck. A shard is stuck if it is stopped, or if it waits for a stuck shard.
func (r *Report) addShards(obs *Observation) (hasReadableShard bool) {
	t := newTree(obs)
	obs.unreadBefore = unreadPredecessors(obs.Streams, t)
	for _, b := range obs.Leases.DamagedLeases {
		r.addProblem(BrokenLease, b.Shard,
			"restore the row, or set by hand what is wrong with it; its checkpoint is where the shard was read to, by a status or a log of before. Nobody reads the shard until then; deleting the row loses what was not read of it",
			"the lease of %s cannot be read: %s", b.Shard, b.Reason)
	}
	// A stream is stuck if one of its shards is.
	stuckShards, stuckStreams := make(map[string]bool), make(map[string]bool)
	isStuckShard := func(id string) bool { return stuckShards[id] }
	for _, n := range t.sorted() { // parents and older streams come first
		s := r.newShard(obs, t, n)
		r.Shards = append(r.Shards, s)

		followsStuck := stuckStreams[obs.unreadBefore[n.stream]] || slices.ContainsFunc(s.Parents, isStuckShard)
		switch {
		case s.State == Stopped, s.State == Waiting && followsStuck:
			stuckShards[s.ID], stuckStreams[n.stream] = true, true
		case s.State != Done:
			hasReadableShard = true
		}
	}
	return hasReadableShard
}

// addNoConsumers adds the problem that no consumer reads. hasReadableShard is the result of addShards.
func (r *Report) addNoConsumers(obs *Observation, hasReadableShard bool) {
	if slices.ContainsFunc(r.Consumers, func(c Consumer) bool { return c.Alive }) {
		return
	}
	hasLeaseTable := obs.Unconfigured == "" && obs.NoTable == ""
	streamUnknown := hasLeaseTable && len(obs.Streams) == 0
	switch {
	case hasReadableShard:
		// One problem is enough if no shard has a live owner.
		r.Problems = slices.DeleteFunc(r.Problems, func(p Problem) bool { return p.Kind == NoOwner })
		r.addProblem(NoConsumers, obs.Pipeline, "start `"+obs.command("consume")+"`, or look why it stopped",
			"no consumer reads: %s", cli.CountWithVerb(r.countUnowned(), "shard", "waits", "wait"))
	case streamUnknown && len(r.Problems) == 0:
		r.addProblem(NoConsumers, obs.Pipeline, "look without --no-stream, or start `"+obs.command("consume")+"`",
			"no consumer reads, and whether there is something to read is unknown: the stream was not looked at")
	}
}

// problemKinds are the kinds of problems. The kinds that lose records come first.
var problemKinds = []ProblemKind{
	LineageBreach, LostLeases, LostStore, LossNear, FailingShard, FailingBatch, FailingSink, WaitingSink, NotRepaired,
	DeadLetters, BrokenLease, StoppedShard, IdleMapping, NoConsumers, SilentConsumer, NoOwner, NotListed, ReadFailed,
}

// rank orders kinds as problemKinds does.
func (k ProblemKind) rank() int { return slices.Index(problemKinds, k) }

// Mild reports whether problems of this kind lose no records by themselves, or end by themselves.
func (k ProblemKind) Mild() bool {
	switch k {
	case WaitingSink, NotRepaired, DeadLetters, SilentConsumer, NoOwner, NotListed, ReadFailed:
		return true
	}
	return false
}

func (r *Report) addProblem(kind ProblemKind, subject, hint, format string, args ...any) {
	r.Problems = append(r.Problems, Problem{Kind: kind, Subject: subject, Text: fmt.Sprintf(format, args...), Hint: hint})
}

// addLostLeases adds the problem that the lease table is gone although consumers used it.
func (r *Report) addLostLeases(obs *Observation) {
	alive := 0
	for _, m := range obs.Leases.Members {
		if _, silent := obs.Silent[m.ID]; !silent {
			alive++
		}
	}
	users := "consumers had it, and none of them lives"
	if alive > 0 {
		users = cli.CountWithVerb(alive, "consumer", "lives, and cannot write its checkpoints",
			"live, and cannot write their checkpoints")
	}
	r.addProblem(LostLeases, obs.Pipeline, "restore the table under its name if there is a copy. `"+obs.command("consume")+
		" --create` makes an empty one: the stream is then read from source.start, and archives and notifications get again what they have",
		"the lease table %s is gone: %s", obs.NoTable, users)
}

// countUnowned counts the readable shards that no consumer reads.
func (r *Report) countUnowned() (n int) {
	for _, s := range r.Shards {
		if s.State == Unowned || s.State == Unclaimed {
			n++
		}
	}
	return n
}

func (r *Report) addConsumer(obs *Observation, m leases.Member) {
	silence, silent := obs.Silent[m.ID]
	ownsShard := func(lease leases.Lease) bool { return lease.Owner == m.ID && !lease.Ended() }
	gone := silent && !slices.ContainsFunc(obs.Leases.Leases, ownsShard)
	r.Consumers = append(r.Consumers, Consumer{
		Worker: m.ID, Name: cmp.Or(m.Name, m.ID), Alive: !silent, SilentSeconds: silence.Seconds(), Gone: gone,
		Leaving: m.Leaving, Shards: m.LeaseCount, Behind: len(m.Behind), Pending: m.Pending, BytesASecond: m.Load,
		CallsAMonth: m.CallsPerMonth,
	})
	if silent && !gone {
		r.addProblem(SilentConsumer, m.ID,
			"others take its shards; if it still runs, look at its log: it cannot reach the state table, or hangs",
			"consumer %s has sent no heartbeat for %s", m.ID, FormatAge(silence))
	}
}

func (r *Report) addStream(s Stream) {
	listing := StreamListing{ARN: s.ARN, Status: s.Status, Shards: len(s.Shards)}
	if s.Err != nil {
		listing.Error = s.Err.Error()
		r.addProblem(NotListed, s.ARN, "what follows comes only from the leases", "the stream cannot be listed: %v", s.Err)
	}
	r.Streams = append(r.Streams, listing)
}

// NewGap returns a gap with the time span of the lost writes. retention is the retention of the stream.
func NewGap(g state.NotedGap, retention time.Duration) Gap {
	out := Gap{
		Stream: g.StreamARN, Shard: g.Shard, After: g.After, Before: g.Before, RestOfShard: g.Whole,
		UnknownExtent: g.UnknownExtent, From: cli.OptionalTime(g.From.UTC()), To: cli.OptionalTime(g.To.UTC()),
		FoundAt: cli.OptionalTime(g.Found.UTC()), Repair: g.Repair,
	}
	lost := g.Gap
	if lost.To.IsZero() && !lost.Found.IsZero() { // at Found the stream still had all records within its retention
		lost.To = lost.Found.Add(-retention)
	}
	hasSpan := !lost.From.IsZero() && !lost.To.IsZero()
	if hasSpan && !lost.UnknownExtent {
		out.LostSeconds = new(int64(lost.Span() / time.Second))
	}
	return out
}
