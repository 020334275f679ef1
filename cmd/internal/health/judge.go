package health

import (
	"cmp"
	"fmt"
	"sync"
	"time"
)

// Options say how long is too long.
type Options struct {
	Patience time.Duration // without any progress of what is pending; longer than sinks wait for their batches. Default: 2m
	Silence  time.Duration // without an answer of the consumer, until it counts as dead. Default: 30s
	Every    time.Duration // between two looks of a [Server] at the consumer, and how long one may take. Default: 1s
	Status   string        // the command that shows why shards stand still. Default: tablewake status
}

// Facts are what a consumer says of itself.
type Facts struct {
	Live    bool     // its loop runs
	Ready   bool     // it is in touch, and reads what it has
	Reasons []string // why it is not

	Contact  bool   // its beats succeed
	Seen     bool   // it has read the leases
	Leaving  bool   // it drains, to stop
	Stuck    int    // shards that it should read and cannot
	Shards   int    // that it reads
	Stopped  int    // of them, that it reads no further: a gap
	Unbegun  int    // that it does not begin to read, for a gap before them
	Behind   int    // of them, whose newest record it has not read
	Pending  int64  // records read and not finished
	Slowest  string // the sink that has most of them
	Finished int64  // records finished since the process started; only ever rises
	Read     int64  // records read since then
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
	progress time.Time // when something was last finished, or nothing was pending
}

// NewJudge makes a Judge.
func NewJudge(o Options) *Judge {
	o.Patience = cmp.Or(o.Patience, 2*time.Minute)
	o.Silence = cmp.Or(o.Silence, 30*time.Second)
	o.Every = cmp.Or(o.Every, time.Second)
	o.Status = cmp.Or(o.Status, "tablewake status")
	return &Judge{o: o}
}

// Observe takes in what the consumer says of itself at now. It is to be called every
// few seconds; what says nothing is not observed.
func (j *Judge) Observe(now time.Time, f Facts) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.began {
		j.began, j.progress = true, now
	}
	if f.Pending == 0 || f.Finished != j.facts.Finished {
		j.progress = now
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
		Shards: f.Shards, Behind: f.Behind, Stopped: f.Stopped + f.Unbegun, Pending: f.Pending, Read: f.Read,
	}
	if !j.began {
		v.Since = 0
	}
	if f.Pending > 0 || f.Behind > f.Stopped {
		v.State = Working
	}
	silent, still := now.Sub(j.answered), now.Sub(j.progress)
	switch {
	case !j.began:
		v.unready(Starting, "nothing is read yet")
	case !f.Live:
		v.unready(Dead, f.Reasons...)
	case silent > j.o.Silence:
		v.unready(Dead, fmt.Sprintf("it does not answer for %s", round(silent)))
	case f.Leaving:
		v.unready(Draining, "it stops: what was read is written, then its shards are let go")
	case !f.Seen:
		v.unready(Starting, f.Reasons...)
	case !f.Contact:
		v.unready(Isolated, f.Reasons...)
	case f.Pending > 0 && still > j.o.Patience:
		v.unready(Stuck, fmt.Sprintf("%d records are pending, and none was finished for %s: look at what %s", f.Pending, round(still), f.answers()))
	case !f.Ready:
		v.unready(Stuck, f.Reasons...)
	}
	v.Live = v.State != Dead // a restart gives back no table that does not answer: an isolated one goes on by itself
	if v.Stopped > 0 {
		v.Reasons = append(v.Reasons, fmt.Sprintf("%d shards are read no further: `%s` says why", v.Stopped, j.o.Status))
	}
	return v
}

// answers is whose answers hold records up.
func (f Facts) answers() string {
	if f.Slowest == "" {
		return "the sinks answer"
	}
	return "the sink " + f.Slowest + " answers"
}

func (v *Verdict) unready(s State, reasons ...string) {
	v.Ready, v.State = false, s
	v.Reasons = append(v.Reasons, reasons...)
}

func round(d time.Duration) time.Duration { return d.Round(time.Second) }
