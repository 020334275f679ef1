package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/consumer"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/shardreader/leases/leasestest"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// until waits, a minute at most, for something to be true.
func (r *rig) until(what string, ok func() bool) {
	r.t.Helper()
	for range 6000 {
		if ok() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	r.t.Fatalf("after a minute: not %s", what)
}

func (s *store) seenAre(n int) func() bool {
	return func() bool {
		seen, _ := s.count()
		return seen == n
	}
}

// hooked is an API whose GetRecords is the test's.
type hooked struct {
	shardreader.API
	records func(ctx context.Context, q shardreader.RecordsQuery) (record.GetRecordsPage, error)
}

func (h hooked) GetRecords(ctx context.Context, q shardreader.RecordsQuery) (record.GetRecordsPage, error) {
	return h.records(ctx, q)
}

func TestConsumer_PanicsAndHangingCallsAreTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, streamtest.Options{})
		defer r.tell()
		r.server.AddStream("shop")
		r.put("a", 1)
		s := newStore()
		calls := make(chan int, 1)
		calls <- 0
		forever := make(chan struct{})
		k := r.task("a", s, func(o *options) {
			o.CallTimeout = 3 * time.Second
			o.API = hooked{r.server, func(ctx context.Context, q shardreader.RecordsQuery) (record.GetRecordsPage, error) {
				n := <-calls
				calls <- n + 1
				switch n {
				case 0:
					panic("at first")
				case 1:
					<-ctx.Done()
					return record.GetRecordsPage{}, context.Cause(ctx)
				case 2:
					<-forever // deaf to its context
				}
				return r.server.GetRecords(ctx, q)
			}}
		})
		start := time.Now()
		r.until("read", s.seenAre(1))
		if took := time.Since(start); took < 6*time.Second || took > 9*time.Second {
			t.Errorf("a panic and two calls that hang took %v", took)
		}
		close(forever)
		if err := k.end(); err != nil {
			t.Error(err)
		}
		if !strings.Contains(r.story.String(), "panicked") || !strings.Contains(r.story.String(), "fault_test.go") {
			t.Error("the panic and its trace are not in the log")
		}
	})
}

func TestConsumer_EndsWhereNoRetryHelps(t *testing.T) {
	for name, set := range map[string]func(*rig, *options){
		"the credentials are refused": func(r *rig, _ *options) {
			r.server.FailWhen(func(c streamtest.Call) streamtest.Fault {
				return streamtest.Fault{Code: "AccessDeniedException"}
			})
		},
		"the lease table is of something else": func(_ *rig, o *options) {
			t := leasestest.NewTable()
			t.Before = func(context.Context, leasestest.Call) error {
				return pipeline.Fatal(errors.New("the table has another key schema"))
			}
			o.Table = t
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, streamtest.Options{})
				defer r.tell()
				r.server.AddStream("shop")
				k := r.task("a", newStore(), func(o *options) { set(r, o) })
				start := time.Now()
				err := <-k.ran
				if err == nil || time.Since(start) > 5*time.Second {
					t.Errorf("Run returned %v after %v", err, time.Since(start))
				}
				if h := k.c.Health(); h.Ready {
					t.Errorf("%+v", h)
				}
				if err := k.close(time.Minute); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A consumer that cannot continue releases its leases even if a sink is blocked and the pipeline has no memory for
// another page.
func TestConsumer_EndsThoughASinkIsBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, streamtest.Options{})
		defer r.tell()
		r.server.AddStream("shop")
		r.put("a", 1)
		k := r.task("a", pipeline.SinkFunc(func(ctx context.Context, _ []pipeline.Delivery) error {
			<-ctx.Done()
			return ctx.Err()
		}), func(o *options) { o.pipeline.MaxChanges, o.pipeline.StopTimeout = 1, 30*time.Second })
		time.Sleep(5 * time.Second)
		r.server.FailWhen(func(streamtest.Call) streamtest.Fault { return streamtest.Fault{Code: "AccessDeniedException"} })
		start := time.Now()
		if err := <-k.ran; !errors.Is(err, shardreader.ErrDenied) || time.Since(start) > 6*time.Minute {
			t.Errorf("Run returned %v after %v", err, time.Since(start))
		}
		if err := k.close(time.Minute); err != nil {
			t.Error(err)
		}
		for shard, l := range r.leases() {
			if l.Owner != "" {
				t.Errorf("the lease of %s is left with %s", shard, l.Owner)
			}
		}
	})
}

// Credentials expire and are renewed: what worked before is tried again.
func TestConsumer_DeniedLaterIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, streamtest.Options{})
		defer r.tell()
		r.server.AddStream("shop")
		r.put("a", 1)
		s := newStore()
		k := r.task("a", s)
		r.until("read", s.seenAre(1))
		r.server.FailWhen(func(streamtest.Call) streamtest.Fault { return streamtest.Fault{Code: "ExpiredTokenException"} })
		r.put("a", 2)
		time.Sleep(4 * time.Minute)
		if h := k.c.Health(); !h.Live || h.Ready || len(h.Stuck) != 1 {
			t.Errorf("a shard that cannot be read for minutes: %+v", h)
		}
		r.server.FailWhen(nil)
		r.until("read", s.seenAre(2))
		if h := k.c.Health(); !h.Live || !h.Ready {
			t.Errorf("%+v", h)
		}
		time.Sleep(time.Hour)
		if h := k.c.Health(); !h.Live || !h.Ready {
			t.Errorf("a shard that is idle for an hour: %+v", h)
		}
		r.server.FailWhen(func(streamtest.Call) streamtest.Fault { return streamtest.Fault{Code: "AccessDeniedException"} })
		start := time.Now()
		if err := <-k.ran; !errors.Is(err, shardreader.ErrDenied) || time.Since(start) < 5*time.Minute || time.Since(start) > 6*time.Minute {
			t.Errorf("denied for good, Run returned %v after %v", err, time.Since(start))
		}
		if err := k.close(time.Minute); err != nil {
			t.Error(err)
		}
	})
}

// A right that is missing on one stream ends reading after five minutes, though others are read all the time; given
// back before that, it does not.
func TestConsumer_DeniedOnOneStream(t *testing.T) {
	for _, lasts := range []time.Duration{3 * time.Minute, 24 * time.Hour} {
		for _, op := range []string{"GetRecords", "DescribeStream"} {
			t.Run(fmt.Sprintf("%s for %v", op, lasts), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t, streamtest.Options{})
					defer r.tell()
					r.server.AddStream("shop")
					r.server.AddStream("crm")
					r.put("a", 1)
					s := newStore()
					k := r.task("a", s, func(o *options) {
						o.Coordinator.Sources = []coordinator.Source{{Table: "shop"}, {Table: "crm"}}
					})
					r.until("read", s.seenAre(1))
					time.Sleep(time.Hour)
					start := time.Now()
					r.server.FailWhen(func(c streamtest.Call) streamtest.Fault {
						if c.Op == op && strings.Contains(c.Stream, "table/crm/") && time.Since(start) < lasts {
							return streamtest.Fault{Code: "AccessDeniedException"}
						}
						return streamtest.Fault{}
					})
					select {
					case err := <-k.ran:
						if took := time.Since(start); lasts < 5*time.Minute || !errors.Is(err, shardreader.ErrDenied) || !strings.Contains(err.Error(), op) || took < 5*time.Minute || took > 12*time.Minute {
							t.Errorf("Run returned %v after %v", err, took)
						}
						if err := k.close(time.Minute); err != nil {
							t.Error(err)
						}
					case <-time.After(2 * time.Hour):
						if lasts > 5*time.Minute {
							t.Error("it does not end")
						}
						if err := k.end(); err != nil {
							t.Error(err)
						}
					}
				})
			})
		}
	}
}

// A worker that cannot show that it lives stops its writes before others may take its leases.
func TestConsumer_OutOfContactWritesAreCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, streamtest.Options{})
		defer r.tell()
		r.server.AddStream("shop")
		r.put("a", 1)
		s := newStore()
		var causes []error
		var deaf atomic.Bool
		table := &leasestest.Table{Memory: r.table.Memory}
		table.Before = func(ctx context.Context, _ leasestest.Call) error {
			if deaf.Load() {
				<-ctx.Done()
				return pipeline.Transient(context.Cause(ctx))
			}
			return nil
		}
		k := r.task("a", pipeline.SinkFunc(func(ctx context.Context, _ []pipeline.Delivery) error {
			<-ctx.Done()
			causes = append(causes, context.Cause(ctx))
			return ctx.Err()
		}), func(o *options) { o.Table = table })
		time.Sleep(time.Second)
		deaf.Store(true)
		start := time.Now()
		other := r.task("b", s)
		r.until("taken over", s.seenAre(1))
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("it took %v until another worker had written", took)
		}
		synctest.Wait()
		if len(causes) != 1 || !errors.Is(causes[0], coordinator.ErrHeartbeatsFailed) {
			t.Errorf("the Write was cancelled with %v", causes)
		}
		if l := k.p.Ledger().Sinks["s"]; l.Revoked != 1 || l.Pending != 0 {
			t.Errorf("%+v", l)
		}
		if h := k.c.Health(); h.Ready || !h.Live {
			t.Errorf("%+v", h)
		}
		k.balanced()
		deaf.Store(false)
		if err := errors.Join(k.end(), other.end()); err != nil {
			t.Error(err)
		}
	})
}

func TestConsumer_OptionsThatAreMissing(t *testing.T) {
	server, gaps := streamtest.New(streamtest.Options{}), pipeline.GapFunc(func(context.Context, record.Gap) error { return nil })
	sources := coordinator.Options{Sources: []coordinator.Source{{Table: "shop"}}}
	for want, o := range map[string]consumer.Options{
		"API":         {Table: leases.NewMemory(leases.Snapshot{}), Gaps: gaps, Coordinator: sources},
		"Table":       {API: server, Gaps: gaps, Coordinator: sources},
		"Gaps":        {API: server, Table: leases.NewMemory(leases.Snapshot{}), Coordinator: sources},
		"Sources":     {API: server, Table: leases.NewMemory(leases.Snapshot{}), Gaps: gaps},
		"CallTimeout": {API: server, Table: leases.NewMemory(leases.Snapshot{}), Gaps: gaps, Coordinator: sources, CallTimeout: -1},
	} {
		if _, err := consumer.New(o); err == nil || !strings.Contains(err.Error(), "Options."+want) {
			t.Errorf("without %s: %v", want, err)
		}
	}
	o := consumer.Options{API: server, Table: leases.NewMemory(leases.Snapshot{}), Gaps: gaps, Coordinator: sources}
	o.Coordinator.Name = "host"
	a, err := consumer.New(o)
	b, err2 := consumer.New(o)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	if a.ID() == b.ID() || !strings.HasPrefix(a.ID(), "host-") {
		t.Errorf("two consumers of one name are %s and %s", a.ID(), b.ID())
	}
	for _, c := range []*consumer.Consumer{a, b, a} {
		if err := c.Close(t.Context()); err != nil {
			t.Errorf("a consumer that never read: %v", err)
		}
	}
}
