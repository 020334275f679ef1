package busy

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/consumer"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/shardreader/streamtest"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/test/e2e/link"
	"github.com/tablewake/tablewake/test/e2e/shop"
)

// file has a sink of each kind. The sink quiet_customers has only items that the writer leaves alone, from number
// 100000.
const file = `version: 1
name: busy
source: {table: shop}
state: {table: busy-state}
connections: {os: {opensearch: 'http://localhost:9200', auth: none}}
sinks:
  orders: {view: {table: orders, key: {PK: '{@key}'}, attributes: {status: '{Status}', total: '{Total}', write: '{Write}'}}}
  by_status: {view: {table: statuses, key: {PK: 'STATUS#{Status}', SK: '{@key}'}, attributes: {write: '{Write}'}}}
  in_place: {view: {table: places, key: {PK: '{Customer}', SK: '{@key}'}, attributes: {write: '{Write}'}, tombstones: in_place}}
  by_email: {view: {table: emails, key: {PK: '{Email}'}, attributes: {who: '{PK}', write: '{Write}'}, on_collision: keep_first}}
  per_customer: {aggregate: {table: customers, group: {PK: '{Customer}'}, values: {n: count, sum: {sum: Total}, hi: {max: Total}}, on_ttl_delete: retract}}
  quiet_customers: {aggregate: {table: quiet, when: 'item.PK >= "item#100000"', group: {PK: '{Customer}'}, values: {n: count, sum: {sum: Total}, lo: {min: Total}, emails: {distinct: Email}}, on_ttl_delete: retract}}
  documents: {search: {connection: os, index: documents}}
`

// firstQuiet is the number of the first item that the writer leaves alone.
const firstQuiet = 100_000

// world is a table that is written all the time, with its stream, its sinks and their consumer.
type world struct {
	hot, quiet int // numbers of items that are written all the time, and of items that are not
	cfg        *config.Config
	log        *slog.Logger
	server     *streamtest.Server
	stream     *streamtest.Stream
	shop       *shop.Shop
	client     *dynamodb.Client // a client of the table
	stores     *local.Stores
	links      map[string]*link.Link // links from the consumer to its stores, by sink
	leases     *leases.Memory
	lag        *lag
	stop       func() // ends the consumer
}

func newWorld(t *testing.T, hot, quiet int, log *slog.Logger) *world {
	t.Helper()
	w := &world{hot: hot, quiet: quiet, log: log, links: make(map[string]*link.Link), leases: leases.NewMemory(leases.Snapshot{}), lag: &lag{}}
	var err error
	w.cfg, err = config.Parse("tablewake.yaml", []byte(file), func(string) (string, bool) { return "", false })
	check(t, err)
	for _, s := range w.cfg.Sinks {
		w.links[s.Name] = &link.Link{}
	}
	w.server = streamtest.New(streamtest.Options{Decoder: sinks.Decoder(w.cfg)})
	w.shop = shop.New(w.server.Table("shop"), hot+quiet)
	w.stream = w.server.Enable("shop", streamtest.StreamOptions{Shards: 4})
	w.client = w.shop.Client(w.stream.ARN(), firstQuiet+quiet+1)
	w.stores, err = local.Open(t.TempDir())
	check(t, err)
	t.Cleanup(func() { check(t, w.stores.Close()) })
	return w
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// slowStores opens the stores for the consumer. Each sink has a link of its own to its store.
type slowStores struct {
	*local.Stores
	links map[string]*link.Link
}

func (s slowStores) of(spec config.Sink) *link.Stores {
	return &link.Stores{Stores: s.Stores, Link: s.links[spec.Name]}
}

func (s slowStores) View(ctx context.Context, cfg *config.Config, spec config.Sink) (view.Store, error) {
	return s.of(spec).View(ctx, cfg, spec)
}

func (s slowStores) Aggregate(ctx context.Context, cfg *config.Config, spec config.Sink) (view.GroupStore, error) {
	return s.of(spec).Aggregate(ctx, cfg, spec)
}

func (s slowStores) Search(ctx context.Context, cfg *config.Config, spec config.Sink) (search.Store, error) {
	return s.of(spec).Search(ctx, cfg, spec)
}

// consume starts a consumer. stop ends the consumer softly, and checks that it wrote everything.
func (w *world) consume(t *testing.T) (stop func()) {
	t.Helper()
	kept, err := w.stores.State(t.Context(), w.cfg)
	check(t, err)
	p, err := sinks.Assemble(t.Context(), w.cfg, slowStores{w.stores, w.links}, sinks.Live(), sinks.WithLogger(w.log))
	check(t, err)
	c, err := consumer.New(consumer.Options{
		API: w.server.As("consumer"), Table: w.leases, Gaps: kept, Logger: w.log,
		Coordinator: coordinator.Options{
			Name: "consumer", Routes: sinks.RoutesDigest(w.cfg), Sources: []coordinator.Source{{Table: "shop"}}, Lease: 3 * time.Second, MaxIdle: 100 * time.Millisecond,
		},
	})
	check(t, err)
	soft, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(soft, c, c) }()
	return func() {
		t.Helper()
		end()
		err := <-ended
		closing, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		check(t, errors.Join(err, c.Close(closing)))
		l := p.Ledger()
		check(t, l.Check())
		for sink, s := range l.Sinks {
			if s.DeadLettered > 0 {
				t.Errorf("%s: %d dead letters", sink, s.DeadLettered)
			}
		}
	}
}

// fill puts all items, and waits until the consumer has written them.
func (w *world) fill(t *testing.T) {
	t.Helper()
	check(t, w.shop.Fill(w.hot))
	for i := range w.quiet {
		check(t, w.shop.Put(shop.PK(firstQuiet+i)))
	}
	w.passed(t, time.Now())
}

// passed waits until the consumer has passed a time.
func (w *world) passed(t *testing.T, at time.Time) {
	t.Helper()
	check(t, w.wait(t.Context(), at))
}

// load writes to the items that are not quiet, and makes the sinks stand still at times. stop ends this and returns the
// number of writes.
func (w *world) load(t *testing.T, rate int, longest time.Duration) (stop func() int) {
	ctx, end := context.WithCancel(t.Context())
	var all sync.WaitGroup
	writes := 0
	all.Go(func() {
		n, err := w.shop.Write(ctx, w.hot, rate, math.MaxInt)
		if writes = n; err != nil {
			t.Error(err)
		}
	})
	for _, l := range w.links {
		all.Go(func() { standStill(ctx, l, longest) })
	}
	all.Go(func() { w.lag.watch(ctx, w.leases) })
	return func() int {
		end()
		all.Wait()
		for _, l := range w.links {
			l.Hold(time.Time{})
		}
		return writes
	}
}

// standStill makes a link hold its requests for a while, again and again. The consumer has to write the delayed changes
// afterwards and is behind for longer than the link holds. So a link holds for three quarters of longest at most. The
// time between two holds lets a machine with two cores catch up. Without this time the consumer would fall behind more
// and more.
func standStill(ctx context.Context, l *link.Link, longest time.Duration) {
	for {
		still := longest/8 + rand.N(longest*5/8)
		l.Hold(time.Now().Add(still))
		if pipeline.Sleep(ctx, still+longest/4+rand.N(longest*3/4)) != nil {
			return
		}
	}
}

// lag is the longest time that the consumer was behind. The consumer is behind by the age of its oldest lease position,
// before which everything is written.
type lag struct {
	mu      sync.Mutex
	longest time.Duration
}

func (l *lag) watch(ctx context.Context, table *leases.Memory) {
	for pipeline.Sleep(ctx, 100*time.Millisecond) == nil {
		seen, err := table.Read(ctx)
		if err != nil {
			return
		}
		l.mu.Lock()
		for _, s := range seen.Leases {
			l.longest = max(l.longest, time.Since(s.Time))
		}
		l.mu.Unlock()
	}
}

func (l *lag) most() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.longest
}

// decoder returns the options of the decoder of items.
func (w *world) decoder() record.SnapshotOptions {
	o := record.SnapshotOptions{DecoderOptions: sinks.Decoder(w.cfg), Keys: []string{"PK", "SK"}}
	o.StreamARN, o.Table = w.stream.ARN(), "shop"
	return o
}
