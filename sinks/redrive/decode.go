package redrive

import (
	"context"
	"errors"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/deadletter"
)

// source is what a record says of itself nowhere but in its letter.
type source struct{ arn, table string }

// decode makes the change of a letter again.
func (r *run) decode(l *pipeline.DeadLetter) (*pipeline.Change, error) {
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
		d = pipeline.NewDecoder(o)
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
		return nil, errs.New("its record is of another item or version than the letter says: was the configuration's source changed?")
	}
	return c, nil
}

// decodeAgain tries the letters that could not be decoded. One that decodes now
// becomes a letter of every sink, and its key's mark one letter more, before it is
// removed; a sink that does not want it says so when it is delivered.
func (r *run) decodeAgain(ctx context.Context) error {
	r.report.Undecodable = 0
	for l, err := range r.Letters.Read(ctx) {
		if err != nil {
			return err
		}
		if l.Sink != "" || !r.ours(&l) {
			continue
		}
		id := deadletter.ID(&l)
		why := errs.New("it is not of the class that was asked for")
		if r.asked(l.Class) {
			if r.Discard && r.Sink == "" && !r.DryRun {
				if err := r.Letters.Remove(ctx, []string{id}); err != nil {
					return err
				}
				r.report.Discarded++
				continue
			}
			var c *pipeline.Change
			if c, why = r.decode(&l); why == nil {
				if err := r.spread(ctx, &l, id, c); err != nil {
					return err
				}
				continue
			}
		}
		r.report.Undecodable++
		if !r.failed[id] {
			r.failed[id] = true
			r.report.fail(r.failure(&l, id, why))
		}
	}
	return nil
}

// spread makes of a letter that decodes now one for each sink.
func (r *run) spread(ctx context.Context, l *pipeline.DeadLetter, id string, c *pipeline.Change) error {
	r.report.Decoded++
	if r.DryRun {
		return nil
	}
	var letters []pipeline.DeadLetter
	var hold []string
	for _, info := range r.Pipeline.Routes() {
		if meant, err := r.meant(ctx, info, l); err != nil {
			return err
		} else if !meant {
			continue
		}
		one := *l
		one.Sink, one.Key, one.Version, one.Sequence = info.Name, c.Key, c.Version, c.Sequence
		one.StreamARN, one.Table = c.StreamARN, c.Table
		letters = append(letters, one)
		if r.Quarantine != nil && !info.Guarded {
			hold = append(hold, info.Name)
		}
	}
	if err := r.Letters.Put(ctx, letters); err != nil {
		return err
	}
	for _, sink := range hold {
		if err := r.Quarantine.Hold(ctx, sink, []pipeline.Key{c.Key}); err != nil {
			return err
		}
	}
	return r.Letters.Remove(ctx, []string{id})
}

// meant tells whether a record that could not be decoded was for a sink too. One that is
// held back now was held back then as well where it did not hold the record's key; where
// that cannot be told, its letter stays until a redrive that delivers it.
func (r *run) meant(ctx context.Context, info pipeline.RouteInfo, l *pipeline.DeadLetter) (bool, error) {
	if !info.Suppressed || r.Quarantine == nil || info.Guarded || l.Key == "" {
		return true, nil
	}
	held, err := r.Quarantine.Held(ctx, info.Name, []pipeline.Key{l.Key})
	return err == nil && len(held) == 1 && held[0], err
}

// failure is why a letter stays that is no change.
func (r *run) failure(l *pipeline.DeadLetter, id string, why error) Failure {
	f := Failure{Sink: l.Sink, Key: pipeline.Key(r.Mask.Text(string(l.Key))), ID: id, Class: l.Class}
	if e, ok := errors.AsType[*pipeline.RecordError](why); ok {
		e = r.Mask.RecordError(e)
		f.Key, why = e.Key, e
	}
	f.Error = why.Error()
	return f
}

// ours tells whether a letter is one that the redrive is about, whatever its class.
func (r *run) ours(l *pipeline.DeadLetter) bool {
	return (r.Name == "" || l.Pipeline == "" || l.Pipeline == r.Name) &&
		(r.Sink == "" || l.Sink == "" || l.Sink == r.Sink) &&
		(r.Key == "" || l.Key == r.Key)
}
