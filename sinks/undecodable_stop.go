package sinks

import (
	"context"
	"fmt"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/record"
)

// stopOnUndecodable refuses the dead letters of undecodable records. So the pipeline stops at an undecodable record,
// and reads the record again in its next run.
type stopOnUndecodable struct {
	pipeline.DeadLetters
	mask *mask.Mask
}

// Put returns a fatal error if one of the letters is an undecodable record. Otherwise it stores all of them.
func (s stopOnUndecodable) Put(ctx context.Context, letters []pipeline.DeadLetter) error {
	for _, l := range letters {
		if l.Class == "undecodable" {
			return pipeline.Fatal(
				errs.Errorf(
					"a record cannot be decoded, and dead_letters.undecodable is block: %s; fix the record's producer, or write undecodable: dead_letter to continue after it", s.cause(l)))
		}
	}
	return s.DeadLetters.Put(ctx, letters)
}

// cause returns a text with the fault of the record or line. If attributes are sensitive, it decodes the record again,
// to mask names inside a sensitive map.
func (s stopOnUndecodable) cause(l pipeline.DeadLetter) string {
	if s.mask == nil {
		return l.Error
	}
	if e, ok := record.RedecodeLine(l.Raw, l.Error); ok {
		return s.mask.RecordError(e).Error()
	}
	page, err := record.NewDecoder(record.DecoderOptions{EpochZero: true}).Decode(l.Raw)
	isSameFault := err == nil && len(page.Errors) == 1 && strings.Contains(l.Error, ", "+page.Errors[0].Path+": ")
	if isSameFault {
		return s.mask.RecordError(page.Errors[0]).Error()
	}
	return fmt.Sprintf("record %d of %s, sequence number %s", l.Index, l.Partition, l.Sequence)
}
