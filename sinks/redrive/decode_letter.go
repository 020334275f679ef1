package redrive

import (
	"context"
	"errors"
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
func (r *run) decode(letter *pipeline.DeadLetter) (*record.Change, error) {
	if letter.Snapshot != nil {
		return r.decodeLine(letter)
	}
	page, err := r.decoder(source{letter.StreamARN, letter.Table}).Decode(slices.Clone(letter.Raw))
	switch {
	case len(page.Errors) > 0:
		return nil, page.Errors[0]
	case err != nil:
		return nil, err
	case len(page.Changes) != 1:
		return nil, errs.Errorf("it holds %d records, and a letter is of one", len(page.Changes))
	}
	change := &page.Changes[0]
	change.Index = int32(letter.Index)
	if letter.Sink == "" { // the letter of an undecodable record has no version
		return change, nil
	}
	if change.Key != letter.Key || change.Version != letter.Version {
		return nil, errs.New(
			"its record is of another item or version than the letter says: was the configuration's source changed?")
	}
	return change, nil
}

// decoder returns the decoder of the records of one source.
func (r *run) decoder(src source) *record.Decoder {
	if decoder := r.decoders[src]; decoder != nil {
		return decoder
	}
	options := r.Decoder
	if src.arn != "" {
		options.StreamARN, options.EpochZero = src.arn, false
	}
	if src.table != "" {
		options.Table = src.table
	}
	decoder := record.NewDecoder(options)
	r.decoders[src] = decoder
	return decoder
}

// decodeLine decodes the letter's line of a snapshot, in the same way as the source of the snapshot did.
func (r *run) decodeLine(letter *pipeline.DeadLetter) (*record.Change, error) {
	options := *letter.Snapshot
	options.DecoderOptions = r.Decoder
	options.StreamARN, options.EpochZero, options.Table = letter.StreamARN, letter.StreamARN == "", letter.Table
	page := record.NewSnapshotDecoder(options).DecodeLines(slices.Clone(letter.Raw))
	switch {
	case len(page.Errors) > 0:
		return nil, page.Errors[0]
	case len(page.Changes) != 1:
		return nil, errs.Errorf("it holds %d items, and a letter is of one", len(page.Changes))
	}
	return &page.Changes[0], nil
}

// decodeAgain tries to decode the selected letters of undecodable records. If a record can be decoded now, decodeAgain
// stores a letter for each sink, and counts that letter in the mark of its key. Then it removes the old letter. A sink
// that ignores the change gets a letter too. It ignores the letter when it is delivered.
func (r *run) decodeAgain(ctx context.Context) error {
	replace := r.replaceUndecodable
	if r.Discard && r.Sink == "" {
		replace = r.discardUndecodable
	}
	r.report.Undecodable = 0
	for letter, err := range r.Letters.Read(ctx) {
		if err != nil {
			return err
		}
		isUndecodable := letter.Sink == ""
		if !isUndecodable || !r.inScope(&letter) || !r.isSelected(letter.Class) {
			continue
		}
		if err := replace(ctx, &letter, deadletter.ID(&letter)); err != nil {
			return err
		}
	}
	return nil
}

// discardUndecodable removes the letter of an undecodable record.
func (r *run) discardUndecodable(ctx context.Context, letter *pipeline.DeadLetter, id string) error {
	if r.DryRun {
		r.report.Discardable++
		return nil
	}
	if err := r.Letters.Remove(ctx, []string{id}); err != nil {
		return err
	}
	r.report.Discarded++
	return nil
}

// replaceUndecodable replaces the letter of an undecodable record, or reports why it stays.
func (r *run) replaceUndecodable(ctx context.Context, letter *pipeline.DeadLetter, id string) error {
	change, cause := r.decode(letter)
	if cause == nil {
		cause = r.checkFilled(letter)
	}
	if cause == nil {
		return r.splitBySink(ctx, letter, id, change)
	}
	r.report.Undecodable++
	r.addFailure(r.failure(letter, id, cause))
	return nil
}

// splitBySink replaces the letter of an undecodable record by one letter for each sink. change is the record, which can
// be decoded now.
func (r *run) splitBySink(ctx context.Context, letter *pipeline.DeadLetter, id string, change *record.Change) error {
	r.report.Decoded++
	if r.DryRun {
		return nil
	}
	var letters []pipeline.DeadLetter
	var marked []string // the sinks whose key needs a mark
	for _, info := range r.Pipeline.Routes() {
		needsLetter, err := r.needsLetter(ctx, info, letter)
		if err != nil {
			return err
		}
		if !needsLetter {
			continue
		}
		letters = append(letters, sinkLetter(letter, info.Name, change))
		if r.hasMarks(info) {
			marked = append(marked, info.Name)
		}
	}

	if err := r.Letters.Put(ctx, letters); err != nil {
		return err
	}
	for _, sink := range marked {
		if err := r.Quarantine.MarkKeys(ctx, sink, []item.Key{change.Key}); err != nil {
			return err
		}
	}
	return r.Letters.Remove(ctx, []string{id})
}

// sinkLetter returns the letter of one sink. This letter replaces the letter of an undecodable record.
func sinkLetter(undecodable *pipeline.DeadLetter, sink string, change *record.Change) pipeline.DeadLetter {
	letter := *undecodable
	letter.Sink, letter.Key, letter.Version, letter.Sequence = sink, change.Key, change.Version, change.Sequence
	letter.StreamARN, letter.Table = change.StreamARN, change.Table
	if letter.Snapshot != nil { // a sink's letter has a record in place of a snapshot's line
		letter.Raw, letter.Snapshot, letter.Sinks = change.RecordJSON(), nil, nil
	}
	return letter
}

// needsLetter reports whether a sink needs a letter of an undecodable record. If the sink is suppressed now and the
// record's key is not quarantined, the sink was also suppressed when the record was read. Then needsLetter returns
// false. If this is unknown, needsLetter returns true. The sink then gets a letter, which stays until a redrive without
// suppression.
func (r *run) needsLetter(ctx context.Context, info pipeline.RouteInfo, letter *pipeline.DeadLetter) (bool, error) {
	if letter.Snapshot != nil && !slices.Contains(r.filledSinks(letter), info.Name) {
		return false, nil
	}
	if !info.Suppressed || !r.hasMarks(info) || letter.Key == "" {
		return true, nil
	}
	marked, err := r.Quarantine.HasMarks(ctx, info.Name, []item.Key{letter.Key})
	return err == nil && len(marked) == 1 && marked[0], err
}

// hasMarks reports whether the keys of a sink are marked while they have letters. A guarded sink compares versions, so
// its keys need no marks.
func (r *run) hasMarks(info pipeline.RouteInfo) bool { return r.Quarantine != nil && !info.Guarded }

// filledSinks returns the names of the sinks that the snapshot was read to fill. If the letters of a sink are moved,
// the sink has its new name, Options.To.
func (r *run) filledSinks(letter *pipeline.DeadLetter) []string {
	if r.moved == "" {
		return letter.Sinks
	}
	names := slices.Clone(letter.Sinks)
	for i, name := range names {
		if name == r.moved {
			names[i] = r.To
		}
	}
	return names
}

// checkFilled returns an error if the pipeline has none of the sinks that the snapshot was read to fill. It returns nil
// for a letter that is not from a snapshot.
func (r *run) checkFilled(letter *pipeline.DeadLetter) error {
	hasRoute := func(sink string) bool { _, known := r.routes[sink]; return known }
	if letter.Snapshot == nil || slices.ContainsFunc(r.filledSinks(letter), hasRoute) {
		return nil
	}
	return errs.Errorf(
		"it can be decoded now, and its backfill filled %s, which the pipeline has no more: give the sink its name again, "+
			"or move its letters to another one (tablewake redrive --sink NAME --to SINK), or discard the letter (--class undecodable --discard)", strings.Join(letter.Sinks, ", "))
}

// failure returns the Failure of a letter that stays and was not decoded. Key and error are masked.
func (r *run) failure(letter *pipeline.DeadLetter, id string, cause error) Failure {
	f := Failure{Sink: letter.Sink, Key: item.Key(r.Mask.Text(string(letter.Key))), ID: id, Class: letter.Class}
	if recordErr, ok := errors.AsType[*record.RecordError](cause); ok {
		recordErr = r.Mask.RecordError(recordErr)
		f.Key, cause = recordErr.Key, recordErr
	}
	f.Error = snapshotPrefix(letter) + cause.Error()
	if letter.Snapshot != nil {
		f.Error += "; if the line itself is wrong, `tablewake guide backfill` says how its item gets into the sinks"
	}
	return f
}

// snapshotPrefix returns the prefix of errors about a line of a snapshot: it names the source of the backfill. It
// returns "" for a record of a stream.
func snapshotPrefix(letter *pipeline.DeadLetter) string {
	if letter.Snapshot == nil {
		return ""
	}
	return "a line of the backfill's source " + letter.Partition + ": "
}

// inScope reports whether Options select a letter, whatever its class is.
func (r *run) inScope(letter *pipeline.DeadLetter) bool {
	isOfOtherPipeline := r.Name != "" && letter.Pipeline != "" && letter.Pipeline != r.Name
	isOfOtherKey := r.Key != "" && letter.Key != r.Key
	switch {
	case isOfOtherPipeline, isOfOtherKey:
		return false
	case r.Sink == "", letter.Sink == r.Sink:
		return true
	case letter.Sink != "":
		return false
	}
	// The record is undecodable. A record of a stream is for every sink. A line of a snapshot is for some sinks.
	return letter.Snapshot == nil || slices.Contains(letter.Sinks, r.Sink) ||
		slices.Contains(r.filledSinks(letter), r.Sink)
}
