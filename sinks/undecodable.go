package sinks

import (
	"context"
	"fmt"

	"github.com/tablewake/tablewake/pipeline"
)

// stopOnUndecodable lets no letter of an undecodable record pass: the pipeline
// stops there, and comes back to the record when it runs again.
type stopOnUndecodable struct {
	pipeline.DeadLetters
}

// Put stops the pipeline at an undecodable record.
func (s stopOnUndecodable) Put(ctx context.Context, letters []pipeline.DeadLetter) error {
	for _, l := range letters {
		if l.Class == "undecodable" {
			return pipeline.Fatal(fmt.Errorf("a record cannot be decoded, and dead_letters.undecodable is block: %s; mend the record's producer, or write undecodable: dead_letter to go on behind it", l.Error))
		}
	}
	return s.DeadLetters.Put(ctx, letters)
}
