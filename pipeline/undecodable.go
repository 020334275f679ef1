package pipeline

import (
	"log/slog"
	"time"
)

// buryUndecodable makes the letters of a page's undecodable records durable. The
// page is handed over after that, and with it all that comes behind it in the
// partition: whatever the record's key was, nothing overtakes it. Other
// partitions, and what was read before, go on.
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
		slog.Int("index", first.Index), slog.Int64("offset", first.Offset), slog.String("path", first.Path)}
	if r.p.o.DeadLetters == nil {
		r.p.log.LogAttrs(r.hard, slog.LevelError,
			"records cannot be decoded and there are no dead letters: the partition is blocked; configure dead letters", attrs...)
		r.stopped()
		return
	}
	durable := r.putLetters(letters, func() {})
	if durable {
		r.p.log.LogAttrs(r.hard, slog.LevelError, "records cannot be decoded: given up to dead letters", attrs...)
		r.p.mu.Lock()
		in.ready = true
		r.handOver(in.part)
		r.p.mu.Unlock()
	}
	r.stopped()
}
