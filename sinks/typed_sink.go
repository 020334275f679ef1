package sinks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/pipeline/rules"
	"github.com/tablewake/tablewake/pipeline/unmarshal"
)

// TypedChange is a change of an item of an entity. Its images are decoded into values of type T.
type TypedChange[T any] struct {
	// Old and New are the item before and after the change. One of them is nil if the image does not exist, or if the
	// item did not belong to the entity at that time.
	Old, New *T

	Op      record.Operation
	Version record.Version // a newer change of the item has a greater version
	Time    time.Time      // approximate creation time of the record, UTC
	Expired bool           // time to live removed the item

	// Change is the change itself. It is valid until the function returns. Sensitive attributes are masked in it.
	Change *record.Change
}

// On adds a sink that calls f with each change of an item of the entity. The file defines the entity. A field of T gets
// the attribute with its name; the case may differ ([unmarshal.Decode]). If the item has no such attribute, the field
// gets the value that the entity's key binds to that name. Sensitive attributes are left out, so their fields are zero.
// The name of the sink, which also appears in its dead letters, is "on_" and the entity's name.
//
// Changes of one item come in order, and can come again. Changes of different items can come concurrently. If f returns
// an error that is marked by [pipeline.Transient], the change is tried again. If f returns another error, the change
// becomes a dead letter. So does a change that cannot be decoded.
func On[T any](entity string, f func(ctx context.Context, c TypedChange[T]) error) Extension {
	return OnBatch(entity, func(ctx context.Context, changes []TypedChange[T]) error {
		var failed pipeline.BatchError
		for i, c := range changes {
			if err := ctx.Err(); err != nil {
				failed.Add(i, pipeline.Transient(context.Cause(ctx)))
				continue
			}
			failed.Add(i, f(ctx, c))
		}
		return failed.OrNil()
	})
}

// OnBatch is [On] for a function that takes many changes at once. The changes belong to different items. f returns a
// [pipeline.BatchError] to name the failed changes by their index. Any other error fails all changes.
func OnBatch[T any](entity string, f func(ctx context.Context, changes []TypedChange[T]) error) Extension {
	return Extension{func(a *assembly) {
		a.typed = append(a.typed, typedSpec{entity, func(t typedItems) pipeline.Sink {
			return typedSink[T]{t, f}
		}})
	}}
}

// typedSpec describes a sink of [On] or [OnBatch].
type typedSpec struct {
	entity string
	make   func(typedItems) pipeline.Sink
}

// name returns the name of the sink.
func (t typedSpec) name() string { return "on_" + t.entity }

// addTypedRoutes adds the routes to the sinks of [On]. A backfill has only the sinks that it names.
func (a *assembly) addTypedRoutes() error {
	var failed []error
	for _, t := range a.typed {
		if !a.isRouted(t.name()) {
			continue
		}
		r, err := a.newTypedRoute(t)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: sinks.On: %w", a.cfg.File, err))
			continue
		}
		a.options.Routes = append(a.options.Routes, r)
	}
	return errors.Join(failed...)
}

func (a *assembly) newTypedRoute(t typedSpec) (pipeline.Route, error) {
	scope, err := a.cfg.ScopeOf(t.entity)
	if err != nil {
		return pipeline.Route{}, err
	}
	name := t.name()
	for _, r := range a.options.Routes {
		if r.Name == name {
			return pipeline.Route{}, errs.Errorf(
				"the name %s is taken: rename that sink in the file, or call both functions from one", redact.Safe(name))
		}
	}
	items := typedItems{scope: scope, mask: a.mask(config.Sink{})}
	var condition pipeline.Condition = eitherImage{scope}
	if scope.KeysOnly() {
		condition = rules.OfKeys(scope)
	}
	r := pipeline.Route{Name: name, Filters: []pipeline.Filter{rules.Keep("of", condition)}, Sink: t.make(items)}
	if a.isHeld(name) {
		a.holdSink(&r, "call the function of "+t.entity)
	}
	return r, nil
}

// typedItems selects and reads the items of one entity.
type typedItems struct {
	scope *entity.Scope
	mask  *mask.Mask // nil: no attribute is sensitive
}

// eitherImage is the condition that at least one image of a change belongs to the entity. So it is also true for the
// change with which an item leaves the entity. It is for entities that do not depend on keys alone.
type eitherImage struct{ scope *entity.Scope }

// Match reports whether the new or the old image belongs to the entity.
func (e eitherImage) Match(c *record.Change) (bool, error) {
	if belongs, err := e.scope.Match(c.New); belongs || err != nil {
		return belongs, err
	}
	return e.scope.Match(c.Old)
}

// Requires returns both images, since Match reads both.
func (eitherImage) Requires() pipeline.Needs { return pipeline.Needs{Old: true, New: true} }

// boundImage returns an item with the values that the key binds to names. It leaves out names that are attributes of
// the image. It returns the zero Image if no names are left, or if the key is sensitive.
func (t typedItems) boundImage(c *record.Change, image item.Image) (item.Image, error) {
	if _, hidden := t.mask.HiddenKey(c); hidden {
		return item.Image{}, nil
	}
	var object []byte
	for _, binding := range t.scope.Bindings() {
		if _, isAttribute := image.Get(binding.Name()); !isAttribute {
			if object == nil {
				object = []byte{'{'}
			}
			object = item.AppendMember(object, binding.Name(), binding.Value(image))
		}
	}
	if object == nil {
		return item.Image{}, nil
	}
	return item.Parse(append(object, '}'))
}

// typedSink calls a function with typed changes.
type typedSink[T any] struct {
	typedItems
	call func(ctx context.Context, cs []TypedChange[T]) error
}

// Requires returns both images, because Old or New would be nil if the stream lacked one of them.
func (typedSink[T]) Requires() pipeline.Needs { return pipeline.Needs{Old: true, New: true} }

// Write decodes the changes, and calls the function with those that could be decoded.
func (s typedSink[T]) Write(ctx context.Context, ds []pipeline.Delivery) error {
	var failed pipeline.BatchError
	changes, deliveryIndexes := make([]TypedChange[T], 0, len(ds)), make([]int, 0, len(ds))
	for i := range ds {
		c, err := s.typedChange(&ds[i])
		if err != nil {
			failed.Add(i, err)
			continue
		}
		changes, deliveryIndexes = append(changes, c), append(deliveryIndexes, i)
	}
	if len(changes) > 0 {
		failures, err := pipeline.FailuresOf(s.call(ctx, changes), len(changes))
		for n, i := range deliveryIndexes {
			failed.Add(i, cmp.Or(err, failures[n]))
		}
	}
	return failed.OrNil()
}

// typedChange decodes the images of a delivery's change.
func (s typedSink[T]) typedChange(d *pipeline.Delivery) (t TypedChange[T], err error) {
	c, shown := d.Change, d.Change
	if s.mask != nil {
		shown = s.mask.Delivery(d).Change
	}
	t = TypedChange[T]{Op: c.Op, Version: c.Version, Time: c.Time, Expired: c.TTLDelete(), Change: shown}
	if t.Old, err = s.decode(c, c.Old); err != nil {
		return t, err
	}
	t.New, err = s.decode(c, c.New)
	return t, err
}

// decode decodes an image of c, without sensitive attributes. It returns nil if the image does not belong to the
// entity.
func (s typedSink[T]) decode(c *record.Change, image item.Image) (*T, error) {
	if belongs, err := s.scope.Match(image); !belongs || err != nil {
		return nil, err
	}
	bound, err := s.boundImage(c, image)
	if err != nil {
		return nil, err
	}
	out := new(T)
	if bound.Exists() {
		if err := unmarshal.DecodeInto(bound, out); err != nil {
			return out, err
		}
	}
	// The attributes come after the bound names and replace them, even if a name differs in case.
	shown := image
	if s.mask != nil {
		shown = s.mask.Without(image)
	}
	return out, unmarshal.DecodeInto(shown, out)
}
