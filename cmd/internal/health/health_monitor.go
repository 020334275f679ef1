package health

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
)

// Options are the timeouts of a [Monitor].
type Options struct {
	// Patience is the time without a finished record after which a consumer with pending records is stuck. It must be
	// longer than sinks wait to fill a batch. Default: 2m
	Patience time.Duration
	Silence  time.Duration // time without an answer after which a consumer is dead. Default: 30s
	Every    time.Duration // interval of the [Server]'s calls of [Source], and their timeout. Default: 1s
	Status   string        // the command that shows why shards are stopped. Default: tablewake status
}

// Facts is a consumer's report about itself.
type Facts struct {
	Live    bool     // its loop runs
	Ready   bool     // its heartbeats succeed, and it reads its shards
	Reasons []string // reasons why it is not live or not ready

	HeartbeatsSucceed bool   // its heartbeats succeed
	HasReadLeases     bool   // it has read the leases
	Leaving           bool   // it drains before a stop
	Shards            int    // shards that it reads
	Stopped           int    // number of Shards that are stopped, for example at a gap
	Unbegun           int    // shards that it does not begin because of a gap before them
	Behind            int    // number of Shards that may have unread records
	Pending           int64  // records read and not finished
	Slowest           string // the sink with the most pending records
	Finished          int64  // records finished since the process started; it never decreases
	Read              int64  // records read since the process started
}

// State is the state of a consumer.
type State string

// The states.
const (
	Starting State = "starting" // it has not read the leases yet
	Idle     State = "idle"     // no record is pending or unread
	Working  State = "working"  // pending records are being finished
	Stuck    State = "stuck"    // records are pending and none is finished, or shards cannot be read
	Isolated State = "isolated" // its heartbeats fail: it reads and writes nothing
	Draining State = "draining" // it is stopping
	Dead     State = "dead"     // its loop does not run, or it does not answer
)

// Verdict is the answer to a health request.
type Verdict struct {
	Live    bool     `json:"live"`
	Ready   bool     `json:"ready"`
	State   State    `json:"state"`
	Reasons []string `json:"reasons"` // reasons why it is not live or not ready, and other problems
	Since   float64  `json:"seconds_since_progress"`

	Shards  int   `json:"shards"`
	Behind  int   `json:"shards_behind"`
	Stopped int   `json:"shards_stopped"`
	Pending int64 `json:"pending"`
	Read    int64 `json:"read"`
}

// Monitor derives a [Verdict] from the facts of a consumer over time. It is safe for concurrent use and starts no
// goroutine.
type Monitor struct {
	o Options

	mu       sync.Mutex
	began    bool
	facts    Facts
	answered time.Time // when the consumer last reported facts
	progress time.Time // when a record was last finished, or no record was pending
}

// NewMonitor returns a Monitor.
func NewMonitor(o Options) *Monitor {
	o.Patience = cmp.Or(o.Patience, 2*time.Minute)
	o.Silence = cmp.Or(o.Silence, 30*time.Second)
	o.Every = cmp.Or(o.Every, time.Second)
	o.Status = cmp.Or(o.Status, "tablewake status")
	return &Monitor{o: o}
}

// Observe stores the facts that the consumer reported at now. Call it every few seconds, but only if the consumer has
// answered. A consumer that does not answer for Silence is dead.
func (m *Monitor) Observe(now time.Time, f Facts) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.began {
		m.began, m.progress = true, now
	}
	hasProgress := f.Pending == 0 || f.Finished != m.facts.Finished
	if hasProgress {
		m.progress = now
	}
	m.facts, m.answered = f, now
}

// Verdict returns the verdict at now.
func (m *Monitor) Verdict(now time.Time) Verdict {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.facts
	state, reasons := m.stateAt(now)
	v := Verdict{
		State: state, Ready: state == Idle || state == Working, Reasons: append([]string{}, reasons...),
		Live:   state != Dead, // a restart does not help an isolated consumer: it continues once the lease table answers
		Shards: f.Shards, Behind: f.Behind, Stopped: f.Stopped + f.Unbegun, Pending: f.Pending, Read: f.Read,
	}
	if m.began {
		v.Since = max(now.Sub(m.progress), 0).Seconds()
	}
	if v.Stopped > 0 {
		v.Reasons = append(v.Reasons, fmt.Sprintf("%s read no further: `%s` says why",
			cli.CountWithVerb(v.Stopped, "shard", "is", "are"), m.o.Status))
	}
	return v
}

// stateAt returns the state at now, and the reasons why the consumer is not ready. The caller holds the lock.
func (m *Monitor) stateAt(now time.Time) (state State, reasons []string) {
	f := m.facts
	sinceAnswer, sinceProgress := now.Sub(m.answered), now.Sub(m.progress)
	switch {
	case !m.began:
		return Starting, []string{"nothing is read yet"}
	case !f.Live:
		return Dead, f.Reasons
	case sinceAnswer > m.o.Silence:
		return Dead, []string{fmt.Sprintf("it does not answer for %s", toSeconds(sinceAnswer))}
	case f.Leaving:
		return Draining, []string{"it stops: what was read is written, then its shards are released"}
	case !f.HasReadLeases:
		return Starting, f.Reasons
	case !f.HeartbeatsSucceed:
		return Isolated, f.Reasons
	case f.Pending > 0 && sinceProgress > m.o.Patience:
		return Stuck, []string{fmt.Sprintf("%s pending, and none was finished for %s: look at what %s",
			cli.CountWithVerb(f.Pending, "record", "is", "are"), toSeconds(sinceProgress),
			cli.Choose(f.Slowest == "", "the sinks answer", "the sink "+f.Slowest+" answers"))}
	case !f.Ready:
		return Stuck, f.Reasons
	case f.Pending > 0 || f.Behind > f.Stopped:
		return Working, nil
	}
	return Idle, nil
}

func toSeconds(d time.Duration) time.Duration { return d.Round(time.Second) }
