package simulation

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// began is the time of the wall clock at which a world begins.
var began = time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC)

// forever is longer than any world lasts.
const forever = 1000 * time.Hour

// stepsAtOnce is the maximum number of steps of a process within 10 ms.
const stepsAtOnce = 1_000

// world is a running world. It has one thread, and iterates over a map only if the order does not matter.
type world struct {
	plan Plan
	make Maker
	now  time.Duration
	todo queue
	rand *rand.Rand
	over bool

	server *streamtest.Server
	tables []*table
	shards []*shard // of all streams, oldest first
	byID   map[string]*shard
	bySeq  map[string]*streamRecord

	rows    *leases.Memory
	sinks   []*sinkStore
	slots   []*slot
	procs   []*process
	windows []*window
	listed  []time.Duration // when the recent DescribeStream calls were sent

	calm    bool // faults and writes have ended
	breach  *Breach
	story   *story
	tally   Tally
	started bool // the first worker has started
}

// Machine is the step machine of a process: a coordinator.Coordinator, or one with a deliberate fault.
type Machine interface {
	Step(now time.Duration, e coordinator.Event) []coordinator.Action
	Wake() time.Duration
	Status() coordinator.Status
}

// Maker makes the machine of a process.
type Maker func(o coordinator.Options) (Machine, error)

// Worker makes the real machine.
func Worker(o coordinator.Options) (Machine, error) { return coordinator.New(o) }

// Breach is the first rule that a run broke.
type Breach struct {
	At   time.Duration
	Rule string // its name, the same in every run
	What string
}

// Error returns the rule and what happened.
func (b *Breach) Error() string {
	return fmt.Sprintf("%s: %s: %s", clock(b.At), b.Rule, b.What)
}

// Result is the result of a run.
type Result struct {
	Breach  *Breach // nil: all went well
	Story   string  // empty unless it was requested
	Tally   Tally
	Virtual time.Duration // the duration of the run in the world's time
}

// Run plays a plan. If tell is set, the result includes the story.
func Run(p Plan, make Maker, tell bool) Result {
	w := newWorld(p, make)
	w.story.on = tell
	w.play()
	return Result{Breach: w.breach, Story: w.story.String(), Tally: w.tally, Virtual: w.now}
}

func newWorld(p Plan, make Maker) *world {
	w := &world{
		plan:  p,
		make:  make,
		rand:  rand.New(rand.NewPCG(p.Seed, 0x77a4e)),
		byID:  map[string]*shard{},
		bySeq: map[string]*streamRecord{},
		rows:  leases.NewMemory(leases.Snapshot{}),
		story: &story{},
	}
	w.server = streamtest.New(streamtest.Options{
		PageRecords:  p.Shape.Page,
		PageShards:   7,
		EmptyPages:   p.Shape.Empty,
		EmptyEnd:     p.Shape.EmptyEnd,
		StrictTrim:   p.Shape.StrictTrim,
		RefuseBelow:  p.Shape.RefuseBelow,
		NoTimestamps: p.Shape.NoTimestamps,
		IteratorLife: p.Shape.Iterators,
		Retention:    forever, // the world trims by itself, because it must know which records were lost
		ListDelay:    p.Shape.ListLag,
		CloseDelay:   p.Shape.OpenLag,
		NewestFirst:  p.Shape.NewestFirst,
		ChildFilter:  p.Shape.Children,
		Now:          w.wall,
	})
	for i := range sinks {
		w.sinks = append(w.sinks, &sinkStore{n: i, guarded: i < plain, held: map[string]*streamRecord{}})
	}
	return w
}

// wall returns the time on the stream's clock. Workers never see this clock.
func (w *world) wall() time.Time { return began.Add(w.now) }

// at schedules do at a time, after everything that is already scheduled for this time.
func (w *world) at(t time.Duration, do func()) { w.todo.push(max(t, w.now), do) }

// after schedules do after a duration.
func (w *world) after(d time.Duration, do func()) { w.at(w.now+d, do) }

// broken notes the first broken rule and ends the run.
func (w *world) broken(rule, format string, args ...any) {
	if w.breach == nil {
		w.breach = &Breach{w.now, rule, fmt.Sprintf(format, args...)}
		w.tell("BREACH", "%s: %s", rule, w.breach.What)
	}
	w.over = true
}

// play runs the world from its beginning to its end.
func (w *world) play() {
	w.begin()
	for _, e := range w.plan.Events {
		w.at(e.At, func() { w.happen(e) })
	}
	w.at(w.plan.Shape.End, w.settle)
	last := w.plan.Shape.End + 2*w.bound()
	for !w.over {
		h := w.todo.pop() // the queue is never empty, because the stream ages
		if w.now = h.at; w.now > last {
			w.broken("it ends", "the run has not come to its end")
			return
		}
		h.do()
	}
}

// begin makes the tables, writes the records from before the fleet's start, and schedules the start of the fleet.
func (w *world) begin() {
	s := w.plan.Shape
	for i := range s.Tables {
		w.addTable(fmt.Sprintf("table%d", i), s.Shards)
	}
	for i := range s.SplitsBefore {
		w.split(w.tables[i%len(w.tables)], w.rand.Uint32(), 2)
	}
	for i := range s.BeforeStart {
		w.write(w.tables[i%len(w.tables)])
	}
	w.after(s.Retention/5, w.age)
	// The slots start within a second. Events of the plan may happen earlier.
	for range s.Workers {
		sl := w.addSlot()
		w.after(s.FirstStart+w.between(0, time.Second), sl.start)
	}
}

// between returns a random time from lo (included) to hi (excluded).
func (w *world) between(lo, hi time.Duration) time.Duration {
	if hi <= lo {
		return lo
	}
	return lo + time.Duration(w.rand.Int64N(int64(hi-lo)))
}

// chance returns true with probability p.
func (w *world) chance(p float64) bool { return w.rand.Float64() < p }
