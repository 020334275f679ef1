package simulation

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// Plan is a world before it runs. It holds all that [Run] needs.
type Plan struct {
	Seed   uint64
	Mix    Mix
	Shape  Shape
	Events []Event // by At
}

// Shape is the part of a plan that is fixed before the run.
type Shape struct {
	Workers int // slots for processes, each started once, at the beginning
	Tables  int // source tables, each with a stream
	Shards  int // open shards of each stream at the start
	Keys    int // items of each table
	Latency time.Duration

	OnGap     coordinator.Policy
	Start     Start
	Retention time.Duration // how long the stream keeps a record
	Iterators time.Duration // lifetime of an iterator

	Lease, ReadEvery, SyncEvery, MaxIdle, Linger time.Duration

	Page         int   // maximum number of records of a page of the stream
	Empty        int   // number of empty pages before each page with records
	Prefetch     int64 // bytes of pages that a worker may have read ahead
	Children     streamtest.ChildFilter
	EmptyEnd     bool          // the last page of a shard is empty
	StrictTrim   bool          // a position at a trimmed record is refused
	RefuseBelow  bool          // a position below a shard's first record is refused as trimmed
	NoTimestamps bool          // the server does not know AT_TIMESTAMP
	NewestFirst  bool          // shards are listed children first
	ListLag      time.Duration // time before a new shard is listed
	OpenLag      time.Duration // time for which a closed shard is still listed as open
	Undecodable  float64       // share of records whose shape is wrong
	BeforeStart  int           // records written before the first worker starts
	FirstStart   time.Duration // when the workers start; it may be later than the time from which they must read
	SplitsBefore int           // splits before the first worker starts
	End          time.Duration // when faults and writes end
	Idlers       int           // number of slots whose workers report when everything is read
	Idle         time.Duration // for these workers: coordinator.Options.Idle
	Rolling      bool          // at the end of the run, the workers stop one after the other
}

// Start says where the fleet begins to read.
type Start uint8

// The starts.
const (
	FromOldest Start = iota
	FromLatest
	FromTime // startTime
)

// String returns the plan for people.
func (p Plan) String() string {
	text := fmt.Sprintf("%+v", p.Shape)
	for _, e := range p.Events {
		text += fmt.Sprintf("\n%s %v who %d n %d for %v", clock(e.At), e.Kind, e.Who, e.N, e.For)
		if e.Kind == Faults {
			text += fmt.Sprintf(": %v, %.0f%%", e.What, 100*e.Rate)
		}
	}
	return text
}

// Event is something that happens to a world.
type Event struct {
	At   time.Duration
	Kind Kind
	Who  int           // index of a slot, a table or a sink
	Pick uint32        // random number that chooses a shard
	N    int           // number of writes or records
	For  time.Duration // how long
	What Trouble       // of Faults
	Rate float64       // of Faults: share of the calls that it affects
}

// Kind says what happens.
type Kind uint8

// The kinds of events.
const (
	Writes   Kind = iota // N changes of table Who, over For
	Split                // an open shard of table Who gets two children
	Roll                 // an open shard of table Who gets one child
	RollAll              // each open shard of table Who gets one child
	Disable              // the stream of table Who is disabled; after For the table gets a new stream
	TrimSome             // a shard that is old or was read loses its N oldest records, also unread ones
	DropOld              // the oldest closed shard of table Who leaves the listing, also if it is unread
	Crash                // worker Who crashes; another process takes its slot after For
	CrashAll             // all workers crash; other processes take their slots after For
	Pause                // worker Who is paused for For, and does not notice
	Term                 // worker Who is stopped; For after it has ended, another process takes its slot
	Join                 // one more process starts
	Retire               // worker Who is stopped permanently
	Deploy               // each worker is replaced, one after the other
	Faults               // a share Rate of calls fails, for For
	kinds
)

var kindNames = [kinds]string{"writes", "split", "roll", "roll all", "disable", "trim", "drop", "crash", "crash all", "pause", "term", "join", "retire", "deploy", "faults"}

// String names the kind.
func (k Kind) String() string { return kindNames[k] }

// Trouble says what goes wrong, and where.
type Trouble uint8

// The troubles.
const (
	StreamThrottled Trouble = iota
	StreamFails             // 5xx
	StreamLost              // a request is lost, and there is no answer
	StreamCut               // an answer breaks off, is empty or has garbage after it
	StreamExpired           // an iterator is refused before its time
	StreamDenied            // credentials are refused
	StreamSlow
	TableThrottled
	TableLost   // a call is carried out or not, and there is no answer
	TableLate   // a call is carried out after its caller stopped waiting
	TableDenied // access is denied
	TableSlow
	SinkFails // of sink Who
	SinkLost  // a write happened or not
	SinkLate  // a write arrives after its caller stopped waiting
	SinkSlow
	troubles
)

// Mix is a profile of how often each event happens.
type Mix string

// The profiles.
const (
	Default Mix = "default"
	Harsh   Mix = "harsh"
	Reshard Mix = "reshard"
	Deploys Mix = "deploy"
	Trims   Mix = "trim"
)

// Mixes are all profiles.
var Mixes = []Mix{Default, Harsh, Reshard, Deploys, Trims}

// weights has, for each mix, the weights of the kinds of events in the order of the kinds.
var weights = map[Mix][kinds]int{
	//       writes split roll all disable trim drop crash all pause term join retire deploy faults
	Default: {12, 4, 3, 1, 1, 0, 0, 4, 1, 4, 3, 1, 1, 1, 14},
	Harsh:   {10, 4, 3, 1, 1, 1, 1, 7, 1, 8, 3, 1, 1, 1, 30},
	Reshard: {12, 14, 10, 3, 2, 0, 0, 3, 1, 2, 2, 1, 1, 0, 6},
	Deploys: {14, 3, 2, 1, 0, 0, 0, 1, 0, 1, 6, 2, 2, 6, 3},
	Trims:   {14, 3, 3, 1, 1, 8, 3, 3, 3, 3, 1, 0, 0, 0, 6},
}

// NewPlan makes the plan of a seed.
func NewPlan(seed uint64, mix Mix) Plan {
	r := rand.New(rand.NewPCG(seed, uint64(len(mix))<<8+uint64(mix[0])))
	p := Plan{Seed: seed, Mix: mix, Shape: newShape(r, mix)}
	w, ok := weights[mix]
	if !ok {
		panic(fmt.Sprintf("simulation: there is no mix %q", mix))
	}
	total := 0
	for _, n := range w {
		total += n
	}
	count := 6 + r.IntN(24)
	for range count {
		n := r.IntN(total)
		kind := Kind(0)
		for n >= w[kind] {
			n -= w[kind]
			kind++
		}
		p.Events = append(p.Events, newEvent(r, kind, p.Shape, mix))
	}
	slices.SortStableFunc(p.Events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	p.Shape.RefuseBelow = r.IntN(3) == 0
	p.Shape.Idlers = choose(r, 0, 1, 6)
	p.Shape.Idle = choose(r, 500*time.Millisecond, 2*time.Second, 10*time.Second)
	p.Shape.NoTimestamps = r.IntN(3) == 0
	if late := choose(r, 0, 30*time.Second, 30*time.Second+p.Shape.Retention, 30*time.Second+p.Shape.Retention); p.Shape.Start == FromTime && late < p.Shape.End {
		p.Shape.FirstStart = late
	}
	return p
}

func newShape(r *rand.Rand, mix Mix) Shape {
	s := Shape{
		Workers:      1 + r.IntN(4),
		Tables:       1 + r.IntN(10)/8,
		Shards:       1 + r.IntN(4),
		Keys:         4 + r.IntN(30),
		Latency:      choose(r, 2*time.Millisecond, 10*time.Millisecond, 60*time.Millisecond),
		OnGap:        choose(r, coordinator.Stop, coordinator.Continue, coordinator.Continue),
		Start:        choose(r, FromOldest, FromOldest, FromOldest, FromLatest, FromTime),
		Retention:    24 * time.Hour,
		Iterators:    choose(r, 15*time.Minute, 15*time.Minute, time.Minute, 20*time.Second),
		Lease:        choose(r, 6*time.Second, 6*time.Second, 3*time.Second, 20*time.Second),
		ReadEvery:    choose(r, 500*time.Millisecond, time.Second, 2*time.Second),
		SyncEvery:    choose(r, 20*time.Second, time.Minute, 5*time.Minute),
		MaxIdle:      choose(r, time.Second, 5*time.Second, 5*time.Second),
		Linger:       choose(r, 0, time.Second, 20*time.Second),
		Page:         choose(r, 1, 3, 10, 1000),
		Empty:        choose(r, 0, 0, 1, 3),
		Children:     choose(r, streamtest.FilterHonoured, streamtest.FilterHonoured, streamtest.FilterIgnored, streamtest.FilterEmpty, streamtest.FilterRefused),
		Prefetch:     choose[int64](r, 1<<20, 1<<20, 4<<10),
		EmptyEnd:     r.IntN(2) == 0,
		StrictTrim:   r.IntN(3) == 0,
		NewestFirst:  r.IntN(3) == 0,
		ListLag:      choose(r, 0, 0, 2*time.Second, 10*time.Second),
		OpenLag:      choose(r, 0, 0, 5*time.Second, time.Minute),
		Undecodable:  choose(r, 0, 0, 0.1),
		BeforeStart:  choose(r, 0, 10, 60),
		SplitsBefore: choose(r, 0, 0, 2, 5),
		End:          choose(r, time.Minute, 2*time.Minute, 4*time.Minute),
		Rolling:      r.IntN(2) == 0,
	}
	if mix == Trims || mix == Harsh && r.IntN(2) == 0 {
		s.Retention = choose(r, 30*time.Second, time.Minute, 2*time.Minute)
		s.Iterators = min(s.Iterators, s.Retention)
		s.ListLag = min(s.ListLag, s.Retention/6) // otherwise records could be gone before their shard is listed
	}
	if mix == Deploys {
		s.Workers = max(s.Workers, 2)
	}
	return s
}

func newEvent(r *rand.Rand, kind Kind, s Shape, mix Mix) Event {
	e := Event{
		At:   time.Duration(r.Int64N(int64(s.End))),
		Kind: kind,
		Pick: r.Uint32(),
	}
	switch kind {
	case Writes:
		e.Who, e.N, e.For = r.IntN(s.Tables), 1+r.IntN(40), choose(r, 0, 5*time.Second, 30*time.Second)
	case Split, Roll, RollAll, DropOld:
		e.Who = r.IntN(s.Tables)
	case TrimSome:
		e.Who, e.N = r.IntN(s.Tables), 1+r.IntN(20)
	case Disable:
		e.Who, e.For = r.IntN(s.Tables), choose(r, time.Second, 20*time.Second, time.Minute)
	case Crash, Pause, Term, Retire, Join:
		e.Who, e.For = r.IntN(s.Workers), choose(r, 0, time.Second, s.Lease/2, s.Lease, s.Lease+s.Lease/4, 2*s.Lease, 5*s.Lease)
	case CrashAll:
		e.For = choose(r, time.Second, s.Lease, 30*time.Second, min(s.Retention, time.Hour), s.Retention+s.Retention/4)
	case Deploy:
		e.For = choose(r, time.Second, 5*time.Second, s.Lease)
	case Faults:
		e.What = Trouble(r.IntN(int(troubles)))
		e.Who = r.IntN(sinks)
		e.Rate = choose(r, 0.05, 0.3, 1)
		e.For = choose(r, time.Second, s.Lease, 15*time.Second)
		if mix == Harsh {
			e.Rate = choose(r, 0.1, 0.3, 0.6, 1)
			e.For = choose(r, 2*time.Second, s.Lease, 2*s.Lease, 20*time.Second, time.Minute)
		}
	}
	return e
}

func choose[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }
