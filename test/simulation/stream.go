package simulation

import (
	"fmt"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// table is a source table with its items, and its streams, oldest first.
type table struct {
	name    string
	items   map[string]*streamRecord // the last write of each key
	keys    []string                 // of items
	streams []*stream
	leased  bool // a lease was made of one of its streams
}

// stream is one stream of a table.
type stream struct {
	table    *table
	st       *streamtest.Stream
	open     []*shard
	disabled bool
	ended    time.Duration // when it was disabled
	begun    bool          // the lease table says that the fleet began to read it
	late     bool          // it was enabled after the fleet had a lease of another stream of the table
	noted    bool          // a gap was noted between it and the stream before it
	held     bool          // a gap was noted before it, and the policy is to stop
}

// shard is the true state of a shard, independent of what any process knows.
type shard struct {
	n        int
	id       string
	stream   *stream
	parent   *shard
	children []*shard
	lo, hi   uint32 // range of hashes of keys, hi excluded
	made     time.Duration
	closed   bool
	ended    time.Duration // when it was closed
	records  []*streamRecord
	trimmed  int  // number of records that were trimmed from its start
	dropped  bool // it is no longer listed

	row       row  // its lease, as it is in the table
	leased    bool // it has or had a lease
	fine      int  // index of the first record that is not fine (see streamRecord.fine)
	whole     bool // it and its ancestors are closed, and all of their records are fine
	stopped   bool // a gap was noted, and the policy is to stop
	stopAfter string
	openGap   bool      // the last gap that was noted has no end yet
	reading   []reading // recent GetRecords calls
	asked     struct {
		by      *process // the last process that tried to take the lease from another consumer
		counter int64
	}
	sought bool // a consumer got an iterator at its newest record
}

// streamRecord is one record of a stream.
type streamRecord struct {
	shard   *shard
	index   int // in its shard
	seq     string
	key     string // canonical, with its table
	version record.Version
	gone    bool // the item was deleted
	at      time.Duration
	broken  bool   // its shape is wrong
	routes  uint32 // sinks that it goes to
	durable uint32 // sinks that have it

	trimmed bool // the stream no longer keeps it
	lost    bool // it was trimmed before it was acknowledged
	noted   bool // a gap that contains it was noted
	exempt  bool // no consumer has to deliver it; it is usually older than the start position
}

// fine reports whether a record needs no more attention: it is durable in all of its sinks, exempt, or in a noted gap.
func (r *streamRecord) fine() bool {
	return r.durable == r.routes || r.exempt || r.noted
}

func (s *shard) String() string { return fmt.Sprintf("s%d", s.n) }

const (
	hashes     = 1 << 16
	mostShards = 60 // of a world
)

func (w *world) addTable(name string, shards int) {
	t := &table{name: name, items: map[string]*streamRecord{}}
	for i := range w.plan.Shape.Keys {
		t.keys = append(t.keys, fmt.Sprintf("k%d", i))
	}
	w.tables = append(w.tables, t)
	w.addStream(t, shards)
}

// addStream enables a stream on a table. The server begins with one open shard. It is rolled over into the requested
// number at once, so that no reader sees it.
func (w *world) addStream(t *table, shards int) {
	st := &stream{table: t, st: w.server.AddStream(t.name), late: t.leased}
	t.streams = append(t.streams, st)
	root := w.addShard(st, st.st.Shards()[0], nil, 0, hashes)
	w.tell("stream", "%s: %s is enabled with %v", t.name, st.st.ARN(), root)
	st.open = []*shard{root}
	for len(st.open) < shards && len(w.shards) <= mostShards {
		w.split(t, 0, 2)
	}
}

func (w *world) addShard(st *stream, id string, parent *shard, lo, hi uint32) *shard {
	s := &shard{n: len(w.shards) + 1, id: id, stream: st, parent: parent, lo: lo, hi: hi, made: w.now}
	if parent != nil {
		parent.children = append(parent.children, s)
	}
	w.shards = append(w.shards, s)
	w.byID[id] = s
	return s
}

// split gives an open shard of a table n children.
func (w *world) split(t *table, pick uint32, n int) {
	st := t.streams[len(t.streams)-1]
	if len(st.open) == 0 || len(w.shards) > mostShards {
		return
	}
	i := int(pick) % len(st.open)
	parent := st.open[i]
	if n > 1 && parent.hi-parent.lo < 2 {
		return
	}
	parent.closed, parent.ended = true, w.now
	open := append([]*shard(nil), st.open[:i]...)
	for k, id := range st.st.Split(parent.id, n) {
		width := (parent.hi - parent.lo) / uint32(n)
		lo, hi := parent.lo+uint32(k)*width, parent.lo+uint32(k+1)*width
		if k == n-1 {
			hi = parent.hi
		}
		open = append(open, w.addShard(st, id, parent, lo, hi))
	}
	st.open = append(open, st.open[i+1:]...)
	w.tell("stream", "%v ends behind %d records, children %v", parent, len(parent.records), parent.children)
}

// write changes an item of a table.
func (w *world) write(t *table) {
	st := t.streams[len(t.streams)-1]
	key := t.keys[w.rand.IntN(len(t.keys))]
	if st.disabled {
		// A change of a table without a stream has no record, so the last record of the item does not show its present
		// state.
		t.items[key] = nil
		w.tally.Unstreamed++
		return
	}
	in, last := st.openShardOf(key), t.items[key]
	r := &streamRecord{shard: in, index: len(in.records), at: w.now, gone: last != nil && !last.gone && w.chance(0.2)}
	r.routes = w.routes()
	r.exempt = w.plan.Shape.Start == FromTime && w.now.Truncate(time.Second) < startTime.Sub(began)
	keys := fmt.Sprintf(`{"PK":{"S":%q}}`, key)
	put := streamtest.Record{Keys: keys}
	if !r.gone {
		put.New = fmt.Sprintf(`{"PK":{"S":%q},"V":{"N":"%d"}}`, key, r.index)
	}
	if last != nil && !last.gone {
		put.Old = keys
	}
	if w.chance(w.plan.Shape.Undecodable) {
		// Its shape is wrong and its JSON is valid, so the error affects only this record.
		r.broken, r.routes = true, 1<<letters
		put.New = `{"PK":{"S":5}}`
	}
	r.seq = st.st.Put(in.id, put)[0]
	r.version = versionOf(st, r.seq)
	r.key = t.name + "!" + key
	in.records = append(in.records, r)
	w.bySeq[r.seq] = r
	t.items[key] = r
	done := "put"
	if r.gone {
		done = "deleted"
	}
	w.tell("writer", "%s %v #%d %s", r.key, in, r.index, done)
}

// openShardOf returns the open shard of a key.
func (st *stream) openShardOf(key string) *shard {
	hash := hashOf(key)
	return st.open[slices.IndexFunc(st.open, func(s *shard) bool { return s.lo <= hash && hash < s.hi })]
}

// routes returns the sinks of a record. Every record goes to the first sink, and some go to the others.
func (w *world) routes() uint32 {
	routes := uint32(1)
	for i := 1; i <= plain; i++ {
		if w.chance(0.6) {
			routes |= 1 << i
		}
	}
	return routes
}

func hashOf(key string) uint32 {
	h := uint32(2166136261)
	for i := range len(key) {
		h = (h ^ uint32(key[i])) * 16777619
	}
	return (h ^ h>>16) % hashes
}

// versionOf returns the version of a record as the design defines it: the epoch of the stream's label and the
// sequence number.
func versionOf(st *stream, seq string) record.Version {
	arn := st.st.ARN()
	at, err := time.Parse("2006-01-02T15:04:05.000", arn[len(arn)-len("2006-01-02T15:04:05.000"):])
	if err != nil {
		panic(err) // the server's own form
	}
	v, err := record.ParseVersion(fmt.Sprintf("%010d%040s", at.Unix(), seq))
	if err != nil {
		panic(err) // of digits
	}
	return v
}

// disable disables the stream of a table and enables another one after a duration.
func (w *world) disable(t *table, d time.Duration) {
	st := t.streams[len(t.streams)-1]
	if st.disabled || len(t.streams) > 3 {
		return
	}
	st.disabled, st.ended = true, w.now
	for _, s := range st.open {
		s.closed, s.ended = true, w.now
	}
	st.open = nil
	st.st.Disable()
	w.tell("stream", "%s is disabled", t.name)
	w.tally.Disabled++
	w.after(d, func() {
		w.addStream(t, 1+w.rand.IntN(w.plan.Shape.Shards))
	})
}
