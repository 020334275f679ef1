package pipeline

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// shards is a source that never ends. It reads its partitions independently, each at its own pace. A paused partition
// brings nothing.
type shards struct {
	mu     sync.Mutex
	parts  []*shard
	byName map[string]*shard
	wake   chan struct{}
	called time.Time // time of the call of Read in progress; zero: none
	asked  time.Time // time when Read last returned
	onRead func(at time.Time, c *record.Change)
}

type shard struct {
	name   string
	pace   pace
	due    time.Time
	n      int // records brought
	pages  int
	paused time.Time // time of the pause; zero: not paused
	keys   []string  // names of its keys so far
}

// pace describes the records of one partition.
type pace struct {
	begins  time.Duration // time before the first page, as for a shard that is discovered later
	every   time.Duration // time between two pages; 0: one page only
	records int           // records of a page
	size    int           // bytes of a record
	keys    int
}

var _ Pauser = (*shards)(nil)

func newShards(paces []pace) *shards {
	s := &shards{byName: map[string]*shard{}, wake: make(chan struct{}, 1), asked: time.Now()}
	for i, p := range paces {
		part := &shard{name: fmt.Sprint("p", i), pace: p, due: time.Now().Add(p.begins)}
		s.parts = append(s.parts, part)
		s.byName[part.name] = part
	}
	return s
}

func (s *shards) Pause(partition string, paused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	part := s.byName[partition]
	part.paused = time.Time{}
	if paused {
		part.paused = time.Now()
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *shards) Read(ctx context.Context) (*Page, error) {
	s.mu.Lock()
	s.called = time.Now()
	s.mu.Unlock()
	for {
		page, wait := s.next()
		if page != nil {
			return page, nil
		}
		select {
		case <-s.wake:
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// next returns the page that has been due for longest. If no page is due, it returns how long to wait.
func (s *shards) next() (*Page, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	var part *shard
	for _, p := range s.parts {
		if p.paused.IsZero() && !p.due.IsZero() && (part == nil || p.due.Before(part.due)) {
			part = p
		}
	}
	if part == nil {
		return nil, time.Hour
	}
	if part.due.After(now) {
		return nil, part.due.Sub(now)
	}
	part.due = time.Time{}
	if part.pace.every > 0 {
		part.due = now.Add(part.pace.every)
	}
	s.called, s.asked = time.Time{}, now
	return s.page(part, now), 0
}

func (s *shards) page(part *shard, now time.Time) *Page {
	part.pages++
	page := &Page{Partition: part.name, Position: Position(strconv.Itoa(part.pages))}
	page.Changes = make([]record.Change, part.pace.records)
	for i := range page.Changes {
		part.n++
		c := &page.Changes[i]
		*c = change(part.key(part.n), part.n)
		c.Index, c.Raw = int32(i), make([]byte, part.pace.size)
		page.Bytes += len(c.Raw)
		if s.onRead != nil {
			s.onRead(now, c)
		}
	}
	return page
}

// key returns the key of the n-th record.
func (p *shard) key(n int) string {
	n %= max(p.pace.keys, 1)
	for len(p.keys) <= n {
		p.keys = append(p.keys, p.name+"/"+strconv.Itoa(len(p.keys)))
	}
	return p.keys[n]
}

// read returns how many records partition i has brought.
func (s *shards) read(i int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.parts[i].n
}

// sinkHabit describes the behaviour of one sink.
type sinkHabit struct {
	batch       Batch
	concurrency int
	keepsOrder  bool
	packs       bool          // whether waiting changes may be packed
	slow        time.Duration // duration of a Write
	rate        float64       // deliveries a second
	takes       int           // the sink takes one of so many records
	of          string        // partitions whose records it takes, as "p0 p3"; "": all
	throttled   time.Duration // length of a period; in every other period all Writes fail temporarily
	ill         int           // one of so many keys fails until the faults end; 0: none
}

// waitsForEver reports whether only a full batch is written.
func (h sinkHabit) waitsForEver() bool { return h.batch.Fill && h.batch.Linger == 0 }

func drawHabit(t *rapid.T) sinkHabit {
	h := sinkHabit{
		concurrency: rapid.IntRange(1, 3).Draw(t, "concurrency"),
		keepsOrder:  rapid.Bool().Draw(t, "keepsOrder"),
		packs:       rapid.Bool().Draw(t, "packs"),
		slow:        rapid.SampledFrom([]time.Duration{0, 0, 5 * time.Millisecond, 50 * time.Millisecond}).Draw(t, "slow"),
		takes:       rapid.SampledFrom([]int{1, 1, 1, 50}).Draw(t, "takes"),
		of:          rapid.SampledFrom([]string{"", "", "p0 p2 p4", "p1 p3"}).Draw(t, "of"),
	}
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0: // an archive, which writes an object only when it is full
		h.batch = Batch{Count: 1 << 20, Fill: true}
		h.batch.Bytes = rapid.SampledFrom([]int64{2_000, 50_000, 1 << 30}).Draw(t, "object")
		h.concurrency, h.keepsOrder = 1, true
	case 1:
		h.batch = Batch{Count: 1 << 20, Bytes: 1 << 30, Fill: true}
		h.batch.Linger = rapid.SampledFrom([]time.Duration{5 * time.Minute, time.Hour}).Draw(t, "age")
		h.concurrency, h.keepsOrder = 1, true
	case 2:
		h.batch.Linger = rapid.SampledFrom([]time.Duration{time.Second, 10 * time.Minute}).Draw(t, "linger")
	}
	switch rapid.IntRange(0, 4).Draw(t, "trouble") {
	case 0:
		h.rate = 200
	case 1:
		h.throttled = 20 * time.Second
	case 2:
		h.ill = rapid.SampledFrom([]int{1, 5}).Draw(t, "ill")
	}
	return h
}

// habitual is a sink with a habit. It keeps the records that it has not written yet.
type habitual struct {
	habit sinkHabit
	begun time.Time
	until time.Time // end of the faults
	part  string    // partition whose keys are ill

	mu     sync.Mutex
	owed   map[string]time.Time // time of reading, by name, of records that are not written yet
	wrote  int
	writes int
}

var (
	_ Sink         = (*habitual)(nil)
	_ KeyOrderer   = (*habitual)(nil)
	_ Guarded      = (*habitual)(nil)
	_ EventIgnorer = (*habitual)(nil)
	_ SortedWriter = (*habitual)(nil)
)

func (s *habitual) KeepsKeyOrder() bool { return s.habit.keepsOrder }
func (s *habitual) Guarded() bool       { return s.habit.packs }
func (s *habitual) IgnoresEvents() bool { return s.habit.packs }

// WriteSorted collects the deliveries and calls Write. It fails as a whole.
func (s *habitual) WriteSorted(ctx context.Context, all iter.Seq2[*Delivery, error]) (int, error) {
	var ds []Delivery
	for d, err := range all {
		if err != nil {
			return 0, err
		}
		ds = append(ds, *d)
	}
	return 0, s.Write(ctx, ds)
}

func (s *habitual) wants(c *record.Change) bool {
	part, _, _ := strings.Cut(string(c.Key), "/")
	return nth(c)%s.habit.takes == 0 && (s.habit.of == "" || slices.Contains(strings.Fields(s.habit.of), part))
}

// Check drops the changes that the sink does not want.
func (s *habitual) Check(c *record.Change) (Verdict, error) { return Verdict{Drop: !s.wants(c)}, nil }

// ill reports whether the changes of a key fail.
func (s *habitual) ill(key item.Key) bool {
	part, n, _ := strings.Cut(string(key), "/")
	i, _ := strconv.Atoi(n)
	return s.habit.ill > 0 && part == s.part && i%s.habit.ill == 0
}

func (s *habitual) Write(ctx context.Context, ds []Delivery) error {
	if s.habit.slow > 0 && Sleep(ctx, s.habit.slow) != nil {
		return ctx.Err()
	}
	now := time.Now()
	trouble := now.Before(s.until)
	if d := s.habit.throttled; trouble && d > 0 && now.Sub(s.begun)/d%2 == 1 {
		return RetryAfter(errDown, time.Second)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	var failed BatchError
	for i := range ds {
		if trouble && s.ill(ds[i].Change.Key) {
			failed.Add(i, Transient(errDown))
			continue
		}
		s.wrote++
		delete(s.owed, name(ds[i].Change))
	}
	return failed.OrNil()
}
