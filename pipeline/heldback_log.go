package pipeline

import (
	"context"
	"log/slog"
	"math"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/tablewake/tablewake/pipeline/instrument"
)

const (
	heldBackLook  = time.Second      // between two looks at what is held back, while there is anything in flight
	heldBackLong  = 30 * time.Second // after it the log says so; of what waits to fill, after its Linger too
	heldBackAgain = time.Minute      // between two lines of one sink and reason
	heldBackNew   = 10 * time.Second // the same, where it holds back partitions that were not told yet
)

// watchHeldBack logs what is held back for long, until the run returns. While nothing is in
// flight it sleeps.
func (r *run) watchHeldBack(returned <-chan struct{}) {
	told := heldBackLog{r: r, groups: make(map[heldGroup]*heldTold)}
	for {
		select {
		case <-r.arrived:
		case <-returned:
			return
		}
		tick := time.NewTicker(heldBackLook)
		for open := 1; open > 0 || len(told.groups) > 0; {
			select {
			case <-tick.C:
			case <-returned:
				tick.Stop()
				return
			}
			now := time.Now()
			r.p.mu.Lock()
			open = r.open
			held := r.heldBack(now)
			r.p.mu.Unlock()
			told.tell(now, held)
		}
		tick.Stop()
	}
}

// arrives wakes who watches.
func (r *run) arrives() {
	select {
	case r.arrived <- struct{}{}:
	default:
	}
}

// heldGroup is what one line of the log is about.
type heldGroup struct{ sink, reason string }

// heldTold is what was said of a group.
type heldTold struct {
	at         time.Time
	partitions map[string]heldSince // that were told
}

// heldBackLog says which partitions are held back for long, and which are not any more.
type heldBackLog struct {
	r      *run
	groups map[heldGroup]*heldTold
}

// tell logs what is new in held, which is in the order of time.
func (l *heldBackLog) tell(now time.Time, held []HeldBack) {
	long := make(map[heldGroup][]HeldBack)
	for _, h := range held {
		if g := (heldGroup{h.Sink, h.Reason}); now.Sub(h.Since) > l.r.patience(g) {
			long[g] = append(long[g], h)
		}
	}
	for g, was := range l.groups {
		for _, h := range long[g] {
			if told, ok := was.partitions[h.Partition]; ok {
				told.seen = now
				was.partitions[h.Partition] = told
			}
		}
		l.again(now, g, was)
		if len(was.partitions) == 0 && now.Sub(was.at) > heldBackNew {
			delete(l.groups, g)
		}
	}
	for g, hs := range long {
		was := l.groups[g]
		if was == nil {
			was = &heldTold{partitions: make(map[string]heldSince)}
			l.groups[g] = was
		}
		fresh := false
		for _, h := range hs {
			_, told := was.partitions[h.Partition]
			fresh = fresh || !told
		}
		if now.Sub(was.at) < heldBackNew || !fresh && now.Sub(was.at) < heldBackAgain {
			continue
		}
		was.at = now
		for _, h := range hs {
			was.partitions[h.Partition] = heldSince{at: h.Since, seen: now}
		}
		l.r.p.log.LogAttrs(l.r.hard, l.r.severity(g, now), "partitions are held back: "+heldWhy[g.reason],
			append(g.attrs(), slog.Int("partitions", len(hs)), slog.String("first", hs[0].Partition),
				slog.Duration("age", now.Sub(hs[0].Since).Round(time.Second)), slog.Int64("bytes", hs[0].Bytes))...)
	}
}

// again logs the partitions of a group that were told and are not held back any more.
func (l *heldBackLog) again(now time.Time, g heldGroup, was *heldTold) {
	var first string
	var since time.Time
	n := 0
	for partition, told := range was.partitions {
		if now.Sub(told.seen) <= heldBackGrace {
			continue
		}
		delete(was.partitions, partition)
		if n++; n == 1 || told.at.Before(since) || told.at.Equal(since) && partition < first {
			first, since = partition, told.at
		}
	}
	if n > 0 {
		l.r.p.log.LogAttrs(l.r.hard, slog.LevelInfo, "partitions move again",
			append(g.attrs(), slog.Int("partitions", n), slog.String("first", first), slog.Duration("age", now.Sub(since).Round(time.Second)))...)
	}
}

func (g heldGroup) attrs() []slog.Attr {
	attrs := []slog.Attr{slog.String("reason", g.reason)}
	if g.sink != "" {
		attrs = append(attrs, slog.String("sink", g.sink))
	}
	return attrs
}

// heldWhy is what a reason means.
var heldWhy = map[string]string{
	HeldByShare:   "they hold their share of the memory and are not read on, until the sink has taken some of it",
	HeldByBounds:  "the memory is full and nothing is read on, until the sink has taken some of it",
	HeldByBackoff: "deliveries fail and are tried again, and the checkpoint waits for them",
	HeldByFilling: "a batch waits to fill for longer than it may",
}

// patience is how long a group may hold partitions back before the log says so.
func (r *run) patience(g heldGroup) time.Duration {
	if g.reason != HeldByFilling {
		return heldBackLong
	}
	for _, rt := range r.p.routes {
		if rt.Name == g.sink && rt.Batch.Linger > 0 {
			return rt.Batch.Linger + heldBackLong
		}
	}
	return math.MaxInt64 // the end of the source fills it
}

// severity of a line: a sink that writes is slow, and not down.
func (r *run) severity(g heldGroup, now time.Time) slog.Level {
	if g.reason == HeldByShare || g.reason == HeldByBounds {
		for _, rt := range r.p.routes {
			if wrote, _ := rt.health.times(); rt.Name == g.sink && now.Sub(wrote) < heldBackLong {
				return slog.LevelInfo
			}
		}
	}
	return slog.LevelWarn
}

// observeHeldBack shows how many partitions each sink holds back, and for how long.
func (t *telemetry) observeHeldBack(p *Pipeline, k *instrument.Maker) {
	partitions := k.Number("tablewake.heldback.partitions", "{partition}", "partitions that are held back, by sink and reason")
	age := k.Reading("tablewake.heldback.age", "s", "how long the first of them is held back")
	k.Observe(func(_ context.Context, o metric.Observer) error {
		now := time.Now()
		n := make(map[heldGroup]int64)
		oldest := make(map[heldGroup]time.Time)
		for _, h := range p.HeldBack() {
			g := heldGroup{h.Sink, h.Reason}
			if n[g]++; n[g] == 1 {
				oldest[g] = h.Since
			}
		}
		for g := range n {
			attrs := []attribute.KeyValue{t.name, attribute.String("reason", g.reason)}
			if g.sink != "" {
				attrs = append(attrs, attribute.String("sink", g.sink))
			}
			o.ObserveInt64(partitions, n[g], metric.WithAttributes(attrs...))
			o.ObserveFloat64(age, now.Sub(oldest[g]).Seconds(), metric.WithAttributes(attrs...))
		}
		return nil
	}, partitions, age)
}
