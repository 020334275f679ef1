package redrive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/deadletter"
)

// source is the stream and the table that a dead letter names. The record in the letter names neither of them.
type source struct{ arn, table string }

// decode decodes the record of a letter, or its line of a snapshot.
func (r *run) decode(l *pipeline.DeadLetter) (*record.Change, error) {
	if l.Snapshot != nil {
		return r.decodeLine(l)
	}
	from := source{l.StreamARN, l.Table}
	d := r.decoders[from]
	if d == nil {
		o := r.Decoder
		if from.arn != "" {
			o.StreamARN, o.EpochZero = from.arn, false
		}
		if from.table != "" {
			o.Table = from.table
		}
		d = record.NewDecoder(o)
		r.decoders[from] = d
	}
	page, err := d.Decode(append([]byte(nil), l.Raw...))
	switch {
	case len(page.Errors) > 0:
		return nil, page.Errors[0]
	case err != nil:
		return nil, err
	case len(page.Changes) != 1:
		return nil, errs.Errorf("it holds %d records, and a letter is of one", len(page.Changes))
	}
	c := &page.Changes[0]
	if c.Index = int32(l.Index); l.Sink != "" && (c.Key != l.Key || c.Version != l.Version) {
		return nil, errs.New(
			"its record is of another item or version than the letter says: was the configuration's source changed?")
	}
	return c, nil
}

// decodeLine decodes the letter's line of a snapshot, in the same way as the source of the snapshot did.
func (r *run) decodeLine(l *pipeline.DeadLetter) (*record.Change, error) {
	o := *l.Snapshot
	o.DecoderOptions = r.Decoder
	o.StreamARN, o.EpochZero, o.Table = l.StreamARN, l.StreamARN == "", l.Table
	page := record.NewSnapshotDecoder(o).DecodeLines(slices.Clone(l.Raw))
	switch {
	case len(page.Errors) > 0:
		return nil, page.Errors[0]
	case len(page.Changes) != 1:
		return nil, errs.Errorf("it holds %d items, and a letter is of one", len(page.Changes))
	}
	return &page.Changes[0], nil
}

// decodeAgain tries to decode the letters of undecodable records. If a record can be decoded now, decodeAgain stores a
// letter for each sink and adds it to the mark of its key. Then it removes the old letter. A sink that ignores the
// change gets a letter too. It ignores the letter when it is delivered.
func (r *run) decodeAgain(ctx context.Context) error {
	r.report.Undecodable = 0
	for l, err := range r.Letters.Read(ctx) {
		if err != nil {
			return err
		}
		if l.Sink != "" || !r.inScope(&l) {
			continue
		}
		id := deadletter.ID(&l)
		if r.Discard && r.Sink == "" && !r.DryRun && r.isSelected(l.Class) {
			if err := r.Letters.Remove(ctx, []string{id}); err != nil {
				return err
			}
			r.report.Discarded++
			continue
		}
		c, cause := r.decodeSelected(&l)
		if cause == nil {
			if err := r.splitBySink(ctx, &l, id, c); err != nil {
				return err
			}
			continue
		}
		r.report.Undecodable++
		if !r.failed[id] {
			r.failed[id] = true
			r.report.addFailure(r.failure(&l, id, cause))
		}
	}
	return nil
}

// decodeSelected decodes the record of a letter that is selected and has a sink. The error says why the letter stays.
func (r *run) decodeSelected(l *pipeline.DeadLetter) (*record.Change, error) {
	if !r.isSelected(l.Class) {
		return nil, errs.New("it is not of the class that was asked for")
	}
	c, err := r.decode(l)
	if err != nil {
		return nil, err
	}
	return c, r.checkFilled(l)
}

// splitBySink replaces a letter by one for each sink.
func (r *run) splitBySink(ctx context.Context, l *pipeline.DeadLetter, id string, c *record.Change) error {
	r.report.Decoded++
	if r.DryRun {
		return nil
	}
	var letters []pipeline.DeadLetter
	var unguarded []string // the sinks that need a mark
	for _, info := range r.Pipeline.Routes() {
		if wasFor, err := r.wasFor(ctx, info, l); err != nil {
			return err
		} else if !wasFor {
			continue
		}
		letter := *l
		letter.Sink, letter.Key, letter.Version, letter.Sequence = info.Name, c.Key, c.Version, c.Sequence
		letter.StreamARN, letter.Table = c.StreamARN, c.Table
		if l.Snapshot != nil { // the letter of a sink has a record
			letter.Raw, letter.Snapshot, letter.Sinks = c.RecordJSON(), nil, nil
		}
		letters = append(letters, letter)
		if r.Quarantine != nil && !info.Guarded {
			unguarded = append(unguarded, info.Name)
		}
	}
	if err := r.Letters.Put(ctx, letters); err != nil {
		return err
	}
	for _, sink := range unguarded {
		if err := r.Quarantine.Hold(ctx, sink, []item.Key{c.Key}); err != nil {
			return err
		}
	}
	return r.Letters.Remove(ctx, []string{id})
}

// wasFor reports whether the undecodable record of l was for a sink. If the sink is suppressed now and the record's key
// is not quarantined, the sink was also suppressed when the record was read. Then wasFor returns false, because the
// sink needs no letter. If this is unknown, wasFor returns true. The sink then gets a letter, which stays until a
// redrive without suppression.
func (r *run) wasFor(ctx context.Context, info pipeline.RouteInfo, l *pipeline.DeadLetter) (bool, error) {
	if l.Snapshot != nil && !slices.Contains(r.filledSinks(l), info.Name) {
		return false, nil
	}
	if !info.Suppressed || r.Quarantine == nil || info.Guarded || l.Key == "" {
		return true, nil
	}
	held, err := r.Quarantine.Held(ctx, info.Name, []item.Key{l.Key})
	return err == nil && len(held) == 1 && held[0], err
}

// filledSinks returns the sinks that the snapshot of a line was read for. A sink whose letters are moved has its new
// name, Options.To.
func (r *run) filledSinks(l *pipeline.DeadLetter) []string {
	if r.moved == "" {
		return l.Sinks
	}
	names := slices.Clone(l.Sinks)
	for i, name := range names {
		if name == r.moved {
			names[i] = r.To
		}
	}
	return names
}

// checkFilled returns an error if the pipeline has none of the sinks that the snapshot of a line was read for.
func (r *run) checkFilled(l *pipeline.DeadLetter) error {
	if l.Snapshot == nil || slices.ContainsFunc(r.filledSinks(l),
		func(name string) bool { _, known := r.routes[name]; return known }) {
		return nil
	}
	return errs.Errorf(
		"it can be decoded now, and its backfill filled %s, which the pipeline has no more: give the sink its name again, "+
			"or move its letters to another one (tablewake redrive --sink NAME --to SINK), or discard the letter (--class undecodable --discard)", strings.Join(l.Sinks, ", "))
}

// failure returns the Failure of a letter that stays and was not decoded. Key and error are masked.
func (r *run) failure(l *pipeline.DeadLetter, id string, cause error) Failure {
	f := Failure{Sink: l.Sink, Key: item.Key(r.Mask.Text(string(l.Key))), ID: id, Class: l.Class}
	if e, ok := errors.AsType[*record.RecordError](cause); ok {
		e = r.Mask.RecordError(e)
		f.Key, cause = e.Key, e
	}
	f.Error = cause.Error()
	if l.Snapshot != nil {
		f.Error = fmt.Sprintf("a line of the backfill's source %s: %s", l.Partition, f.Error)
	}
	return f
}

// inScope reports whether Options select a letter, except for its class.
func (r *run) inScope(l *pipeline.DeadLetter) bool {
	return (r.Name == "" || l.Pipeline == "" || l.Pipeline == r.Name) &&
		(r.Sink == "" || l.Sink == r.Sink || l.Sink == "" &&
			(l.Snapshot == nil || slices.Contains(l.Sinks, r.Sink) || slices.Contains(r.filledSinks(l), r.Sink))) &&
		(r.Key == "" || l.Key == r.Key)
}
