package health

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Options say how long is too long.
type Options struct {
	Lease    time.Duration // how long the consumer may be silent before others take its shards. Required
	Patience time.Duration // without any progress of what is pending; longer than sinks wait for their batches. Default: 2m
	Isolated time.Duration // without contact to the lease table, until the process counts as dead. Default: 5m, or ten leases where that is more
	Every    time.Duration // between two looks of a [Server] at the consumer, and how long one may take. Default: 1s
}

// Facts are what a consumer says of itself.
type Facts struct {
	Contact  bool  // its beats succeed
	Seen     bool  // it has read the leases
	Leaving  bool  // it drains, to stop
	Shards   int   // that it reads
	Stopped  int   // of them, that it reads no further: a gap
	Failing  int   // of them, whose last calls of the stream failed
	Behind   int   // of them, whose newest record it has not read
	Pending  int64 // records read and not finished
	Finished int64 // records finished since the process started; only ever rises
	Read     int64 // records read since then
}

// State is what a consumer is doing.
type State string

// The states.
const (
	Starting State = "starting" // it has not read the leases yet
	Idle     State = "idle"     // nothing is pending: all that the stream has is read and written
	Working  State = "working"  // what is pending is being finished
	Stuck    State = "stuck"    // something is pending, and nothing of it is finished
	Isolated State = "isolated" // it cannot show that it lives: it reads and writes nothing
	Draining State = "draining" // it stops
	Dead     State = "dead"     // its loop does not run
)

// Verdict is what is answered.
type Verdict struct {
	Live    bool     `json:"live"`
	Ready   bool     `json:"ready"`
	State   State    `json:"state"`
	Reasons []string `json:"reasons"` // why it is not live or not ready, and what else is wrong
	Since   float64  `json:"seconds_since_progress"`

	Shards  int   `json:"shards"`
	Behind  int   `json:"shards_behind"`
	Stopped int   `json:"shards_stopped"`
	Pending int64 `json:"pending"`
	Read    int64 `json:"read"`
}

// Judge watches a consumer. It is safe for concurrent use, and starts nothing.
type Judge struct {
	o Options

	mu       sync.Mutex
	began    bool
	facts    Facts
	answered time.Time // the facts are of then
	contact  time.Time // when there last was contact
	progress time.Time // when something was last finished, or nothing was pending
	reading  time.Time // when no shard's calls failed
}

// NewJudge makes a Judge.
func NewJudge(o Options) (*Judge, error) {
	if o.Lease <= 0 {
		return nil, errors.New("health: Options.Lease is not above 0")
	}
	o.Patience = cmp.Or(o.Patience, 2*time.Minute)
	o.Isolated = cmp.Or(o.Isolated, max(5*time.Minute, 10*o.Lease))
	o.Every = cmp.Or(o.Every, time.Second)
	return &Judge{o: o}, nil
}

// Observe takes in what the consumer says of itself at now. It is to be called every
// few seconds; what says nothing is not observed.
func (j *Judge) Observe(now time.Time, f Facts) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.began {
		j.began, j.contact, j.progress, j.reading = true, now, now, now
	}
	if f.Contact {
		j.contact = now
	}
	if f.Pending == 0 || f.Finished != j.facts.Finished {
		j.progress = now
	}
	if f.Failing == 0 || f.Read != j.facts.Read {
		j.reading = now
	}
	j.facts, j.answered = f, now
}

// Verdict judges what was observed, at now.
func (j *Judge) Verdict(now time.Time) Verdict {
	j.mu.Lock()
	defer j.mu.Unlock()
	f := j.facts
	v := Verdict{
		Live: true, Ready: true, State: Idle, Reasons: []string{}, Since: max(now.Sub(j.progress), 0).Seconds(),
		Shards: f.Shards, Behind: f.Behind, Stopped: f.Stopped, Pending: f.Pending, Read: f.Read,
	}
	if !j.began {
		v.Since = 0
	}
	if f.Pending > 0 || f.Behind > f.Stopped {
		v.State = Working
	}
	silent, apart, still, deaf := now.Sub(j.answered), now.Sub(j.contact), now.Sub(j.progress), now.Sub(j.reading)
	switch {
	case !j.began || !f.Seen && silent <= 2*j.o.Lease && apart <= j.o.Isolated:
		v.unready(Starting, "it has not read the leases yet")
	case silent > 2*j.o.Lease:
		v.unready(Dead, "its loop has not run for %s", round(silent))
		v.Live = false
	case apart > j.o.Isolated:
		v.unready(Isolated, "it could not show that it lives for %s: the lease and state tables do not answer", round(apart))
		v.Live = false
	case f.Leaving:
		v.unready(Draining, "it stops: what was read is written, then its shards are let go")
	case !f.Contact:
		v.unready(Isolated, "it cannot show that it lives: it reads and writes nothing until the lease and state tables answer")
	case f.Pending > 0 && still > j.o.Patience:
		v.unready(Stuck, "%d records are pending, and none was finished for %s: look at what the sinks answer", f.Pending, round(still))
	case f.Failing > 0 && deaf > j.o.Patience:
		v.unready(Stuck, "the stream does not answer for %d of %d shards, and nothing was read for %s", f.Failing, f.Shards, round(deaf))
	}
	if f.Stopped > 0 {
		v.Reasons = append(v.Reasons, fmt.Sprintf("%d shards are read no further: `tablewake status` says why", f.Stopped))
	}
	return v
}

func (v *Verdict) unready(s State, format string, args ...any) {
	v.Ready, v.State = false, s
	v.Reasons = append(v.Reasons, fmt.Sprintf(format, args...))
}

func round(d time.Duration) time.Duration { return d.Round(time.Second) }
