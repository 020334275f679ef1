package coordinator

import (
	"log/slog"
	"time"
)

// Coordinator decides what one consumer does. It is not safe for concurrent use.
type Coordinator struct {
	options  Options
	now      time.Duration // time of the last Step; never 0, because in many fields 0 means "never"
	actions  []Action
	timers   timers
	calls    map[Call]func(Event) // handlers of the results of the calls in flight
	lastCall Call
	logged   map[string]bool // topics that logOnce has logged

	stop       stop
	heartbeats heartbeats
	table      tableView
	refresh    refresh

	writes          leaseWrites
	loadRequestedAt time.Duration           // when a lease was last requested to even out the loads
	unbegunShards   map[string]unbegunShard // shards that are not begun, with the reasons

	// Assignments.
	assignments   map[string]*assignment // by partition
	openCount     int                    // assignments opened so far
	callQueue     []*assignment          // assignments that wait for a call
	streamCalls   int                    // calls of assignments in flight
	reservedBytes int64                  // expected bytes of the pages of calls in flight
	untakenBytes  int64                  // bytes of the pages that were read and that the pipeline has not taken
	pausedBytes   int64                  // part of untakenBytes that belongs to paused assignments
	budget        callBudget
	lastRecordAt  time.Duration // when a record was last delivered
	tableOutage   tableOutage   // the lease table cannot be read or written
	readOutage    readOutage    // shards cannot be read

	// The streams.
	sources []*source
	listers map[string]*streamLister // by stream
	quota   describeQuota
	syncs   syncs

	// The check for the end of the streams, if Options.Idle is set.
	endCheck     *endCheck     // nil while no check runs
	nextEndCheck time.Duration // when the next endCheck may begin
	unreadReason string        // why the streams are not read to their ends; "" if no reason is known
}

// New checks the options and returns a coordinator. It does nothing before its first Step.
func New(o Options) (*Coordinator, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	c := &Coordinator{
		options: o,
		now:     1,
		calls:   make(map[Call]func(Event)),
		table: tableView{
			rows:         rows{owner: o.ID, byShard: make(map[string]*row), children: make(map[string][]*row)},
			begunStreams: make(map[string]bool), consumers: make(map[string]*knownConsumer), departed: make(map[string]bool),
		},
		unbegunShards: make(map[string]unbegunShard),
		writes:        leaseWrites{creating: make(map[string]bool)},
		assignments:   make(map[string]*assignment),
		listers:       make(map[string]*streamLister),
		logged:        make(map[string]bool),
	}
	c.quota.seenCount = -1
	for _, s := range o.Sources {
		c.sources = append(c.sources, newSource(s))
	}
	c.after(0, c.sendHeartbeat)
	return c, nil
}

// Step handles an event that happened at the time now, and returns the actions that follow. now is the time since New,
// by a monotonic clock. The slice is valid until the next Step.
func (c *Coordinator) Step(now time.Duration, e Event) []Action {
	c.now = max(c.now, now)
	clear(c.actions)
	c.actions = c.actions[:0]
	// After a long suspension of the process, the assignments must be revoked before anything else is done.
	c.checkHeartbeat()
	e.handle(c)
	c.runTimers()
	c.dispatch()
	c.reserveDescribe()
	c.checkStopped()
	return c.actions
}

// Wake returns the time at which the next Tick must be sent.
func (c *Coordinator) Wake() time.Duration {
	if len(c.timers.pending) == 0 {
		return c.now + c.options.Lease
	}
	return c.timers.pending[0].dueAt
}

func (c *Coordinator) emit(a Action) { c.actions = append(c.actions, a) }

func (c *Coordinator) log(level slog.Level, message string, attrs ...slog.Attr) {
	c.emit(Log{level, message, attrs})
}

// logOnce logs a line only if its topic is not in logged.
func (c *Coordinator) logOnce(topic string, level slog.Level, message string, attrs ...slog.Attr) {
	if !c.logged[topic] {
		c.logged[topic] = true
		c.log(level, message, attrs...)
	}
}
