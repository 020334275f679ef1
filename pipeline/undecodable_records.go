package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// locatedError is an error of a source that knows where a record is, for example file and line.
type locatedError interface {
	error
	Location() string
}

// storeUndecodable stores the dead letters of undecodable records, quarantines their keys if they are known, and then
// hands their page over. Later pages of the partition wait meanwhile. So no change overtakes an undecodable record,
// even if the record's key is unknown. Earlier pages and other partitions continue.
//
// Without dead letters, the page and the later pages return to the source if it tracks single records. With any other
// source the partition is blocked.
func (r *run) storeUndecodable(page *inflightPage, records []*record.RecordError) {
	if r.p.options.DeadLetters == nil {
		r.nackOrBlock(page, records)
		return
	}
	// While the letters cannot be stored, the records of this page and of later pages cannot fill batches. A source
	// that acknowledges single records must answer in time, and a batch with earlier records could wait until then. So
	// with such a source, no batch of the run waits to be full any more.
	failed := func() { r.noFilling = r.noFilling || page.tracker != nil }
	ctx := page.partition.lettersCtx
	made := r.p.undecodableLetters(page, records)
	letters := func() []DeadLetter { return made }
	if !r.putLetters(ctx, len(made), letters, failed) || !r.quarantineUndecodable(ctx, records) {
		r.step(func(time.Time) { r.addMoving(-1) })
		return
	}
	r.p.tel.countUndecodable(r.hardCtx, len(records))
	r.logUndecodable("records cannot be decoded: they were dead-lettered", page, records)
	r.step(func(now time.Time) { r.undecodableStored(page, now) })
}

// nackOrBlock is storeUndecodable without dead letters.
func (r *run) nackOrBlock(page *inflightPage, records []*record.RecordError) {
	if page.tracker == nil {
		r.logUndecodable(
			"records cannot be decoded and there are no dead letters: the partition is blocked; configure dead letters",
			page, records)
		r.step(func(time.Time) { r.addMoving(-1) })
		return
	}
	r.logUndecodable(
		"records cannot be decoded and there are no dead letters: they return to the source, with all later records; configure dead letters",
		page, records)
	r.step(func(now time.Time) {
		page.nacked = true
		r.undecodableStored(page, now)
	})
}

// undecodableLetters returns the dead letters of undecodable records.
func (p *Pipeline) undecodableLetters(page *inflightPage, records []*record.RecordError) []DeadLetter {
	letters := make([]DeadLetter, len(records))
	now := time.Now().UTC()
	for i, e := range records {
		letters[i] = DeadLetter{
			Pipeline: p.options.Name, Key: e.Key, Version: e.Version, Sequence: e.Sequence,
			Partition: page.partition.name, Index: e.Index,
			Class: record.ClassUndecodable, Error: e.Error(), Raw: e.Raw, Time: now,
		}
		if snapshot := e.Snapshot; snapshot != nil {
			letters[i].Snapshot, letters[i].Sinks = snapshot, p.sinkNames()
			letters[i].StreamARN, letters[i].Table = snapshot.StreamARN, snapshot.Table
		}
	}
	return letters
}

// logUndecodable writes a line about undecodable records. It describes the first of them.
func (r *run) logUndecodable(text string, page *inflightPage, records []*record.RecordError) {
	first := records[0]
	attrs := []slog.Attr{slog.String("partition", page.partition.name), slog.Int("records", len(records)),
		slog.Int("index", first.Index), slog.Int64("offset", first.Offset), slog.String("path", redact.ErrorField(first))}
	if located, ok := errors.AsType[locatedError](first.Err); ok {
		attrs = append(attrs, slog.String("place", located.Location()))
	}
	r.p.log.LogAttrs(r.hardCtx, slog.LevelError, text, attrs...)
}

// sinkNames returns the names of the routes.
func (p *Pipeline) sinkNames() []string {
	names := make([]string, len(p.routes))
	for i, rt := range p.routes {
		names[i] = rt.Name
	}
	return names
}

// undecodableStored hands over a page whose dead letters are durable, or that returns to its source.
func (r *run) undecodableStored(page *inflightPage, now time.Time) {
	page.ready = true
	r.addMoving(-1)
	r.handOver(page.partition, now)
}

// quarantineUndecodable quarantines the known keys of undecodable records, at every sink that does not compare
// versions. It does so at every such sink because it is unknown which sinks a record is for. Earlier changes of such a
// key that are in flight can become dead letters too; a redrive delivers these before the record. It returns false if
// ctx ends before the keys are quarantined.
func (r *run) quarantineUndecodable(ctx context.Context, records []*record.RecordError) bool {
	var keys []item.Key
	for _, e := range records {
		if e.Key != "" {
			keys = append(keys, e.Key)
		}
	}
	for _, rt := range r.p.routes {
		if r.quarantines(rt, record.ClassUndecodable) && !r.quarantineKeys(ctx, rt.Name, keys, func() {}) {
			return false
		}
	}
	return true
}
