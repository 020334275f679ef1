// Package letters opens the store of dead letters that a configuration names. It also masks and prints dead letters.
// The commands and the Lambda function for redrives use it.
package letters

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/redrive"
)

// Open opens the store of dead letters that cfg names, for a redrive. It returns an error if cfg names none.
func Open(ctx context.Context, cfg *config.Config, stores sinks.Stores) (deadletter.Store, error) {
	kept, err := stores.DeadLetters(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if kept == nil {
		return nil, fmt.Errorf("%s names no dead letters: add dead_letters", cfg.File)
	}
	letters, ok := kept.(deadletter.Store)
	if !ok {
		return nil, errors.New("these dead letters cannot be processed")
	}
	return letters, nil
}

// Read yields the letters of cfg's pipeline, also those that name no pipeline. An error ends the sequence.
func Read(ctx context.Context, cfg *config.Config, letters deadletter.Store) iter.Seq2[pipeline.DeadLetter, error] {
	return func(yield func(pipeline.DeadLetter, error) bool) {
		for l, err := range letters.Read(ctx) {
			isOwn := l.Pipeline == "" || l.Pipeline == cfg.Name
			if (err != nil || isOwn) && !yield(l, err) {
				return
			}
		}
	}
}

// RedriveOptions returns the options to redrive all letters of cfg's pipeline. If cfg has a state and does not disable
// the quarantine, the options include it. The quarantine keeps later changes of a key in line after a dead letter.
func RedriveOptions(
	ctx context.Context, cfg *config.Config, stores sinks.Stores, letters deadletter.Store, p *pipeline.Pipeline,
) (redrive.Options, error) {
	o := redrive.Options{Pipeline: p, Letters: letters, Decoder: sinks.Decoder(cfg), Name: cfg.Name}
	var err error
	if o.Mask, err = sinks.Mask(cfg); err != nil {
		return o, err
	}
	if cfg.DeadLetters != nil && cfg.DeadLetters.NoQuarantine {
		return o, nil
	}
	store, err := stores.State(ctx, cfg)
	if err == nil && store != nil {
		o.Quarantine = store
	}
	return o, err
}
