package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// placed is an error of a source that knows more of a record's place than its page does:
// the file and the line.
type placed interface {
	error
	Place() string
}

// buryUndecodable makes the letters of a page's undecodable records durable. The
// page is handed over after that, and with it all that comes behind it in the
// partition: whatever the record's key was, nothing overtakes it. Where the key is
// known and there is a Quarantine, it is held first, so that nothing of the key
// overtakes the letter afterwards. Other partitions, and what was read before, go on.
func (r *run) buryUndecodable(in *inflight, records []*RecordError) {
	letters := make([]DeadLetter, len(records))
	now := time.Now().UTC()
	for i, e := range records {
		letters[i] = DeadLetter{
			Pipeline: r.p.o.Name, Key: e.Key, Version: e.Version, Sequence: e.Sequence,
			Partition: in.part.name, Index: e.Index,
			Class: classUndecodable, Error: e.Error(), Raw: e.Raw, Time: now,
		}
	}
	first := records[0]
	attrs := []slog.Attr{slog.String("partition", in.part.name), slog.Int("records", len(records)),
		slog.Int("index", first.Index), slog.Int64("offset", first.Offset), slog.String("path", first.attribute())}
	if at, ok := errors.AsType[placed](first.Err); ok {
		attrs = append(attrs, slog.String("place", at.Place()))
	}
	if r.p.o.DeadLetters == nil && in.tracker != nil {
		r.p.log.LogAttrs(r.hard, slog.LevelError,
			"records cannot be decoded and there are no dead letters: they are given back, with what comes behind them; configure dead letters", attrs...)
		r.p.mu.Lock()
		in.ready, in.givenBack = true, true
		r.handOver(in.part)
		r.unlock()
		r.doneMoving()
		return
	}
	if r.p.o.DeadLetters == nil {
		r.p.log.LogAttrs(r.hard, slog.LevelError,
			"records cannot be decoded and there are no dead letters: the partition is blocked; configure dead letters", attrs...)
		r.doneMoving()
		return
	}
	if r.putLetters(in.part.ctx, letters, func() { r.flushBefore(in) }) && r.holdUndecodable(in.part.ctx, records) {
		r.p.tel.undecodable(r.hard, len(records))
		r.p.log.LogAttrs(r.hard, slog.LevelError, "records cannot be decoded: given up to dead letters", attrs...)
		r.p.mu.Lock()
		in.ready = true
		r.handOver(in.part)
		r.unlock()
	}
	r.doneMoving()
}

// flushBefore has what stands before a page whose letters cannot be kept now written, where the source
// answers for each record: it does not wait for a page that may come too late for its answer.
func (r *run) flushBefore(in *inflight) {
	if in.tracker == nil {
		return
	}
	r.p.mu.Lock()
	defer r.unlock()
	if !r.ending {
		r.ending = true
		for _, s := range r.scheds {
			s.end()
		}
	}
}

// holdUndecodable holds the keys of records that could not be decoded, as far as
// they are known, wherever later changes of them could do harm: that is for the sinks
// where versions do not decide, each of which might have been meant. Earlier changes of
// the key that are still on their way follow into dead letters too, and are redriven
// before it.
func (r *run) holdUndecodable(ctx context.Context, records []*RecordError) bool {
	var keys []Key
	for _, e := range records {
		if e.Key != "" {
			keys = append(keys, e.Key)
		}
	}
	for _, rt := range r.p.routes {
		if r.quarantines(rt, classUndecodable) && !r.quarantine(ctx, rt.Name, keys, func() {}) {
			return false
		}
	}
	return true
}
