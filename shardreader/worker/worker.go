package worker

import (
	"cmp"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"
)

// Worker is the coordinator of one consumer. It is only state: one goroutine at a time may use it.
type Worker struct {
	o      Options
	now    time.Duration
	acts   []Action
	timers timers
	calls  map[Call]any // what made each call in flight
	last   Call
	told   map[string]bool // topics that tellOnce told

	leaving bool // Shutdown came
	leftAt  time.Duration
	stopped bool

	// The lease table, as it was last read.
	peers         map[string]*peer
	left          map[string]bool // consumers that were seen, and have no row any more
	foreign       bool            // another application works on the table
	rows          rows
	broken        map[string]bool // shards whose rows cannot be read
	begunStreams  map[string]bool // streams whose first leases were made
	sent          time.Duration   // when the last refresh that succeeded was sent
	seenOnce      bool
	firstSeen     time.Duration // when the first refresh succeeded
	refreshing    bool
	refreshFailed bool // the last refresh failed
	refreshAlarm  alarm
	awaited       []awaited

	// Heartbeats.
	beat             int64
	sendingHeartbeat bool
	heartbeatSent    time.Duration // of the last one that succeeded
	heartbeatOnce    bool
	beats            []beatAt      // the last of those that succeeded
	suspended        bool          // heartbeatFresh was false since the last success: every assignment was revoked
	resumed          time.Duration // when it became true again

	// Writes of leases.
	takes    []*row             // to be taken
	taking   int                // that are being taken
	moved    time.Duration      // when a lease was last requested for its load
	writing  int                // writes in flight
	gate     []*leaseWrite      // that wait for these
	creating map[string]bool    // leases that are being made
	madeAt   time.Duration      // when the last of them was made, or not: it may be there all the same
	unbegun  map[string]unbegun // shards that are not begun, as records may be lost before them

	// Assignments.
	assignments   map[string]*assignment // by partition
	opened        int
	ready         []*assignment // queued for a call
	reading       int           // calls in flight
	reserved      int64         // bytes that their pages are expected to have
	untaken       int64         // bytes delivered, or about to be, and not taken
	pausedUntaken int64         // of untaken: those of paused assignments
	budget        budget
	lastRecord    time.Duration // when a record was last delivered
	table         outage        // of the lease table
	reads         outage        // of the stream

	// The streams.
	sources   []*source
	lists     map[string]*streamLister // by stream
	quota     quota
	sync      *leaseSync // nil while none runs
	syncAlarm alarm
	listed    bool // a leaseSync succeeded
	synced    bool // one was begun since this consumer leads
	childless int  // leases that ended without children, at the last refresh

	// The end, if Options.Idle requests it.
	end       *endCheck     // nil while none runs
	endAfter  time.Duration // when the next one may begin
	unreadWhy string        // what is unread; "" if nothing is known to be
}

// New checks the options and makes a worker, which does nothing before its first Step.
func New(o Options) (*Worker, error) {
	switch {
	case o.Worker == "":
		return nil, errors.New("worker: Options.Worker is empty")
	case len(o.Sources) == 0:
		return nil, errors.New("worker: Options.Sources is empty: name a table or a stream")
	case o.Lease < 0 || o.Takeover < 0 || o.Handover < 0 || o.Retention < 0 || o.Checkpoint < 0 || o.ReadEvery < 0 || o.SyncEvery < 0 || o.MaxIdle < 0 || o.Idle < 0:
		return nil, errors.New("worker: Options.Lease, Takeover, Handover, Retention, Checkpoint, ReadEvery, SyncEvery, MaxIdle and Idle must not be negative")
	case o.CallsPerMonth < 0 || o.MaxCalls < 0 || o.Prefetch < 0 || o.DescribeRate < 0:
		return nil, errors.New("worker: Options.CallsPerMonth, MaxCalls, Prefetch and DescribeRate must not be negative")
	}
	o.Name = cmp.Or(o.Name, o.Worker)
	o.Lease = cmp.Or(o.Lease, 6*time.Second)
	o.Takeover = cmp.Or(o.Takeover, 30*time.Second)
	o.Handover = cmp.Or(o.Handover, 30*time.Second)
	o.Retention = cmp.Or(o.Retention, 24*time.Hour)
	o.Checkpoint = cmp.Or(o.Checkpoint, time.Second)
	o.ReadEvery = cmp.Or(o.ReadEvery, 500*time.Millisecond)
	o.SyncEvery = cmp.Or(o.SyncEvery, 5*time.Minute)
	o.MaxIdle = cmp.Or(o.MaxIdle, 5*time.Second)
	o.MaxCalls = cmp.Or(o.MaxCalls, 64)
	o.Prefetch = cmp.Or(o.Prefetch, 64<<20)
	o.DescribeRate = cmp.Or(o.DescribeRate, 8)
	if o.Rand == nil {
		o.Rand = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	}
	w := &Worker{
		o:     o,
		calls: make(map[Call]any),
		peers: make(map[string]*peer),
		left:  make(map[string]bool),

		unbegun:      make(map[string]unbegun),
		begunStreams: make(map[string]bool),
		creating:     make(map[string]bool),
		rows:         rows{owner: o.Worker, byShard: make(map[string]*row), children: make(map[string][]*row)},
		assignments:  make(map[string]*assignment),
		lists:        make(map[string]*streamLister),
		told:         make(map[string]bool),
	}
	w.quota.seen = -1
	for _, s := range o.Sources {
		if (s.Table == "") == (s.Stream == "") {
			return nil, errors.New("worker: each of Options.Sources names either a table or a stream")
		}
		w.sources = append(w.sources, newSource(s))
	}
	w.after(0, w.sendHeartbeat)
	return w, nil
}

// Step takes in an event that happened at now, and returns what follows. now is the time since the worker was
// made, by a clock that never goes back. The slice is valid until the next Step.
func (w *Worker) Step(now time.Duration, e Event) []Action {
	w.now = max(w.now, now)
	clear(w.acts)
	w.acts = w.acts[:0]
	// A process that was suspended for long must stop before it does anything else.
	w.checkHeartbeat()
	e.handle(w)
	w.runTimers()
	w.dispatch()
	w.pumpDescribe()
	w.checkStopped()
	return w.acts
}

// Wake is when the next Tick is due, at the latest.
func (w *Worker) Wake() time.Duration {
	if len(w.timers.due) == 0 {
		return w.now + w.o.Lease
	}
	return w.timers.due[0].at
}

func (w *Worker) do(a Action) { w.acts = append(w.acts, a) }

func (w *Worker) tell(level slog.Level, message string, attrs ...slog.Attr) {
	w.do(Tell{level, message, attrs})
}

// tellOnce logs a line once, until its topic is deleted from told.
func (w *Worker) tellOnce(topic string, level slog.Level, message string, attrs ...slog.Attr) {
	if !w.told[topic] {
		w.told[topic] = true
		w.tell(level, message, attrs...)
	}
}
