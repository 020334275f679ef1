package model

import (
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/sinks/sinktest"
)

// Attributes that spoil an image for a configuration that [Config.Flawed] made, and mean
// nothing to the one it was made of.
const (
	flawWhen = "FlawWhen"
	flawKey  = "FlawKey"
)

// Flawed is the configuration with conditions and keys that an image may spoil; its result for all other images is the
// same.
func (c Config) Flawed() Config {
	c.Sinks = slices.Clone(c.Sinks)
	for i := range c.Sinks {
		s := &c.Sinks[i]
		switch {
		case s.View != nil:
			v := *s.View
			v.When = spoilable(v.When)
			if !v.escapes() {
				v.PK = withFlaw(v.PK)
			}
			s.View = &v
		case s.Aggregate != nil:
			a := *s.Aggregate
			a.When, a.PK = spoilable(a.When), withFlaw(a.PK)
			s.Aggregate = &a
		case s.Search != nil:
			k := *s.Search
			k.When = spoilable(k.When)
			s.Search = &k
		}
	}
	return c
}

// Retracting is the configuration with aggregates that keep nothing that expires, unless
// filters drop expiries.
func (c Config) Retracting() Config {
	c.Sinks = slices.Clone(c.Sinks)
	for i := range c.Sinks {
		s := &c.Sinks[i]
		drops := slices.ContainsFunc(slices.Concat(c.Filters, s.Filters), func(f Filter) bool { return f.TTLDeletes })
		if s.Aggregate != nil && s.Aggregate.Keep && !drops {
			a := *s.Aggregate
			a.Keep = false
			s.Aggregate = &a
		}
	}
	return c
}

// escapes reports whether the row key holds escaped key attributes, which the guard of the row depends on: it must not
// change.
func (v *View) escapes() bool {
	return v.GuardsItself() && !slices.ContainsFunc(slices.Concat(v.PK, v.SK), func(p Part) bool { return p.Key })
}

// spoilable adds what can't be evaluated of an image that is spoilt.
func spoilable(when *Condition) *Condition {
	c := Condition{Op: "not", Inner: []Condition{{Op: "<", Path: []string{flawWhen}, Number: "0"}}}
	if when != nil {
		c = Condition{Op: "and", Inner: []Condition{*when, c}}
	}
	return &c
}

// withFlaw adds a value that is not text to a spoilt image. A template that is one path stays: it keeps the type of its
// value.
func withFlaw(t Template) Template {
	if len(t) < 2 {
		return t
	}
	return append(slices.Clone(t), Part{Path: []string{flawKey}, Optional: true})
}

// Spoilt are the records with images that are spoilt now and then, each for all records that
// have it.
func Spoilt(t *rapid.T, records []sinktest.Record) []sinktest.Record {
	spoilt := slices.Clone(records)
	now := map[string]sinktest.Item{} // by item
	for i := range spoilt {
		r := &spoilt[i]
		key := r.KeyText()
		r.Old = now[key]
		if r.New != nil {
			r.New = maps.Clone(r.New)
			if rapid.IntRange(0, 2).Draw(t, "spoilt") == 0 {
				r.New[rapid.SampledFrom([]string{flawWhen, flawKey}).Draw(t, "flaw")] = sinktest.Attr{"L": []sinktest.Attr{}}
			}
		}
		now[key] = r.New
	}
	return spoilt
}
