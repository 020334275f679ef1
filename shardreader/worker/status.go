package worker

import (
	"cmp"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// mostTold is the most shards that a heartbeat reports to be behind, or to fail.
const mostTold = 200

// survey is the state of all assignments, gathered in one pass.
type survey struct {
	load     float64
	pending  int64 // records
	stopped  map[string]string
	behind   []*assignment // those that may be behind
	failing  []*assignment // those whose reads have failed for long enough to be reported, the longest first
	lateFor  time.Duration // how long a due checkpoint could not be written; 0 up to Options.Lease and Options.Checkpoint
	lateOnes int           // shards with such a checkpoint
}

func (w *Worker) survey() survey {
	s := survey{stopped: make(map[string]string)}
	for p := range w.assigned() {
		s.load += p.load.rate
		s.pending += p.pages.records
		if p.why != "" {
			s.stopped[p.row.Shard] = p.why
		}
		if p.lag.behindFrom > 0 || p.why != "" || !p.start.opened {
			s.behind = append(s.behind, p)
		}
		if p.failsLong(w.now) {
			s.failing = append(s.failing, p)
		}
		if late := w.now - p.durable.due; p.durable.due > 0 && late > w.o.Lease+w.o.Checkpoint {
			s.lateFor = max(s.lateFor, late)
			s.lateOnes++
		}
	}
	slices.SortFunc(s.failing, func(a, b *assignment) int {
		return cmp.Or(cmp.Compare(a.failing.since, b.failing.since), cmp.Compare(a.name, b.name))
	})
	return s
}

// member is this consumer's heartbeat.
func (w *Worker) member() leases.Member {
	s := w.survey()
	m := leases.Member{
		Worker: w.o.Worker, Name: w.o.Name, Heartbeat: w.beat, Leaving: w.leaving, Leases: len(w.assignments),
		AtEnd: w.endBeat(), Calls: w.perMonth(), Load: s.load, Pending: s.pending, Stopped: s.stopped,
		Behind: make(map[string]time.Time), Failing: make(map[string]leases.ReadFailure),
	}
	for shard := range w.broken {
		m.Stopped[shard] = StoppedBroken
	}
	for shard, u := range w.unbegun {
		m.Stopped[shard] = u.why
	}
	slices.SortStableFunc(s.behind, func(a, b *assignment) int { return a.time.Compare(b.time) })
	for _, p := range s.behind[:min(len(s.behind), mostTold)] {
		m.Behind[p.row.Shard] = p.time
	}
	for _, p := range s.failing[:min(len(s.failing), mostTold)] {
		m.Failing[p.row.Shard] = leases.ReadFailure{Since: p.failing.at.UTC(), Class: redact.ErrorClass(p.failing.err)}
	}
	m.Stopped, m.Behind, m.Failing = nilIfEmpty(m.Stopped), nilIfEmpty(m.Behind), nilIfEmpty(m.Failing)
	return m
}

func nilIfEmpty[K comparable, V any](m map[K]V) map[K]V {
	if len(m) == 0 {
		return nil
	}
	return m
}

// Partition is the status of an assignment.
type Partition struct {
	Name       string // of the partition
	Shard      string
	Stream     string
	Checkpoint string    // durable
	Last       time.Time // creation time of the last record delivered; zero if there was none
	Acked      time.Time // of the last one that is durable in all sinks
	Oldest     time.Time // of the oldest one delivered and not acknowledged; zero if there is none
	Opened     bool      // a whole answer came since reading began
	Behind     bool      // there may be records that are not read yet
	Pending    int64     // records delivered and not acknowledged
	Failures   int       // calls that failed in a row
	Failing    time.Time // when the first of them failed; zero if there is none
	Error      string    // of the last of them, as in the log

	// Answered is when the last whole answer of GetRecords came, empty or not, by the
	// worker's clock; before the first, when reading began.
	Answered time.Duration

	Paused   bool    // the pipeline requested a pause
	Ended    bool    // it was read to its end
	Draining bool    // it is being handed over
	Stopped  string  // why it is read no further; "" if it is read
	Load     float64 // bytes a second
}

// Status is the status of a consumer, and of the fleet as it sees it.
type Status struct {
	Member     leases.Member
	Contact    bool // its heartbeats succeed
	Leads      bool // it lists the streams
	Seen       bool // it has read the table
	SeenAt     time.Duration
	Live       int            // consumers that take leases
	Active     int            // leases that a consumer should read now
	Orphans    int            // those of them without an owner, or whose owner is gone
	Unbegun    map[string]int // shards that it does not begin, as records may be lost before them, by their stream's ARN
	Synced     bool           // the streams were listed, by this consumer, or by another one that leads
	Unwritten  time.Duration  // how long a due checkpoint could not be written; 0 up to about Options.Lease
	Unseen     time.Duration  // how long the lease table could not be read; 0 up to about Options.Lease
	Unread     string         // what is unread, as far as is known, if Options.Idle is set
	Partitions []Partition    // by shard
}

// Status returns the status after the last Step. It changes nothing.
func (w *Worker) Status() Status {
	s := Status{
		Member: w.member(), Contact: w.heartbeatFresh(), Leads: w.leads(), Seen: w.seenOnce, SeenAt: w.sent,
		Live: len(w.live()), Unread: w.unreadWhy, Unwritten: w.survey().lateFor, Unseen: w.unseen(),
		Unbegun: make(map[string]int),
	}
	s.Synced = w.listed || w.seenOnce && !w.leads() && w.rows.len() > 0
	for _, u := range w.unbegun {
		s.Unbegun[u.stream]++
	}
	s.Unbegun = nilIfEmpty(s.Unbegun)
	for _, r := range w.rows.all() {
		if w.active(r) {
			s.Active++
			if r.Owner == "" || !w.alive(r.Owner) {
				s.Orphans++
			}
		}
		if r.assignment != nil {
			s.Partitions = append(s.Partitions, r.assignment.status())
		}
	}
	return s
}

func (p *assignment) status() Partition {
	r := p.row
	s := Partition{
		Name: p.name, Shard: r.Shard, Stream: r.Stream, Checkpoint: r.Checkpoint.String(),
		Last: p.time, Acked: p.durable.time, Pending: p.pages.records,
		Opened: p.start.opened, Behind: p.lag.behindFrom > 0 || !p.start.opened || p.phase == confirming,
		Failures: int(p.attempt), Failing: p.failing.at, Answered: p.answered,
		Paused: p.paused, Ended: p.search != nil, Draining: p.phase == draining, Stopped: p.why, Load: p.load.rate,
	}
	if len(p.pages.inFlight) > 0 {
		s.Oldest = p.pages.inFlight[0].oldest
	}
	if p.failing.err != nil {
		s.Error = redact.LogText(p.failing.err)
	}
	return s
}
