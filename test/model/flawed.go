package model

import (
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/sinks/sinktest"
)

// These attributes spoil an image for a configuration that [Config.Flawed] returned. They mean nothing to the
// original configuration.
const (
	flawWhen = "FlawWhen"
	flawKey  = "FlawKey"
)

// Flawed returns the configuration with conditions and keys that an image may spoil. For all other images its result
// is the same.
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

// Retracting returns the configuration with aggregates that do not keep expired items, unless filters drop expiries.
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

// escapes reports whether the row key holds escaped key attributes. The guard of the row depends on them, so they
// must not change.
func (v *View) escapes() bool {
	return v.GuardsItself() && !slices.ContainsFunc(slices.Concat(v.PK, v.SK), func(p Part) bool { return p.Key })
}

// spoilable returns the condition with a part that fails on a spoilt image.
func spoilable(when *Condition) *Condition {
	c := Condition{Op: "not", Inner: []Condition{{Op: "<", Path: []string{flawWhen}, Number: "0"}}}
	if when != nil {
		c = Condition{Op: "and", Inner: []Condition{*when, c}}
	}
	return &c
}

// withFlaw adds a value that is not text in a spoilt image. A template that is one path stays as it is, because it
// keeps the type of its value.
func withFlaw(t Template) Template {
	if len(t) < 2 {
		return t
	}
	return append(slices.Clone(t), Part{Path: []string{flawKey}, Optional: true})
}

// Spoilt returns the records with some images spoilt. An image is spoilt in every record that has it.
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
