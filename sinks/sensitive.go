package sinks

import (
	"fmt"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
)

// Mask hides what cfg says is sensitive: in all that people are shown of a change.
// It is nil where nothing is sensitive.
func Mask(cfg *config.Config) (*pipeline.Mask, error) {
	m, err := pipeline.NewMask(cfg.Sensitive, []byte(cfg.HMACKey))
	if err != nil {
		return nil, fmt.Errorf("%s: sensitive: hmac_key: %w", cfg.File, err)
	}
	return m, nil
}

// MaskAll has every sink plan as if its allow_sensitive named nothing, so that what
// [pipeline.Pipeline.Explain] says of it can be shown: conditions are judged by what is
// there, and what is made of a sensitive attribute is masked. A Go sink plans by the
// masked change. It goes with [PlanOnly] alone: such a pipeline writes nothing.
func MaskAll() Option {
	return func(a *assembly) { a.maskAll = true }
}

// hide makes the masks that the sinks have.
func (a *assembly) hide() error {
	if _, plans := a.stores.(planOnly); a.maskAll && !plans {
		return errs.New("sinks.MaskAll goes with sinks.PlanOnly alone: other stores would be written masked where the file allows more")
	}
	var err error
	a.sensitive, err = Mask(a.cfg)
	return err
}

// mask is what the sink plans and writes with.
func (a *assembly) mask(s config.Sink) *pipeline.Mask {
	if a.maskAll {
		return a.sensitive
	}
	return a.sensitive.Except(s.AllowSensitive)
}

// guarded keeps sensitive attributes from the sink that it cannot keep from itself: a
// Go sink gets masked changes, and a sink that holds the keys of items stops the
// pipeline at the first change of which a key attribute is sensitive. Which attributes
// are the key is known no earlier.
func (a *assembly) guarded(s config.Sink, sink pipeline.Sink) pipeline.Sink {
	hidden := a.sensitive.Except(s.AllowSensitive)
	var holds, instead string
	switch {
	case s.Custom != nil:
		if m := a.mask(s); m != nil {
			return maskedSink{forwarder{sink}, m}
		}
		return sink
	case s.View != nil, s.Aggregate != nil:
		holds = "its rows, or what is remembered of them, hold"
	case s.Search != nil && !s.Search.HashID:
		holds, instead = "the ids of its documents hold", ", or write id: hmac"
	}
	if hidden == nil || holds == "" {
		return sink
	}
	return keyHolder{forwarder{sink}, hidden, func(attribute string) error {
		return pipeline.Fatal(a.fail(s.Line, "sinks."+s.Name, errs.Errorf(
			"the key attribute %s is sensitive, and %s the keys of items: name it in allow_sensitive%s", attribute, holds, instead)))
	}}
}
