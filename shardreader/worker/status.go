package worker

import (
	"cmp"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// mostBehind is how many shards a member says to be behind.
const mostBehind = 200

// member is what this worker tells of itself.
func (w *Worker) member() leases.Member {
	m := leases.Member{Worker: w.o.Worker, Name: w.o.Name, Beat: w.beat, Leaving: w.leaving, Leases: len(w.assignments), AtEnd: w.endBeat(), Calls: w.perMonth(), Failing: w.failingOf()}
	var behind []*assignment
	for _, r := range w.rows.all() {
		p := r.assignment
		if p == nil {
			continue
		}
		m.Load += p.load
		m.Pending += p.pending
		if p.halted != "" {
			if m.Stopped == nil {
				m.Stopped = make(map[string]string)
			}
			m.Stopped[r.Shard] = p.halted
		}
		if p.behindFrom > 0 || p.halted != "" || !p.opened {
			behind = append(behind, p)
		}
	}
	for shard := range w.broken {
		if m.Stopped == nil {
			m.Stopped = make(map[string]string)
		}
		m.Stopped[shard] = StoppedBroken
	}
	for shard, u := range w.unbegun {
		if m.Stopped == nil {
			m.Stopped = make(map[string]string)
		}
		m.Stopped[shard] = u.why
	}
	slices.SortStableFunc(behind, func(a, b *assignment) int { return cmp.Compare(a.time, b.time) })
	for _, p := range behind[:min(len(behind), mostBehind)] {
		if m.Behind == nil {
			m.Behind = make(map[string]time.Time)
		}
		m.Behind[p.row.Shard] = unix(p.time)
	}
	return m
}

func unix(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

// Partition is what a worker says of a shard that it reads.
type Partition struct {
	Name       string // of the partition
	Shard      string
	Stream     string
	Checkpoint string    // durable
	Last       time.Time // creation time of the last record delivered; zero where there was none
	Acked      time.Time // of the last one that is durable everywhere
	Oldest     time.Time // of the oldest delivered and not acknowledged; zero where there is none
	Opened     bool      // a whole answer was had since reading began
	Behind     bool      // there may be records that it has not read yet
	Pending    int64     // records delivered and not acknowledged
	Failures   int       // calls that failed in a row
	Failing    time.Time // when the first of them did; zero where none does
	Error      string    // of the last of them, as the log has it

	// Answered is when GetRecords last brought a whole answer, empty or not, by the
	// worker's clock; before the first, when reading began.
	Answered time.Duration

	Paused   bool    // the pipeline is full of it
	Ended    bool    // it was read to its end
	Draining bool    // it is being handed over
	Stopped  string  // why it is read no further; "" while it is
	Load     float64 // bytes a second
}

// Status is what a worker knows of itself and the fleet.
type Status struct {
	Member     leases.Member
	Contact    bool // its beats succeed
	Leads      bool // it lists the streams
	Seen       bool // it has read the table
	SeenAt     time.Duration
	Live       int            // workers that take leases
	Active     int            // leases that somebody should read now
	Orphans    int            // of them, those that nobody owns, or somebody who is gone
	Unbegun    map[string]int // shards that it leaves unread for a gap before them, by their stream's ARN
	Synced     bool           // the streams were listed, by this worker, or another one leads that did
	Unwritten  time.Duration  // for how long a checkpoint that is due could not be written; 0 where that is no longer than a lease lasts
	Unseen     time.Duration  // the same of reading the lease table
	Unread     string         // what is unread, where Options.Idle asks for the end, as far as is known
	Partitions []Partition    // by shard
}

// Status is that of now, which is the worker's own clock. It changes nothing.
func (w *Worker) Status() Status {
	s := Status{Member: w.member(), Contact: w.heartbeatFresh() && !w.suspended, Leads: w.leads(), Seen: w.seenOnce, SeenAt: w.sent, Live: len(w.live()), Unread: w.unreadWhy, Unseen: w.unseen()}
	s.Unwritten, _ = w.unwritten()
	s.Synced = w.listed || w.seenOnce && !w.leads() && w.rows.len() > 0
	for _, u := range w.unbegun {
		if s.Unbegun == nil {
			s.Unbegun = make(map[string]int)
		}
		s.Unbegun[u.stream]++
	}
	for _, r := range w.rows.all() {
		if w.active(r) {
			s.Active++
			if r.Owner == "" || !w.alive(r.Owner) {
				s.Orphans++
			}
		}
		p := r.assignment
		if p == nil {
			continue
		}
		oldest := int64(0)
		if len(p.inFlight) > 0 {
			oldest = p.inFlight[0].oldest
		}
		text := ""
		if p.failing.err != nil {
			text = pipeline.LogText(p.failing.err)
		}
		s.Partitions = append(s.Partitions, Partition{
			Failing: p.failing.at, Error: text,
			Name: p.name, Shard: r.Shard, Stream: r.Stream, Checkpoint: r.Checkpoint.String(),
			Last: unix(p.time), Acked: unix(p.ackedTime), Oldest: unix(oldest), Opened: p.opened, Behind: p.behindFrom > 0 || !p.opened || p.confirming, Pending: p.pending, Failures: p.attempt, Answered: p.answered,
			Paused: p.paused, Ended: p.ended, Draining: p.draining, Stopped: p.halted, Load: p.load,
		})
	}
	return s
}
