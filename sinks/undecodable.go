package sinks

import (
	"context"

	"github.com/tablewake/tablewake/pipeline"
)

// stopOnUndecodable lets no letter of an undecodable record pass: the pipeline
// stops there, and comes back to the record when it runs again.
type stopOnUndecodable struct {
	pipeline.DeadLetters
	mask *pipeline.Mask
}

// Put stops the pipeline at an undecodable record.
func (s stopOnUndecodable) Put(ctx context.Context, letters []pipeline.DeadLetter) error {
	for _, l := range letters {
		if l.Class == "undecodable" {
			return pipeline.Fatal(errs.Errorf("a record cannot be decoded, and dead_letters.undecodable is block: %s; mend the record's producer, or write undecodable: dead_letter to go on behind it", s.cause(l)))
		}
	}
	return s.DeadLetters.Put(ctx, letters)
}

// cause is what is wrong with the record. Names inside a map that is sensitive are as
// sensitive.
func (s stopOnUndecodable) cause(l pipeline.DeadLetter) string {
	if s.mask == nil {
		return l.Error
	}
	page, err := pipeline.NewDecoder(pipeline.DecoderOptions{EpochZero: true}).Decode(l.Raw)
	if err != nil || len(page.Errors) != 1 {
		return "sequence number " + l.Sequence
	}
	return s.mask.RecordError(page.Errors[0]).Error()
}
