// Package letters opens the store of dead letters that a configuration names. It also masks and prints dead letters.
// The commands and the Lambda function for redrives use it.
package letters

import (
	"context"
	"errors"
	"fmt"

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

// Each calls do with each letter of cfg's pipeline until do returns an error. A letter that names no pipeline is
// included.
func Each(ctx context.Context, cfg *config.Config, letters deadletter.Store, do func(pipeline.DeadLetter) error) error {
	for l, err := range letters.Read(ctx) {
		if err != nil {
			return err
		}
		if l.Pipeline != "" && l.Pipeline != cfg.Name {
			continue
		}
		if err := do(l); err != nil {
			return err
		}
	}
	return nil
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
