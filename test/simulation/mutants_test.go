package simulation

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// mutant is a worker with a deliberate fault. Functions can change the events that it receives and the actions that
// it returns.
type mutant struct {
	Machine
	learns  func(m *mutant, e coordinator.Event) coordinator.Event
	wants   func(m *mutant, now time.Duration, a coordinator.Action) []coordinator.Action
	count   int
	deleted []leases.Lease
}

// Step implements Machine.
func (m *mutant) Step(now time.Duration, e coordinator.Event) []coordinator.Action {
	if m.learns != nil {
		e = m.learns(m, e)
	}
	var out []coordinator.Action
	for _, a := range slices.Clone(m.Machine.Step(now, e)) {
		if m.wants == nil {
			out = append(out, a)
			continue
		}
		out = append(out, m.wants(m, now, a)...)
	}
	return out
}

// within gives the real worker an event in addition to those of the world.
func (m *mutant) within(now time.Duration, e coordinator.Event) []coordinator.Action {
	return slices.Clone(m.Machine.Step(now, e))
}

// ownShards reports that everything is read when the worker's own shards are. An early consume --exit-when-idle did
// this.
type ownShards struct {
	Machine
	idle, since time.Duration
}

// Step implements Machine.
func (o *ownShards) Step(now time.Duration, e coordinator.Event) []coordinator.Action {
	out := slices.Clone(o.Machine.Step(now, e))
	if _, ok := e.(coordinator.ReadTableResult); !ok || o.idle == 0 {
		return out
	}
	st := o.Status()
	idle := st.TableRead && st.HeartbeatFresh && st.StreamsListed && st.OrphanedLeases == 0
	for _, p := range st.Partitions {
		idle = idle && p.Pending == 0 && (!p.Behind || p.StopReason != "")
	}
	enough := o.idle
	if len(st.Partitions) == 0 {
		enough = max(enough, 5*time.Second)
	}
	switch {
	case !idle:
		o.since = now
	case now-o.since >= enough:
		out = append(out, coordinator.AtEnd{ReadUpTo: o.since, Stopped: st.Member.Stopped})
		o.since = now
	}
	return out
}

// restless always asks to be woken at once.
type restless struct{ Machine }

// Wake implements Machine.
func (restless) Wake() time.Duration { return 0 }

// learning makes a worker that receives wrong events.
func learning(f func(m *mutant, e coordinator.Event) coordinator.Event) Maker {
	return func(o coordinator.Options) (Machine, error) {
		w, err := coordinator.New(o)
		return &mutant{Machine: w, learns: f}, err
	}
}

// wanting makes a worker that returns wrong actions.
func wanting(f func(m *mutant, now time.Duration, a coordinator.Action) []coordinator.Action) Maker {
	return func(o coordinator.Options) (Machine, error) {
		w, err := coordinator.New(o)
		return &mutant{Machine: w, wants: f}, err
	}
}

// mutants lists the faults, one for each mutant. The mixes are those in which the fault should show soon.
var mutants = []struct {
	name  string
	mix   Mix
	make  Maker
	rules string // names of the rules that may be broken, if it matters which
}{
	{"acknowledges what it delivers", Default, wanting(func(m *mutant, now time.Duration, a coordinator.Action) []coordinator.Action {
		if d, ok := a.(coordinator.Deliver); ok {
			return append([]coordinator.Action{a}, m.within(now, coordinator.Acked{Partition: d.Page.Partition, Position: d.Page.Position})...)
		}
		return []coordinator.Action{a}
	}), "no acknowledgement before it is durable"},

	{"knows no parents", Reshard, learning(func(_ *mutant, e coordinator.Event) coordinator.Event {
		if d, ok := e.(coordinator.DescribeStreamResult); ok {
			d.Description.Shards = slices.Clone(d.Description.Shards)
			for i := range d.Description.Shards {
				d.Description.Shards[i].Parent = ""
			}
			return d
		}
		return e
	}), "a child comes after its parents, no lease above a descendant's"},

	{"notes no gap", Trims, wanting(func(m *mutant, now time.Duration, a coordinator.Action) []coordinator.Action {
		if g, ok := a.(coordinator.NoteGap); ok {
			return m.within(now, coordinator.WriteResult{Call: g.Call})
		}
		return []coordinator.Action{a}
	}), "no record is left out, a child comes after its parents"},

	{"keeps what it lost", Default, wanting(func(m *mutant, _ time.Duration, a coordinator.Action) []coordinator.Action {
		if _, ok := a.(coordinator.Revoke); ok {
			return nil
		}
		return []coordinator.Action{a}
	}), ""},

	{"never beats", Default, wanting(func(m *mutant, now time.Duration, a coordinator.Action) []coordinator.Action {
		if b, ok := a.(coordinator.WriteHeartbeat); ok {
			return m.within(now, coordinator.WriteResult{Call: b.Call})
		}
		return []coordinator.Action{a}
	}), ""},

	{"makes a lease that was deleted", Reshard, wanting(func(m *mutant, _ time.Duration, a coordinator.Action) []coordinator.Action {
		switch a := a.(type) {
		case coordinator.DeleteLease:
			m.deleted = append(m.deleted, a.Old)
		case coordinator.WriteHeartbeat:
			if n := len(m.deleted); n > 0 {
				l := m.deleted[n-1]
				m.deleted = nil
				l.Checkpoint = leases.Checkpoint{}
				return []coordinator.Action{coordinator.CreateLease{Call: a.Call, Lease: l}}
			}
		}
		return []coordinator.Action{a}
	}), "no lease above a descendant's"},

	{"loses a page", Default, wanting(func(m *mutant, now time.Duration, a coordinator.Action) []coordinator.Action {
		if d, ok := a.(coordinator.Deliver); ok && len(d.Page.Changes) > 0 {
			if m.count++; m.count%5 == 0 {
				out := m.within(now, coordinator.PageTaken{Partition: d.Page.Partition})
				return append(out, m.within(now, coordinator.Acked{Partition: d.Page.Partition, Position: d.Page.Position})...)
			}
		}
		return []coordinator.Action{a}
	}), "no acknowledgement before it is durable, no record is left out"},

	{"delivers a page twice", Default, wanting(func(_ *mutant, _ time.Duration, a coordinator.Action) []coordinator.Action {
		if d, ok := a.(coordinator.Deliver); ok && len(d.Page.Changes) > 0 {
			return []coordinator.Action{a, a}
		}
		return []coordinator.Action{a}
	}), "a partition's records come in order, once"},

	{"takes an error for the end of a shard", Default, learning(func(_ *mutant, e coordinator.Event) coordinator.Event {
		if r, ok := e.(coordinator.GetRecordsResult); ok && r.Err != nil {
			if _, again := pipeline.Retryable(r.Err); again {
				return coordinator.GetRecordsResult{Call: r.Call, Records: record.GetRecordsPage{Page: &record.Page{}, Ended: true}}
			}
		}
		return e
	}), "a shard ends when the stream says so, no acknowledgement before it is durable"},

	{"begins children at the newest record", Reshard, wanting(func(_ *mutant, _ time.Duration, a coordinator.Action) []coordinator.Action {
		if g, ok := a.(coordinator.GetShardIterator); ok && g.At.Type != shardreader.AfterSequence {
			g.At.Type = shardreader.Latest
			return []coordinator.Action{g}
		}
		return []coordinator.Action{a}
	}), "what follows is read from its beginning"},

	{"asks for shards without a right to", Reshard, learning(func(_ *mutant, e coordinator.Event) coordinator.Event {
		if r, ok := e.(coordinator.ReserveCallResult); ok && r.Err == nil {
			r.OK = true
			return r
		}
		return e
	}), ""},

	{"does not stop", Deploys, learning(func(_ *mutant, e coordinator.Event) coordinator.Event {
		if _, ok := e.(coordinator.Shutdown); ok {
			return coordinator.Tick{}
		}
		return e
	}), "a stop takes its time, not more"},

	{"gives nothing away", Deploys, learning(func(_ *mutant, e coordinator.Event) coordinator.Event {
		if s, ok := e.(coordinator.ReadTableResult); ok {
			for i := range s.Snapshot.Leases {
				s.Snapshot.Leases[i].RequestedBy = ""
			}
		}
		return e
	}), "leases are balanced"},

	{"reads on behind a gap", Trims, func(o coordinator.Options) (Machine, error) {
		o.OnGap = coordinator.Continue
		return coordinator.New(o)
	}, "a gap stops its shard"},

	{"keeps a gap to itself", Trims, wanting(func(_ *mutant, _ time.Duration, a coordinator.Action) []coordinator.Action {
		if _, ok := a.(coordinator.Log); ok {
			return nil
		}
		return []coordinator.Action{a}
	}), "a gap is durable, told, and stops its shard"},

	{"does not say that a shard stopped", Trims, wanting(func(_ *mutant, _ time.Duration, a coordinator.Action) []coordinator.Action {
		if b, ok := a.(coordinator.WriteHeartbeat); ok {
			b.Member.Stopped = nil
			return []coordinator.Action{b}
		}
		return []coordinator.Action{a}
	}), "a gap is durable, told, and stops its shard"},

	{"keeps a stop in mind alone", Trims, wanting(func(_ *mutant, _ time.Duration, a coordinator.Action) []coordinator.Action {
		if s, ok := a.(coordinator.SwapLease); ok {
			s.Next.Stopped = ""
			return []coordinator.Action{s}
		}
		return []coordinator.Action{a}
	}), "a stop is in the table"},

	{"forgets what it told", Trims, func(o coordinator.Options) (Machine, error) {
		w, err := coordinator.New(o)
		return &mutant{Machine: w, learns: func(_ *mutant, e coordinator.Event) coordinator.Event {
			if s, ok := e.(coordinator.ReadTableResult); ok {
				for i := range s.Snapshot.Leases {
					s.Snapshot.Leases[i].Stopped = ""
				}
			}
			return e
		}}, err
	}, "a gap is told once"},

	{"looks for no gap", Trims, learning(func(_ *mutant, e coordinator.Event) coordinator.Event {
		switch of := e.(type) {
		case coordinator.GetShardIteratorResult:
			if errors.Is(of.Err, shardreader.ErrTrimmed) {
				return coordinator.GetShardIteratorResult{Call: of.Call, Err: pipeline.Transient(errors.New("not now"))}
			}
		case coordinator.GetRecordsResult:
			if errors.Is(of.Err, shardreader.ErrTrimmed) {
				return coordinator.GetRecordsResult{Call: of.Call, Err: pipeline.Transient(errors.New("not now"))}
			}
		}
		return e
	}), "a gap is durable, told, and stops its shard"},

	{"takes a time for one that the stream keeps", Trims, learning(func(_ *mutant, e coordinator.Event) coordinator.Event {
		if of, ok := e.(coordinator.GetShardIteratorResult); ok && of.Err == nil {
			of.WallTime = began
			return of
		}
		return e
	}), "no record is left out, every record arrives or lies in a gap"},

	{"deletes no lease", Reshard, wanting(func(m *mutant, now time.Duration, a coordinator.Action) []coordinator.Action {
		if d, ok := a.(coordinator.DeleteLease); ok {
			return m.within(now, coordinator.WriteResult{Call: d.Call, Err: pipeline.Transient(errors.New("not now"))})
		}
		return []coordinator.Action{a}
	}), "ended leases go"},

	{"follows no stream", Reshard, learning(func(_ *mutant, e coordinator.Event) coordinator.Event {
		if l, ok := e.(coordinator.ListStreamsResult); ok && len(l.Page.Streams) > 1 {
			l.Page.Streams = l.Page.Streams[:1]
			return l
		}
		return e
	}), "every record arrives or lies in a gap"},

	{"follows a stream without a word", Reshard, wanting(func(m *mutant, now time.Duration, a coordinator.Action) []coordinator.Action {
		if g, ok := a.(coordinator.NoteGap); ok && g.Gap.Shard == "" {
			return m.within(now, coordinator.WriteResult{Call: g.Call})
		}
		return []coordinator.Action{a}
	}), "between two streams there is a gap"},

	{"ends a shard too early", Default, wanting(func(_ *mutant, _ time.Duration, a coordinator.Action) []coordinator.Action {
		if s, ok := a.(coordinator.SwapLease); ok && s.Next.Checkpoint.Kind == leases.Sequence {
			s.Next.Checkpoint = leases.Checkpoint{Kind: leases.ShardEnd}
			return []coordinator.Action{s}
		}
		return []coordinator.Action{a}
	}), ""},

	{"goes back when it lets go", Deploys, wanting(func(_ *mutant, _ time.Duration, a coordinator.Action) []coordinator.Action {
		if s, ok := a.(coordinator.SwapLease); ok && s.Next.Owner != s.Old.Owner {
			s.Next.Checkpoint = leases.Checkpoint{}
			return []coordinator.Action{s}
		}
		return []coordinator.Action{a}
	}), "checkpoints never fall"},

	{"takes its own shards for all", Default, func(o coordinator.Options) (Machine, error) {
		idle := o.Idle
		o.Idle = 0
		w, err := coordinator.New(o)
		return &ownShards{Machine: w, idle: idle}, err
	}, "the end is where all is read"},

	{"believes who is gone", Default, learning(func(_ *mutant, e coordinator.Event) coordinator.Event {
		if s, ok := e.(coordinator.ReadTableResult); ok {
			for i := range s.Snapshot.Members {
				s.Snapshot.Members[i].AtEndHeartbeat = 1 << 40
			}
		}
		return e
	}), "the end is where all is read"},

	{"hides what stopped", Reshard, wanting(func(_ *mutant, _ time.Duration, a coordinator.Action) []coordinator.Action {
		if end, ok := a.(coordinator.AtEnd); ok {
			end.Stopped = nil
			return []coordinator.Action{end}
		}
		return []coordinator.Action{a}
	}), "the end is where all is read"},

	{"does not rest", Default, func(o coordinator.Options) (Machine, error) {
		w, err := coordinator.New(o)
		return restless{w}, err
	}, "time passes"},
}

// A check that cannot fail is a defect, so the checks must catch each mutant.
func TestMutants(t *testing.T) {
	for _, m := range mutants {
		t.Run(strings.ReplaceAll(m.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			for n := range uint64(200) {
				b := Run(NewPlan(n, m.mix), m.make, false).Breach
				if b == nil {
					continue
				}
				if m.rules == "" || strings.Contains(m.rules, b.Rule) {
					t.Logf("caught by seed %d: %v", n, b)
					return
				}
			}
			t.Errorf("a worker that %s is not caught", m.name)
		})
	}
}
