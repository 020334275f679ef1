package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/consumer"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/shardreader/leases/leasestest"
	"github.com/tablewake/tablewake/shardreader/sdk"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// rig is a stream, a lease table, and the consumers over them.
type rig struct {
	t      *testing.T
	server *streamtest.Server
	table  *leasestest.Table

	tasks []*task

	mu    sync.Mutex
	gaps  []record.Gap
	story strings.Builder
	began time.Time
}

func newRig(t *testing.T, o streamtest.Options) *rig {
	return &rig{t: t, server: streamtest.New(o), table: leasestest.NewTable(), began: time.Now()}
}

// overTheSDK returns the API that the product uses: the SDK's client with our decoder.
func overTheSDK(rt http.RoundTripper) shardreader.API {
	return sdk.New(dynamodbstreams.New(dynamodbstreams.Options{
		Region:      "eu-central-1",
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
		HTTPClient:  &http.Client{Transport: rt},
		Retryer:     aws.NopRetryer{},
	}), record.DecoderOptions{})
}

func (r *rig) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(&r.story, "%8s  %s\n", time.Since(r.began).Round(time.Millisecond), fmt.Sprintf(format, args...))
}

// AddGap keeps gaps.
func (r *rig) AddGap(_ context.Context, g record.Gap) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gaps = append(r.gaps, g)
	return nil
}

// Handle notes what the consumers say.
func (r *rig) Handle(_ context.Context, rec slog.Record) error {
	var b strings.Builder
	rec.Attrs(func(a slog.Attr) bool { fmt.Fprintf(&b, " %s=%v", a.Key, a.Value); return true })
	r.note("%s %s%s", rec.Level, rec.Message, b.String())
	return nil
}

func (r *rig) Enabled(context.Context, slog.Level) bool { return true }
func (r *rig) WithGroup(string) slog.Handler            { return r }

func (r *rig) WithAttrs(as []slog.Attr) slog.Handler { return named{r, as} }

type named struct {
	*rig
	attrs []slog.Attr
}

func (n named) WithAttrs(as []slog.Attr) slog.Handler {
	return named{n.rig, append(append([]slog.Attr(nil), n.attrs...), as...)}
}

func (n named) Handle(ctx context.Context, rec slog.Record) error {
	rec = rec.Clone()
	rec.AddAttrs(n.attrs...)
	return n.rig.Handle(ctx, rec)
}

// task is one consumer with its pipeline.
type task struct {
	*rig
	c    *consumer.Consumer
	p    *pipeline.Pipeline
	stop context.CancelFunc
	ran  chan error
}

type options struct {
	consumer.Options
	pipeline pipeline.Options
	source   func(*task) pipeline.Source // Default: the consumer
}

// task starts a consumer that writes to sink.
func (r *rig) task(id string, sink pipeline.Sink, set ...func(*options)) *task {
	r.t.Helper()
	o := options{
		Options: consumer.Options{
			API: r.server, Table: r.table, Gaps: r, Logger: slog.New(r),
			Coordinator: coordinator.Options{ID: id, Sources: []coordinator.Source{{Table: "shop"}}},
		},
		pipeline: pipeline.Options{Name: "shop", Routes: []pipeline.Route{{Name: "s", Sink: sink}}, Backoff: pipeline.Backoff{Max: time.Second}},
	}
	for _, f := range set {
		f(&o)
	}
	c, err := consumer.New(o.Options)
	if err != nil {
		r.t.Fatal(err)
	}
	p, err := pipeline.New(o.pipeline)
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(r.t.Context())
	k := &task{rig: r, c: c, p: p, stop: stop, ran: make(chan error, 1)}
	src := pipeline.Source(c)
	if o.source != nil {
		src = o.source(k)
	}
	go func() {
		k.ran <- p.Run(ctx, src, src.(pipeline.Committer))
		close(k.ran)
	}()
	r.tasks = append(r.tasks, k)
	return k
}

// end stops a task softly, and closes it.
func (k *task) end() error {
	k.stop()
	err := <-k.ran
	return errors.Join(err, k.close(time.Minute))
}

func (k *task) close(d time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return k.c.Close(ctx)
}

// leases returns the leases of the table by shard.
func (r *rig) leases() map[string]leases.Lease {
	r.t.Helper()
	s, err := r.table.Memory.Read(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	ls := map[string]leases.Lease{}
	for _, l := range s.Leases {
		ls[l.Shard] = l
	}
	return ls
}

// tell ends what a test that failed left behind, and shows the story.
func (r *rig) tell() {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	for _, k := range r.tasks {
		k.stop()
		k.p.Stop(now)
		for range k.ran {
		}
		_ = k.c.Close(now)
	}
	if r.t.Failed() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.t.Log("\n" + r.story.String())
	}
}

// balanced checks a task's ledgers.
func (k *task) balanced() {
	k.t.Helper()
	if err := k.p.Ledger().Check(); err != nil {
		k.t.Error(err)
	}
}

// item is an item of a key whose number is n.
func itemJSON(key string, n int) string {
	return fmt.Sprintf(`{"PK":{"S":%q},"SK":{"S":"-"},"n":{"N":"%d"}}`, key, n)
}

// put writes an item, and returns the shard of the record.
func (r *rig) put(key string, n int) (shard string) {
	r.t.Helper()
	w, err := r.server.Table("shop").Put(itemJSON(key, n))
	if err != nil {
		r.t.Fatal(err)
	}
	return w.Shard
}
