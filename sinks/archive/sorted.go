package archive

import (
	"context"
	"errors"
	"iter"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/template"
)

// openObjects is how many objects of one batch grow at once. Those of more places are made
// in another range over the batch, up to mostRanges.
const (
	openObjects = 8
	mostRanges  = 4
)

// What is left to Write.
var (
	errHiddenKeys = errs.New("archive: a key attribute is hidden: the order of items is not that of their masked keys")
	errManyPlaces = errs.New("archive: the changes go into more objects than are made in order")
)

// sortedObject is an object that is made of changes in its own order.
type sortedObject struct {
	growing
	Object
	key     item.Key // of the change before
	version record.Version
}

// WriteSorted writes the objects that Write would write, of changes that come in their order.
func (s *Sink) WriteSorted(ctx context.Context, all iter.Seq2[*pipeline.Delivery, error]) error {
	if s.layout == PerItem {
		return errors.ErrUnsupported
	}
	done := make(map[place]bool)
	for range mostRanges {
		if left, err := s.writeSome(ctx, all, done); err != nil || !left {
			return err
		}
	}
	return errManyPlaces
}

// writeSome writes the objects of some places that are not done, and tells whether there are
// others.
func (s *Sink) writeSome(
	ctx context.Context, all iter.Seq2[*pipeline.Delivery, error], done map[place]bool,
) (left bool, err error) {
	open, others := make(map[place]*sortedObject), make(map[place]bool)
	var order []place // of the first change of each
	defer func() {
		for _, o := range open {
			o.free()
		}
	}()
	for d, err := range all {
		if err != nil {
			return false, err
		}
		p := planned(d)
		if p == nil {
			continue
		}
		if _, hidden := s.mask.HiddenKey(d.Change); hidden {
			return false, errHiddenKeys
		}
		at := place{folder: p.Folder}
		if s.byTable {
			at.table = d.Change.Table
		}
		o := open[at]
		switch {
		case done[at]:
			continue
		case o == nil && len(open) == openObjects:
			if others[at] = true; len(others) > (mostRanges-1)*openObjects {
				return false, errManyPlaces
			}
			continue
		case o == nil:
			if o, err = s.openSorted(d); err != nil {
				return false, err
			}
			open[at] = o
			order = append(order, at)
		case o.key == d.Change.Key && o.version == d.Change.Version:
			d.Outcome = pipeline.Coalesced
			continue
		}
		o.key, o.version = d.Change.Key, d.Change.Version
		if err := o.add(s.mask.Change(d.Change), p.Columns); err != nil {
			return false, err
		}
	}
	for _, at := range order {
		o := open[at]
		if err := o.finish(&o.Object, at.folder); err != nil {
			return false, err
		}
		if err := s.store.Put(ctx, o.Object); err != nil && !errors.Is(err, ErrExists) {
			return false, err
		}
		o.free()
		delete(open, at)
		done[at] = true
	}
	return len(others) > 0, nil
}

// openSorted begins the object of the place of d.
func (s *Sink) openSorted(d *pipeline.Delivery) (*sortedObject, error) {
	o := &sortedObject{}
	var err error
	if o.Tags, err = s.tagsOf(template.ScopeOf(s.mask.Change(d.Change))); err != nil {
		return nil, err
	}
	o.growing, err = s.newObject()
	return o, err
}
