package pipeline

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"math"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/tablewake/tablewake/pipeline/instrument"
)

const (
	heldBackInterval = time.Second // between two calls of heldBack while a page is in flight
	// heldBackLogAfter is how long a reason lasts before it is logged. For HeldByFilling, Linger is added.
	heldBackLogAfter  = 30 * time.Second
	heldBackRepeat    = time.Minute      // between two lines of a group
	heldBackRepeatNew = 10 * time.Second // between two lines of a group if it has new partitions
)

// heldGroup identifies a group: the partitions that one line of the log is about.
type heldGroup struct{ sink, reason string }

// memoryGroup is the reason of a group that stands for both HeldByShare and HeldByMemory. A partition can change
// between these two reasons while it waits.
const memoryGroup = "memory"

// logGroup returns the group that h belongs to in the log.
func logGroup(h HeldBack) heldGroup {
	if h.Reason == HeldByShare || h.Reason == HeldByMemory {
		return heldGroup{h.Sink, memoryGroup}
	}
	return heldGroup{h.Sink, h.Reason}
}

// loggedGroup is the state of a group that was logged.
type loggedGroup struct {
	loggedAt   time.Time           // when its last line was logged
	named      heldGroup           // as that line named it: with HeldByShare or HeldByMemory instead of memoryGroup
	partitions map[string]heldSpan // the partitions that were logged as held back
}

// heldBackLog logs which partitions are held back for long, and which of them move again.
type heldBackLog struct {
	r      *run
	groups map[heldGroup]*loggedGroup
}

// update logs what is new in held, which is ordered by Since.
func (l *heldBackLog) update(now time.Time, held []HeldBack) {
	overdue := make(map[heldGroup][]HeldBack)
	for _, h := range held {
		if g := logGroup(h); now.Sub(h.Since) > l.r.heldBackLogDelay(g) {
			overdue[g] = append(overdue[g], h)
		}
	}
	for g, group := range l.groups {
		group.setLastSeen(now, overdue[g])
		l.logMoving(now, group)
		if len(group.partitions) == 0 && now.Sub(group.loggedAt) > heldBackRepeatNew {
			delete(l.groups, g)
		}
	}
	for g, held := range overdue {
		l.logHeld(now, g, held)
	}
}

// setLastSeen notes that the logged partitions among held are still held back.
func (g *loggedGroup) setLastSeen(now time.Time, held []HeldBack) {
	for _, h := range held {
		if span, logged := g.partitions[h.Partition]; logged {
			span.lastSeen = now
			g.partitions[h.Partition] = span
		}
	}
}

// logHeld logs the partitions of a group that are held back, unless a line about the group is recent.
func (l *heldBackLog) logHeld(now time.Time, g heldGroup, held []HeldBack) {
	group := l.groups[g]
	if group == nil {
		group = &loggedGroup{partitions: make(map[string]heldSpan)}
		l.groups[g] = group
	}
	isNew := func(h HeldBack) bool {
		_, logged := group.partitions[h.Partition]
		return !logged
	}
	interval := heldBackRepeat
	if slices.ContainsFunc(held, isNew) {
		interval = heldBackRepeatNew
	}
	if now.Sub(group.loggedAt) < interval {
		return
	}
	first := held[0]
	group.loggedAt, group.named = now, heldGroup{g.sink, first.Reason}
	for _, h := range held {
		group.partitions[h.Partition] = heldSpan{since: h.Since, lastSeen: now}
	}
	l.r.p.log.LogAttrs(l.r.hardCtx, l.r.heldBackLevel(g, now), "partitions are held back: "+heldBackText[first.Reason],
		append(group.named.attrs(), slog.Int("partitions", len(held)),
			slog.String("first", first.Partition), slog.Duration("age", now.Sub(first.Since).Round(time.Second)),
			slog.Int64("bytes", first.Bytes))...)
}

// logMoving logs the partitions of a group that are not held back any more, and removes them.
func (l *heldBackLog) logMoving(now time.Time, group *loggedGroup) {
	moving := make(map[string]heldSpan)
	for partition, span := range group.partitions {
		if now.Sub(span.lastSeen) > heldBackGrace {
			moving[partition] = span
			delete(group.partitions, partition)
		}
	}
	if len(moving) == 0 {
		return
	}
	first := slices.MinFunc(slices.Collect(maps.Keys(moving)), func(a, b string) int {
		return cmp.Or(moving[a].since.Compare(moving[b].since), cmp.Compare(a, b))
	})
	l.r.p.log.LogAttrs(l.r.hardCtx, slog.LevelInfo, "partitions move again",
		append(group.named.attrs(), slog.Int("partitions", len(moving)), slog.String("first", first),
			slog.Duration("age", now.Sub(moving[first].since).Round(time.Second)))...)
}

func (g heldGroup) attrs() []slog.Attr {
	attrs := []slog.Attr{slog.String("reason", g.reason)}
	if g.sink != "" {
		attrs = append(attrs, slog.String("sink", g.sink))
	}
	return attrs
}

// heldBackText explains the reasons in the log.
var heldBackText = map[string]string{
	HeldByShare:   "they use their share of the memory and are paused until the sink frees some of it",
	HeldByMemory:  "the memory is full and nothing is read until the sink frees some of it",
	HeldByBackoff: "deliveries fail and are tried again, and the checkpoint waits for them",
	HeldByFilling: "a batch waits to fill for too long",
	HeldByWriting: "a write has not returned, and the checkpoint waits for it",
}

// heldBackLogDelay returns how long a reason lasts before it is logged.
func (r *run) heldBackLogDelay(g heldGroup) time.Duration {
	if g.reason != HeldByFilling {
		return heldBackLogAfter
	}
	for _, rt := range r.p.routes {
		if rt.Name == g.sink && rt.Batch.Linger > 0 {
			return rt.Batch.Linger + heldBackLogAfter
		}
	}
	return math.MaxInt64 // only the end of the source ends the wait
}

// heldBackLevel returns the level of a group's line. It is LevelInfo if memory is the reason and the sink has written
// lately: such a sink is slow, not down. Otherwise it is LevelWarn.
func (r *run) heldBackLevel(g heldGroup, now time.Time) slog.Level {
	if g.reason != memoryGroup {
		return slog.LevelWarn
	}
	for _, rt := range r.p.routes {
		lastSuccess, _ := rt.health.times()
		if rt.Name == g.sink && now.Sub(lastSuccess) < heldBackLogAfter {
			return slog.LevelInfo
		}
	}
	return slog.LevelWarn
}

// observeHeldBack reports the metrics tablewake.heldback.*.
func (t *telemetry) observeHeldBack(p *Pipeline, k *instrument.Maker) {
	partitions := k.ObservableIntGauge("tablewake.heldback.partitions", "{partition}",
		"partitions that are held back, by sink and reason")
	age := k.ObservableGauge("tablewake.heldback.age", "s", "how long the first of them is held back")
	k.Observe(func(_ context.Context, o metric.Observer) error {
		now := time.Now()
		groups := make(map[heldGroup][]HeldBack)
		for _, h := range p.HeldBack() {
			g := heldGroup{h.Sink, h.Reason}
			groups[g] = append(groups[g], h)
		}
		for g, held := range groups {
			attrs := []attribute.KeyValue{t.pipelineAttr, attribute.String("reason", g.reason)}
			if g.sink != "" {
				attrs = append(attrs, attribute.String("sink", g.sink))
			}
			o.ObserveInt64(partitions, int64(len(held)), metric.WithAttributes(attrs...))
			o.ObserveFloat64(age, now.Sub(held[0].Since).Seconds(), metric.WithAttributes(attrs...))
		}
		return nil
	}, partitions, age)
}
