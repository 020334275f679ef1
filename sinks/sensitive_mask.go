package sinks

import (
	"fmt"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/mask"
)

// Mask returns the mask of cfg's sensitive attributes. It must mask every part of a change that people see. The mask is
// nil if no attribute is sensitive.
func Mask(cfg *config.Config) (*mask.Mask, error) {
	m, err := mask.New(cfg.Sensitive, []byte(cfg.HMACKey))
	if err != nil {
		return nil, fmt.Errorf("%s: sensitive: hmac_key: %w", cfg.File, err)
	}
	return m, nil
}

// MaskAll makes every sink plan as if its allow_sensitive were empty, so that people may see the results of
// [pipeline.Pipeline.Explain]. Conditions use the real values. Values that are made of sensitive attributes are masked.
// A Go sink plans the masked change. MaskAll requires [PlanOnly], because masked values would be written to other
// stores.
func MaskAll() Option {
	return optionFunc(func(a *assembly) { a.maskAll = true })
}

// makeMask makes the mask of the file.
func (a *assembly) makeMask() error {
	if _, plans := a.stores.(planOnly); a.maskAll && !plans {
		return errs.New(
			"sinks.MaskAll goes only with sinks.PlanOnly: other stores would be written masked where the file allows more")
	}
	var err error
	a.sensitive, err = Mask(a.cfg)
	return err
}

// mask returns the mask that a sink plans and writes with.
func (a *assembly) mask(s config.Sink) *mask.Mask {
	if a.maskAll {
		return a.sensitive
	}
	return a.sensitive.Except(s.AllowSensitive)
}

// protectSensitive wraps a sink that cannot mask sensitive attributes itself. A Go sink gets masked changes. A sink
// that stores the keys of items stops the pipeline at the first change with a sensitive key attribute. An earlier check
// is not possible, because the key attributes are unknown before the first change.
func (a *assembly) protectSensitive(s config.Sink, sink pipeline.Sink) pipeline.Sink {
	if s.Custom != nil {
		m := a.mask(s)
		if m == nil {
			return sink
		}
		return maskedSink{forwarder{sink}, m}
	}
	keyHolder, alternative := keyHolderOf(s)
	hidden := a.sensitive.Except(s.AllowSensitive)
	if hidden == nil || keyHolder == "" {
		return sink
	}
	return keyRefuser{forwarder{sink}, hidden, func(attribute string) error {
		return pipeline.Fatal(a.atLine(s.Line, "sinks."+s.Name, errs.Errorf(
			"the key attribute %s is sensitive, and %s the keys of items: name it in allow_sensitive%s", attribute, keyHolder,
			alternative)))
	}}
}

// keyHolderOf says, for an error, what in a sink stores the keys of items, and which other setting avoids that.
// keyHolder is "" if the sink stores no keys.
func keyHolderOf(s config.Sink) (keyHolder, alternative string) {
	switch {
	case s.View != nil, s.Aggregate != nil:
		return "its rows, or what is remembered of them, hold", ""
	case s.Search != nil && !s.Search.HashID:
		return "the ids of its documents hold", ", or write id: hmac"
	}
	return "", ""
}
