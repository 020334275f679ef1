package handoff

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/view"
)

// Result is the result of a world.
type Result struct {
	Wrong map[string]string // how a sink differs from the table, by its kind; empty if none does
	Story []string          // what happened
	Tally map[string]int    // the number of events by name
}

// World is one interleaving.
type World struct {
	id     string
	rand   *rand.Rand
	rules  Rules
	stores *Stores
	ctx    context.Context
	sinks  []sink
	story  []string
	tally  map[string]int
	wrong  map[string]string // Result.Wrong

	now   int64 // milliseconds
	table table
	h     int64 // the time H (see Rules), in milliseconds
	floor int64 // in seconds; 0: none

	shards    []*shard
	shardOf   []*shard // by item: the open shard that gets its records
	late      []batch  // batches that late processes will write
	givenUp   []batch  // batches that will be delivered again
	newImages bool     // the stream has no old images
	keeps     bool     // a sink counts expired items
	noH       bool     // the sinks have existed since the stream began
	disabled  int64    // the stream is disabled from this millisecond on, and enabled again after lostFor; 0: never

	scan     bool
	unknown  bool // the snapshot does not know the stream of its table
	layers   []layer
	parts    []*part
	backfill [][]*record.Change          // changes that were read and not yet written
	seen     map[int]bool                // items that were delivered to the sinks
	newestOf map[item.Key]*record.Change // newest change that was delivered to the sinks
}

// batch is some writes of a shard, in order.
type batch []*write

// lostFor is how long the stream is disabled.
const lostFor = 10 * second

// worldError is the panic of a world that cannot be played. It is a fault of the model or an error of a sink.
type worldError struct{ error }

func (w *World) failf(format string, args ...any) { panic(worldError{fmt.Errorf(format, args...)}) }

// tell adds a line to the story.
func (w *World) tell(format string, args ...any) {
	w.story = append(w.story, fmt.Sprintf("%.3f  ", float64(w.now)/1000)+fmt.Sprintf(format, args...))
}

// count counts an event, so that a test can require it.
func (w *World) count(what string) { w.tally[what]++ }

// Run plays the world of a seed. It returns an error for a fault of the model, or if a sink returns an error.
func Run(ctx context.Context, stores *Stores, seed uint64, rules Rules) (r Result, err error) {
	w := &World{
		id: fmt.Sprintf("w%d", seed), rand: rand.New(rand.NewPCG(seed, 20)), rules: rules, stores: stores, ctx: ctx,
		tally: make(map[string]int), seen: make(map[int]bool), newestOf: make(map[item.Key]*record.Change),
	}
	defer func() {
		r.Story, r.Tally = w.story, w.tally
		if p := recover(); p != nil {
			e, ok := p.(worldError)
			if !ok {
				panic(p)
			}
			err = e.error
		}
	}()
	r.Wrong = make(map[string]string)
	w.wrong = r.Wrong
	w.draw()
	w.play()
	w.drain()
	if rules.SecondBackfill {
		w.fillAgain()
	}
	for i := range w.sinks {
		s := &w.sinks[i]
		if d := w.differences(ctx, s); d != "" {
			r.Wrong[s.kind] = d
			w.tell("%s", d)
		}
	}
	return r, nil
}

// oneIn returns true with a probability of 1/n.
func (w *World) oneIn(n int) bool { return w.rand.IntN(n) == 0 }

// between returns a random time of [from, to].
func (w *World) between(from, to int64) int64 { return from + w.rand.Int64N(to-from+1) }

// The shape of a world.
const (
	maxItems   = 5
	shardCount = 2 // when the stream begins
	maxShards  = 6
	maxWrites  = 30
	second     = 1000
)

// draw draws the table, the times, the snapshot and the sinks.
func (w *World) draw() {
	for range 2 + w.rand.IntN(maxItems-1) {
		var m *image
		if w.oneIn(2) { // the item is older than the stream
			m = drawImage(w.rand)
		}
		w.table.before = append(w.table.before, m)
	}
	w.table.now = slices.Clone(w.table.before)
	w.beginShards()
	w.drawTimes()
	w.drawSinks(sinksOfWorld)
	for i, m := range w.table.before {
		w.tell("%s is %s when the stream begins", keyOf(i), m)
	}
	if w.newImages {
		w.tell("the stream has no old images")
	}
}

// drawTimes draws H, the floor, and the times of the layers.
func (w *World) drawTimes() {
	margin := int64(slack)
	if w.rules.NoSlack {
		margin = 0
	}
	w.noH = w.oneIn(6) && w.rules == Rules{}
	if !w.noH {
		w.h = w.between(0, 30*second)
		w.floor = (w.h+second-1)/second + margin
	}
	at := w.floor*second + margin*second
	if !w.rules.NoSlack {
		at += w.between(0, 5*second)
	}
	if w.rules.BeforeH {
		at = w.between(0, w.h)
	}
	layers := w.drawLayers()
	if w.rules.OtherStream {
		w.disabled = w.between(at, at+10*second)
	}
	w.unknown = w.oneIn(8)
	w.countKind(layers)
	for n := layers; n > 0; n-- { // from the last layer, which comes after the floor, to the first
		w.layers = append(w.layers, layer{at: at})
		at = w.between(0, at)
	}
	slices.Reverse(w.layers)
	w.makeParts()
	w.tell("H is %.3f, the floor %d", float64(w.h)/1000, w.floor)
	for n, l := range w.layers {
		w.tell("layer %d is of %.3f (scan: %t)", n, float64(l.at)/1000, w.scan)
	}
}

// drawLayers draws the number of layers. A single layer may be a scan.
func (w *World) drawLayers() int {
	layers := 1 + w.rand.IntN(3)
	if w.rules.ofLayers() {
		layers = 2 + w.rand.IntN(2)
	}
	if w.rules.StaleScan {
		layers = 1
	}
	if layers == 1 {
		w.scan = w.oneIn(2) || w.rules.StaleScan
	}
	return layers
}

// countKind counts the kind of the world.
func (w *World) countKind(layers int) {
	if w.unknown {
		w.count("world: the snapshot does not know its stream")
	}
	switch {
	case w.noH:
		w.count("world: the sinks are as old as the stream")
	case w.scan:
		w.count("world: a scan")
	case layers > 1:
		w.count("world: incremental exports")
	default:
		w.count("world: an export")
	}
}

// sinksOfWorld is the number of sinks in a world.
const sinksOfWorld = 3

func (w *World) drawSinks(most int) {
	w.newImages = w.oneIn(5)
	layersWithoutOld := w.oneIn(3)
	var chosen []kind
	kinds := w.stores.kinds
	for _, i := range w.rand.Perm(len(kinds)) {
		if k := kinds[i]; len(chosen) < most && !(k.old && w.newImages) {
			chosen = append(chosen, k)
		}
	}
	for _, k := range chosen {
		w.keeps = w.keeps || k.keep
		layersWithoutOld = layersWithoutOld && !k.old
		s, err := k.make(w)
		if err != nil {
			w.failf("%s: %v", k.name, err)
		}
		s.kind, s.keeps = k.name, k.keep
		w.sinks = append(w.sinks, s)
		w.count("sink: " + k.name)
	}
	if w.newImages {
		w.count("world: the stream has no old images")
	}
	if layersWithoutOld && len(w.layers) > 1 {
		w.count("world: incremental exports have no old images")
	}
	for n := 1; n < len(w.layers); n++ {
		w.layers[n].newImages = layersWithoutOld || w.rules.LayersNewImages
	}
}

// play runs random events until the writers have finished.
func (w *World) play() {
	left := 4 + w.rand.IntN(maxWrites-3)
	for left > 0 || w.now < w.layers[len(w.layers)-1].at {
		w.now += w.rand.Int64N(3 * second)
		switch w.rand.IntN(13) {
		case 0, 1, 2, 3:
			if left > 0 {
				w.write()
				left--
			}
		case 4, 5, 6, 7:
			if s := w.readable(); len(s) > 0 {
				w.deliver(s[w.rand.IntN(len(s))])
			}
		case 8:
			w.crash()
		case 9:
			w.redeliver()
		case 10:
			if ps := w.unread(2); len(ps) > 0 {
				w.read(ps[w.rand.IntN(len(ps))])
			}
		case 11:
			w.writeBackfill()
		case 12:
			w.split()
		}
	}
}

// drain runs all events that must still happen, in any order.
func (w *World) drain() {
	w.now = max(w.now, w.h) + slack*second
	for {
		var todo []func()
		for _, s := range w.readable() {
			if !w.rules.Unsettled {
				todo = append(todo, func() { w.deliver(s) })
			}
		}
		if len(w.late) > 0 || len(w.givenUp) > 0 {
			todo = append(todo, w.redeliver)
		}
		if ps := w.unread(1); len(ps) > 0 {
			todo = append(todo, func() { w.read(ps[w.rand.IntN(len(ps))]) })
		}
		if len(w.backfill) > 0 {
			todo = append(todo, w.writeBackfill)
		}
		if len(todo) == 0 {
			return
		}
		if w.oneIn(10) {
			if ps := w.unread(2); len(ps) > 0 {
				todo = append(todo, func() { w.read(ps[w.rand.IntN(len(ps))]) })
			}
		}
		if w.oneIn(20) {
			todo = append(todo, w.crash)
		}
		w.now += w.rand.Int64N(second)
		todo[w.rand.IntN(len(todo))]()
	}
}

// write changes an item of the table.
func (w *World) write() {
	i := w.rand.IntN(len(w.table.now))
	e := &write{item: i, at: w.now, old: w.table.now[i]}
	switch {
	case e.old == nil || w.rand.IntN(5) > 1:
		e.new = drawImage(w.rand)
	default:
		e.ttl = w.oneIn(2)
	}
	// The clock of the storage node is off by up to two seconds. The records of an item are stamped in order.
	e.stamp = max((w.now+w.between(-2*second, 2*second))/second, 0)
	if last := w.table.lastWrite(i, -1, w.now); last != nil {
		switch {
		case w.rules.StampsUnordered:
		case w.stores.seconds:
			e.stamp = max(e.stamp, last.stamp+1)
		default:
			e.stamp = max(e.stamp, last.stamp)
		}
		if last.at == e.at || e.stamp > w.now/second+2 { // an item has one write at a time, and no clock is off by more
			return
		}
	}
	if err := e.decode(len(w.table.writes)+1, w.newImages); err != nil {
		w.failf("%v", err)
	}
	w.table.writes = append(w.table.writes, *e)
	w.table.now[i] = e.new
	w.tell("%s", e)
	if w.disabled > 0 && w.now >= w.disabled {
		if w.now < w.disabled+lostFor {
			w.tell("  is lost, the stream is disabled")
			return
		}
		e.change.Version = w.version(epoch+w.disabled/second+lostFor/second, sequence(len(w.table.writes)))
	}
	w.shardOf[i].writes = append(w.shardOf[i].writes, e)
	if e.ttl {
		w.count("an item expired")
	}
}

// deliver reads the next records of a shard. Until H, they are acknowledged, and not written to the sinks.
func (w *World) deliver(s *shard) {
	from := s.position
	to := min(from+1+w.rand.IntN(4), len(s.writes))
	if from == to { // a closed shard ends here
		s.durable = to
		return
	}
	b := batch(s.writes[from:to])
	s.position = to
	if w.oneIn(2) {
		s.durable = w.rand.IntN(to-from+1) + from
	}
	w.tell("shard %d: records %d to %d", s.number, from, to-1)
	switch {
	case w.oneIn(4) && w.mayGiveUp(b):
		w.tell("  are given up, and come back")
		w.givenUp = append(w.givenUp, b)
	case w.isBeforeH() && w.rules.NoWait && w.oneIn(2):
		w.tell("  are written by a process that has the sinks")
		w.writeStream(b)
	case w.isBeforeH():
		w.tell("  are acknowledged without the sinks")
		s.durable = max(s.durable, from)
	default:
		w.writeStream(b)
		if w.oneIn(3) {
			w.late = append(w.late, b)
		}
	}
}

// mayGiveUp reports whether a batch may be delivered again after later changes of its items. A batch with an expired
// item may not if a sink counts expired items, because the sink would then not keep the item.
func (w *World) mayGiveUp(b batch) bool {
	return !w.keeps || !slices.ContainsFunc(b, func(e *write) bool { return e.ttl && e.stamp >= w.floor })
}

// crash makes a shard continue from its checkpoint.
func (w *World) crash() {
	s := w.shards[w.rand.IntN(len(w.shards))]
	if s.position > s.durable {
		w.tell("shard %d is read from %d again", s.number, s.durable)
		w.count("records were read again")
		s.position = s.durable
	}
}

// redeliver delivers a batch that a late process still holds, or one that was given up.
func (w *World) redeliver() {
	if w.isBeforeH() {
		return
	}
	if b, _ := w.takeLate(); b != nil {
		w.writeStream(b)
	}
}

// isBeforeH reports whether processes may still acknowledge records without writing to the sinks.
func (w *World) isBeforeH() bool { return w.now <= w.h && !w.noH }

// takeLate takes a batch that a late process holds, or one that was given up, and says which. It returns nil if there
// is none.
func (w *World) takeLate() (b batch, what string) {
	from, what := &w.late, "a process that is late writes"
	if len(*from) == 0 || len(w.givenUp) > 0 && w.oneIn(2) {
		from, what = &w.givenUp, "given up and delivered again:"
	}
	if len(*from) == 0 {
		return nil, ""
	}
	i := w.rand.IntN(len(*from))
	b = (*from)[i]
	*from = slices.Delete(*from, i, i+1)
	w.tell("%s", what)
	w.count(what)
	return b, what
}

// writeStream writes the records of a batch. It drops the records from before the floor.
func (w *World) writeStream(b batch) {
	floor := time.Unix(epoch+w.floor, 0)
	var cs []*record.Change
	for _, e := range b {
		hasNoFloor := w.rules.NoFloor || w.rules.NoWait && w.now <= w.h // before H, the sinks have no floor yet
		if !hasNoFloor && e.change.Time.Before(floor) {
			w.tell("  dropped, before the floor: %s", e)
			w.count("a change was before the floor")
			continue
		}
		if w.rules.NoTombstones && e.new == nil && !w.seen[e.item] {
			w.tell("  not written: %s", e)
			continue
		}
		w.seen[e.item] = true
		w.tell("  %s", e)
		cs = append(cs, e.change)
	}
	w.apply(cs, false)
}

// read reads a part of the snapshot.
func (w *World) read(p *part) {
	cs := w.readPart(p)
	if p.reads > 1 {
		w.count("a part was read twice")
	}
	for len(cs) > 0 {
		n := 1 + w.rand.IntN(len(cs))
		w.backfill = append(w.backfill, cs[:n])
		cs = cs[n:]
	}
}

// writeBackfill writes a batch of changes that the backfill has read.
func (w *World) writeBackfill() {
	if len(w.backfill) == 0 {
		return
	}
	i := w.rand.IntN(len(w.backfill))
	cs := w.backfill[i]
	w.backfill = slices.Delete(w.backfill, i, i+1)
	for _, c := range cs {
		w.tell("the backfill writes %s of %s, version %s", c.Op, c.Key, c.Version)
		w.seen[w.itemOf(c)] = true
	}
	if w.rules.Unconditional {
		cs = w.newest(cs)
	}
	if w.rules.Purged && w.oneIn(2) {
		w.tell("tombstones are purged")
		if _, err := w.stores.rows.Purge(w.ctx, time.Now().Add(time.Hour)); err != nil {
			w.failf("%v", err)
		}
	}
	w.apply(cs, true)
}

func (w *World) itemOf(c *record.Change) int {
	for i := range w.table.now {
		if strings.HasPrefix(string(c.Key), keyOf(i)+",") {
			return i
		}
	}
	return -1
}

// apply writes changes to every sink.
func (w *World) apply(cs []*record.Change, backfill bool) {
	for i := range w.sinks {
		s := &w.sinks[i]
		to := s.live
		if backfill && !w.rules.ClaimsFail {
			to = s.backfill
		}
		w.applyTo(s, to, cs, backfill)
	}
	for _, c := range cs {
		if last := w.newestOf[c.Key]; last == nil || c.Version.Compare(last.Version) > 0 {
			w.newestOf[c.Key] = c
		}
	}
}

func (w *World) applyTo(s *sink, to planWriter, cs []*record.Change, backfill bool) {
	ds := make([]pipeline.Delivery, 0, len(cs))
	for _, c := range cs {
		d := pipeline.Delivery{Change: c}
		if w.rules.KeepsCounted && s.keeps && c.TTLDelete() {
			d.Change = w.asCounted(c)
		}
		if err := to.Plan(&d); err != nil {
			if w.rules.LayersNewImages {
				continue
			}
			w.failf("%s: %s of %s: %v", s.name, c.Op, c.Key, err)
		}
		if len(d.Ops) > 0 {
			ds = append(ds, d)
		}
	}
	if len(ds) == 0 {
		return
	}
	err := to.Write(w.ctx, ds)
	failed, isPartial := errors.AsType[*pipeline.BatchError](err)
	switch {
	case isPartial:
		w.checkFailed(s, ds, failed, backfill)
	case err != nil:
		w.failf("%s: %v", s.name, err)
	default:
		w.countOutcomes(ds, backfill)
	}
}

// checkFailed checks that the failed deliveries of a batch are claims that wait. A backfill may have none.
func (w *World) checkFailed(s *sink, ds []pipeline.Delivery, failed *pipeline.BatchError, backfill bool) {
	for i, err := range failed.Failed {
		_, collision := errors.AsType[*view.CollisionError](err)
		switch {
		case collision && backfill && w.rules.ClaimsFail:
			w.wrong[s.kind] = fmt.Sprintf("a dead letter of the backfill: %v", err)
		case !collision || backfill:
			w.failf("%s: %s of %s: %v", s.name, ds[i].Change.Op, ds[i].Change.Key, err)
		}
		w.count("a claim waited")
	}
}

func (w *World) countOutcomes(ds []pipeline.Delivery, backfill bool) {
	for i := range ds {
		switch ds[i].Outcome {
		case pipeline.Superseded:
			if backfill {
				w.count("a backfilled item was superseded")
			} else {
				w.count("a change was superseded")
			}
		case pipeline.NoEffect:
			if backfill && ds[i].Reason == view.ReasonCollision {
				w.count("a backfilled claim waited")
			}
		}
	}
}

// asCounted returns the expiry c with another old image: the newest image of the item that was delivered before.
func (w *World) asCounted(c *record.Change) *record.Change {
	changed := *c
	last := w.newestOf[c.Key]
	if last == nil || last.Version.Compare(c.Version) >= 0 || !last.New.Exists() {
		changed.Identity = record.Identity{} // like a plain delete, because nothing was counted
		return &changed
	}
	changed.Old = last.New
	return &changed
}
