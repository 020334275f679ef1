package consume

import (
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/fleet"
	"github.com/tablewake/tablewake/cmd/internal/page"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/coordinator"
)

// pageStatus returns the content of the page and of /status. Before the consumer runs, the content is only the verdict.
func (s *startup) pageStatus() (out page.Status) {
	c, _ := s.current()
	if s.monitor != nil {
		out.Verdict = new(s.monitor.Verdict(time.Now()))
	}
	if c != nil {
		out.Consumer = c.statusWithin(statusTimeout)
		out.Fleet, out.FleetError = c.reports.Latest()
	}
	return out
}

const (
	statusTimeout     = time.Second // a consumer that does not return its status within this time hangs
	maxStatusRequests = 4           // maximum number of waiting calls of statusWithin
)

// statusWithin returns the status of this process, or nil if the consumer hangs. Without the status, the page and
// /status still have the verdict, which reports the hang.
func (c *consumerRun) statusWithin(timeout time.Duration) *fleet.Process {
	select {
	case c.statusRequests <- struct{}{}:
	default:
		return nil // earlier calls still wait
	}
	got := make(chan *fleet.Process, 1)
	go func() { // the goroutine ends once the consumer answers
		defer func() { <-c.statusRequests }()
		got <- c.status(c.consumer.Status(), c.pipeline.Ledger(), c.pipeline.HeldBack())
	}()
	select {
	case p := <-got:
		return p
	case <-time.After(timeout):
		return nil
	}
}

// status returns the status of this process. st is the status of the coordinator, ledger has the counts of the
// pipeline, and held has its partitions that are held back.
func (c *consumerRun) status(st coordinator.Status, ledger pipeline.Ledger, held []pipeline.HeldBack) *fleet.Process {
	p := newProcess(st, held)
	p.Ledger = ledger
	if st.TableRead { // before TableRead the consumer has read nothing, and its lag is unknown
		p.Lag = new(c.consumer.Lag(st).Seconds())
	}
	rates, measured := c.rates.latest()
	p.LastLetter = cli.OptionalTime(rates.lastLetter)
	if measured {
		p.ReadRate = &rates.read
	}
	for _, s := range c.pipeline.Sinks() {
		sink := fleet.ProcessSink{Sink: s.Name, Pending: s.Pending, Oldest: cli.OptionalTime(s.Oldest),
			Failing: cli.OptionalTime(s.Failing), Blocked: s.Blocked}
		if !s.Failing.IsZero() || s.Blocked > 0 {
			sink.Error = s.Error
		}
		if rate, known := rates.written[s.Name]; measured && known {
			sink.Rate = &rate
		}
		p.Sinks = append(p.Sinks, sink)
	}
	return p
}

// newProcess returns a status that has only the fields about the consumer and its shards.
func newProcess(st coordinator.Status, held []pipeline.HeldBack) *fleet.Process {
	process := &fleet.Process{
		Worker: st.Member.ID, Name: st.Member.Name, Lists: st.IsLeader, Consumers: st.LiveConsumers,
		CallsAMonth: st.Member.CallsPerMonth,
		Shards:      []fleet.ProcessShard{}, HeldBack: heldBackShards(held, st), Sinks: []fleet.ProcessSink{},
	}
	for _, p := range st.Partitions {
		process.Shards = append(process.Shards, fleet.ProcessShard{
			Shard: p.Shard, Stream: p.Stream, Checkpoint: p.Checkpoint, Behind: p.Behind, Pending: p.Pending,
			LastRead: cli.OptionalTime(p.LastDelivered), LastDone: cli.OptionalTime(p.LastAcked), Failures: p.Failures,
			Failing: cli.OptionalTime(p.FailingSince), Error: p.Error, Full: p.Paused, Draining: p.Draining,
			Stopped: p.StopReason,
		})
	}
	return process
}
