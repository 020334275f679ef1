package backfill

import (
	"cmp"
	"context"
	"flag"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/shardreader/snapshot/export"
	"github.com/tablewake/tablewake/shardreader/snapshot/scan"
	"github.com/tablewake/tablewake/shardreader/streamtest"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/test/e2e/shop"
)

var (
	loadItems = flag.Int("load-items", 20_000, "items of the table")
	loadRate  = flag.Int("load-rate", 50, "writes a second")
	loadKills = flag.Int("load-kills", 2, "kills of a backfill, each with one of a consumer")
	loadLog   = flag.Bool("load-log", false, "show what the processes log")
)

// The full size of these tests takes minutes:
//
//	go test ./test/e2e/backfill -run Load -v -timeout 30m -load-items 200000 -load-rate 500 -load-kills 20

// A scan fills sinks while the table is written. The sinks then hold what follows from the table.
func TestLoad_ByScan(t *testing.T) {
	w := newWorld(t, size{items: *loadItems, rate: *loadRate, kills: *loadKills}, rules{})
	w.play(t, w.openScan)
	w.equal(t)
}

// A full export from before the floor and an incremental export that continues it fill sinks. The sinks then hold what
// follows from the table.
func TestLoad_ByExport(t *testing.T) {
	w := newWorld(t, size{items: *loadItems, rate: *loadRate, kills: *loadKills}, rules{})
	w.play(t, w.openExport)
	w.equal(t)
}

// Without one of its protections, a backfill leaves wrong sinks. This shows that the tests above would fail.
func TestLoad_NeedsProtections(t *testing.T) {
	for name, world := range map[string]struct {
		size
		rules
	}{
		// A later change of an item corrects the item, so most changes are made before the floor.
		"no floor":                             {size{items: 2000, rate: 200, kills: 1, writes: 3000}, rules{noFloor: true}},
		"items have the stream's last version": {size{items: 2000, rate: 60, kills: 1}, rules{newestVersions: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, world.size, world.rules)
			w.play(t, w.openScan)
			wrong := w.differences(t)
			if len(wrong) == 0 {
				t.Fatal("the sinks hold what the table holds")
			}
			for sink, ds := range wrong {
				t.Logf("%s: %d wrong, as %s", sink, len(ds), ds[0])
			}
		})
	}
}

// rules turns protections off.
type rules struct {
	noFloor        bool // added sinks write all changes of the stream
	newestVersions bool // an item of the backfill has the version of the stream's newest change
}

// size has the sizes of a test.
type size struct {
	items, rate, kills int
	writes             int // largest number of writes; default: no limit
}

// patience returns the longest time of a wait.
func (s size) patience() time.Duration {
	return 2*time.Minute + time.Duration(s.items)*10*time.Millisecond
}

const runID = "run"

// file is the configuration with the sinks of the first start. The sinks in added are added later.
const file = `version: 1
name: load
source: {table: shop}
state: {table: load-state}
connections: {os: {opensearch: 'http://localhost:9200', auth: none}}
sinks:
  orders: {view: {table: orders, key: {PK: '{@key}'}, attributes: {status: '{Status}', total: '{Total}', write: '{Write}'}}}
`

const added = `
  by_status: {view: {table: statuses, key: {PK: 'STATUS#{Status}', SK: '{@key}'}, attributes: {write: '{Write}'}}}
  in_place: {view: {table: places, key: {PK: '{Customer}', SK: '{@key}'}, attributes: {write: '{Write}'}, tombstones: in_place}}
  by_email: {view: {table: emails, key: {PK: '{Email}'}, attributes: {who: '{PK}', write: '{Write}'}, on_collision: keep_first}}
  per_customer: {aggregate: {table: customers, group: {PK: '{Customer}'}, values: {n: count, sum: {sum: Total}, lo: {min: Total}, hi: {max: Total}, emails: {distinct: Email}}, on_ttl_delete: retract}}
  documents: {search: {connection: os, index: documents}}
`

// world is a table with its stream, sinks and processes.
type world struct {
	size
	rules     rules
	log       *slog.Logger
	server    *streamtest.Server
	stream    *streamtest.Stream
	table     *newest
	shop      *shop.Shop
	stores    *local.Stores
	kept      state.Store
	leases    *leases.Memory
	first     *config.Config // configuration of the first start
	cfg       *config.Config // configuration with the added sinks
	late      map[string]int // by shard: number of records that are delivered late
	snapshot  snapshot.Snapshot
	full      string // folder of the full export
	pace      *pace
	processes []*process
	started   int // number of processes, for their names
}

func newWorld(t *testing.T, s size, r rules) *world {
	t.Helper()
	w := &world{size: s, rules: r, log: slog.New(slog.DiscardHandler), leases: leases.NewMemory(leases.Snapshot{}), full: t.TempDir()}
	if *loadLog {
		w.log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	w.first, w.cfg = parse(t, file), parse(t, file+added)
	w.server = streamtest.New(streamtest.Options{Decoder: sinks.Decoder(w.cfg)})
	w.table = &newest{Table: w.server.Table("shop")}
	w.shop = shop.New(w.table, s.items)
	check(t, w.shop.Fill(s.items)) // the stream has none of these items
	w.stream = w.server.Enable("shop", streamtest.StreamOptions{Shards: 4})
	var err error
	w.stores, err = local.Open(t.TempDir())
	check(t, err)
	t.Cleanup(func() { check(t, w.stores.Close()) })
	w.kept, err = w.stores.State(t.Context(), w.cfg)
	check(t, err)
	return w
}

func parse(t *testing.T, text string) *config.Config {
	t.Helper()
	cfg, err := config.Parse("tablewake.yaml", []byte(text), func(string) (string, bool) { return "", false })
	check(t, err)
	return cfg
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func names(cfg *config.Config) (all []string) {
	for _, s := range cfg.Sinks {
		all = append(all, s.Name)
	}
	return all
}

// Times of a backfill, as in the command. All processes have the same clock.
const (
	floorDelay = 15 * time.Second
	stageAge   = 10 * time.Second // longest time for which a process uses a stage that it has read
	clockSkew  = time.Second
)

// play adds sinks to a running pipeline and fills them, with kills.
func (w *world) play(t *testing.T, open func(t *testing.T, begun time.Time) snapshot.Snapshot) {
	t.Helper()
	began := time.Now()
	writing, stopWriting := context.WithCancel(t.Context())
	var writer sync.WaitGroup
	writes := 0
	writer.Go(func() {
		n, err := w.shop.Write(writing, w.items+w.items/10, w.rate, cmp.Or(w.writes, math.MaxInt))
		if writes = n; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		stopWriting()
		writer.Wait()
		for _, p := range w.processes {
			p.kill()
			<-p.done
		}
	})
	w.beforeFloor(t)
	consumers := []*process{w.consume(t, w.cfg), w.consume(t, w.cfg)}
	births, floor := w.begin(t)
	w.waitUntil(t, floor.Add(clockSkew))
	w.snapshot = open(t, time.Now().UTC().Truncate(time.Second))
	info := w.snapshot.Info()
	_, err := w.kept.AddBackfill(t.Context(), state.Backfill{
		Run: runID, Sinks: strings.Join(names(w.cfg), ","), Source: info.Source, Start: time.Now().UTC().Truncate(time.Second), From: info.OldestTime.Truncate(time.Second), Parts: len(w.snapshot.Parts()),
	})
	check(t, err)
	filling := time.Now()
	w.pace = newPace(w.kills, len(w.snapshot.Parts()))
	fills := []*process{w.fill(t), w.fill(t)}
	w.deliverLate(t)
	for range w.kills {
		time.Sleep(time.Second + rand.N(3*time.Second))
		i := rand.IntN(2)
		for _, p := range []*process{fills[i], consumers[i]} {
			if p.hasEnded() {
				t.Fatalf("a process ended before its kill: %v", p.err)
			}
			p.kill()
		}
		fills[i], consumers[i] = w.fill(t), w.consume(t, w.cfg)
		w.split()
		w.pace.killed()
	}
	for _, p := range fills {
		p.ends(t, w.patience())
	}
	filled := time.Now()
	w.settle(t, births)
	w.deliverLate(t)
	stopWriting()
	writer.Wait()
	w.passed(t, time.Now())
	for _, p := range consumers {
		p.stop(t, w.patience())
	}
	arrived := 0
	for _, p := range w.processes {
		<-p.done
		arrived += p.link.Late()
	}
	t.Logf("%d items, %d writes; the backfill took %v of %v; %d processes, %d kills of two, %d requests of dead processes arrived; %d changes of before the floor came back twice",
		w.items, writes, filled.Sub(filling).Round(time.Second), time.Since(began).Round(time.Second), len(w.processes), w.kills, arrived, sum(w.late))
	if w.kills >= 10 && arrived == 0 {
		t.Error("no request of a dead process arrived")
	}
}

func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// beforeFloor reads the stream into the sinks of the first start. The changes of the first half of this time are
// delivered again later.
func (w *world) beforeFloor(t *testing.T) {
	t.Helper()
	p := w.consume(t, w.first)
	half := 2*time.Second + time.Duration(w.items/w.rate)*time.Second/100
	time.Sleep(half)
	w.late = make(map[string]int)
	for _, page := range w.readStream(t, nil) {
		w.late[page.Partition] += len(page.Changes)
	}
	table, _, _ := strings.Cut(w.stream.ARN(), "/stream/")
	check(t, w.shop.Export(w.full, table))
	time.Sleep(half)
	w.passed(t, time.Now())
	p.stop(t, w.patience())
}

// begin begins the backfill. It sets the floor of the added sinks early enough for every process to read it in time.
func (w *world) begin(t *testing.T) (births []state.Birth, floor time.Time) {
	t.Helper()
	waits := make(map[string]bool)
	for b, err := range w.kept.Births(t.Context()) {
		check(t, err)
		births = append(births, b)
		waits[b.Sink] = b.Stage == state.Waiting
	}
	for _, s := range w.cfg.Sinks {
		if first := slices.Contains(names(w.first), s.Name); waits[s.Name] == first {
			t.Fatalf("the sink %s waits: %v", s.Name, waits[s.Name])
		}
	}
	for time.Until(floor) <= stageAge+clockSkew {
		floor = time.Now().UTC().Truncate(time.Second).Add(floorDelay)
		var err error
		births, err = sinks.ChangeBirths(t.Context(), w.kept, births, func(b *state.Birth) {
			b.Stage, b.Run, b.Stream = state.Filling, runID, w.stream.ARN()
			if waits[b.Sink] && !w.rules.noFloor {
				b.Floor = floor
			}
		})
		check(t, err)
	}
	return births, floor
}

// settle makes the sinks live when every shard is read past the last read of the source.
func (w *world) settle(t *testing.T, births []state.Birth) {
	t.Helper()
	until := time.Now().UTC().Truncate(time.Second).Add(time.Second)
	births, err := sinks.ChangeBirths(t.Context(), w.kept, births, func(b *state.Birth) { b.Stage, b.ReadUntil = state.Settling, until })
	check(t, err)
	w.waitUntil(t, until)
	w.passed(t, until.Add(clockSkew))
	_, err = sinks.ChangeBirths(t.Context(), w.kept, births, func(b *state.Birth) { b.Stage = state.Live })
	check(t, err)
}

// passed waits until every shard is read past a time.
func (w *world) passed(t *testing.T, at time.Time) {
	t.Helper()
	seen, err := w.leases.Read(t.Context())
	check(t, err)
	since := seen.Heartbeats()
	var unpassed []string
	for end := time.Now().Add(w.patience()); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		now, err := w.leases.Read(t.Context())
		check(t, err)
		if unpassed = now.Unpassed(at, since); len(unpassed) == 0 && len(now.Leases) > 0 {
			return
		}
		for id, beat := range now.Heartbeats() {
			if _, known := since[id]; !known {
				since[id] = beat
			}
		}
	}
	t.Fatalf("after %v these shards are not read past %v: %s", w.patience(), at, unpassed)
}

func (w *world) waitUntil(t *testing.T, at time.Time) {
	t.Helper()
	check(t, pipeline.Sleep(t.Context(), time.Until(at)))
}

// split splits a random shard, unless there are many shards.
func (w *world) split() {
	if open := w.stream.Open(); len(open) < 12 {
		w.stream.Split(open[rand.IntN(len(open))], 2)
	}
}

// decoder returns the options of the backfill's decoder.
func (w *world) decoder() record.SnapshotOptions {
	o := record.SnapshotOptions{DecoderOptions: sinks.Decoder(w.cfg), Keys: []string{"PK", "SK"}}
	o.StreamARN = w.stream.ARN()
	return o
}

func (w *world) openScan(t *testing.T, begun time.Time) snapshot.Snapshot {
	t.Helper()
	const segments = 16
	client := w.shop.Client(w.stream.ARN(), w.items+w.items/10)
	s, err := scan.New(t.Context(), scan.Options{Client: client, Table: "shop", Segments: segments, Time: begun, Decoder: w.decoder()})
	check(t, err)
	return &slow{s, w}
}

func (w *world) openExport(t *testing.T, _ time.Time) snapshot.Snapshot {
	t.Helper()
	changes := filepath.Join(t.TempDir(), "changes")
	table, _, _ := strings.Cut(w.stream.ARN(), "/stream/")
	check(t, w.shop.ExportChanges(changes, table))
	e, err := export.Open(t.Context(), export.Options{Layers: []string{w.full, changes}, Decoder: w.decoder()})
	check(t, err)
	return &slow{e, w}
}

// slow is a snapshot whose pages take some time to decode, so that the table changes after they were read.
type slow struct {
	snapshot.Snapshot
	w *world
}

// Open opens a part.
func (s *slow) Open(ctx context.Context, id string, from pipeline.Position) (snapshot.Reader, error) {
	r, err := s.Snapshot.Open(ctx, id, from)
	return &slowReader{r, s.w}, err
}

type slowReader struct {
	snapshot.Reader
	w *world
}

// Read reads a page.
func (r *slowReader) Read(ctx context.Context) (*pipeline.Page, error) {
	p, err := r.Reader.Read(ctx)
	if err != nil {
		return p, err
	}
	wait := rand.N(200 * time.Millisecond)
	if r.w.rules.newestVersions {
		wait = 500 * time.Millisecond
	}
	if err := pipeline.Sleep(ctx, wait); err != nil {
		return nil, err
	}
	if decode := p.Decode; r.w.rules.newestVersions {
		p.Decode = func() (*record.Page, error) {
			page, err := decode()
			for i := range page.Changes {
				v, parseErr := record.ParseVersion(version(page.Changes[i].Version.Epoch(), r.w.table.last()))
				if parseErr != nil {
					return nil, parseErr
				}
				page.Changes[i].Version = v
			}
			return page, err
		}
	}
	return p, nil
}

// pace lets the backfills read a number of pages after each kill, so that the last kill comes before their end.
type pace struct {
	mu     sync.Mutex
	pages  int // pages that may be read now
	each   int // further pages after each kill
	left   int // kills to come
	change chan struct{}
}

// newPace divides the parts, which have at least one page each, among the times between kills.
func newPace(kills, parts int) *pace {
	p := &pace{left: kills + 1, each: max(1, parts/(kills+1)), change: make(chan struct{})}
	p.killed()
	return p
}

// killed allows further pages to be read.
func (p *pace) killed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pages += p.each
	if p.left--; p.left == 0 {
		p.pages = math.MaxInt
	}
	close(p.change)
	p.change = make(chan struct{})
}

// wait waits until a page may be read.
func (p *pace) wait(ctx context.Context) {
	for {
		p.mu.Lock()
		change := p.change
		if p.pages > 0 {
			p.pages--
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
		select {
		case <-change:
		case <-ctx.Done():
			return
		}
	}
}

// equal checks that each sink holds what follows from the table.
func (w *world) equal(t *testing.T) {
	t.Helper()
	wrong := w.differences(t)
	for _, sink := range slices.Sorted(maps.Keys(wrong)) {
		t.Errorf("%s: %d differences:\n%s", sink, len(wrong[sink]), strings.Join(wrong[sink][:min(10, len(wrong[sink]))], "\n"))
	}
	for _, p := range w.processes {
		for sink, l := range p.l.Sinks {
			if l.DeadLettered > 0 {
				t.Errorf("%s: %d dead letters", sink, l.DeadLettered)
			}
		}
	}
}
