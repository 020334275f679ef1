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

// A pass over a batch builds up to maxOpenObjects objects concurrently. A batch with more groups needs several passes,
// up to maxPasses.
const (
	maxOpenObjects = 8
	maxPasses      = 4
)

// WriteSorted returns these errors before it fails any change. The caller then calls Write instead.
var (
	errHiddenKeys    = errs.New("archive: a key attribute is hidden: the order of items is not that of their masked keys")
	errTooManyGroups = errs.New("archive: the changes go into more objects than are made in order")
)

// sortedObject is an object that is built from sorted changes.
type sortedObject struct {
	objectWriter
	Object
	key     item.Key // key and version of the last added change
	version record.Version
}

// WriteSorted writes the same objects as Write. The caller must pass the changes in the order of key and version. It
// returns errors.ErrUnsupported with PerItem.
func (s *Sink) WriteSorted(ctx context.Context, all iter.Seq2[*pipeline.Delivery, error]) error {
	if s.o.Layout == PerItem {
		return errors.ErrUnsupported
	}
	written := make(map[objectGroup]bool)
	for range maxPasses {
		if hasMore, err := s.writeGroups(ctx, all, written); err != nil || !hasMore {
			return err
		}
	}
	return errTooManyGroups
}

// writeGroups writes the objects of up to maxOpenObjects groups that are not in written, in the order of their first
// changes. hasMore reports whether there are more.
func (s *Sink) writeGroups(
	ctx context.Context, all iter.Seq2[*pipeline.Delivery, error], written map[objectGroup]bool,
) (hasMore bool, err error) {
	open, postponed := make(map[objectGroup]*sortedObject), make(map[objectGroup]bool)
	var order []objectGroup // groups in the order of their first change
	defer func() {
		for _, o := range open {
			o.free()
		}
	}()
	for d, err := range all {
		if err != nil {
			return false, err
		}
		p := plannedPut(d)
		if p == nil {
			continue
		}
		if _, hidden := s.o.Mask.HiddenKey(d.Change); hidden {
			return false, errHiddenKeys
		}
		group := s.groupOf(d, p)
		o := open[group]
		switch {
		case written[group]:
			continue
		case o == nil && len(open) == maxOpenObjects:
			if postponed[group] = true; len(postponed) > (maxPasses-1)*maxOpenObjects {
				return false, errTooManyGroups
			}
			continue
		case o == nil:
			if o, err = s.openSorted(d); err != nil {
				return false, err
			}
			open[group] = o
			order = append(order, group)
		case o.key == d.Change.Key && o.version == d.Change.Version:
			d.Outcome = pipeline.Coalesced
			continue
		}
		o.key, o.version = d.Change.Key, d.Change.Version
		if err := o.add(s.o.Mask.Change(d.Change), p.Columns); err != nil {
			return false, err
		}
	}
	for _, group := range order {
		o := open[group]
		if err := o.finish(&o.Object, group.folder); err != nil {
			return false, err
		}
		if err := putUnlessExists(ctx, s.o.Store, o.Object); err != nil {
			return false, err
		}
		o.free()
		delete(open, group)
		written[group] = true
	}
	return len(postponed) > 0, nil
}

// openSorted returns a new object for the group of d.
func (s *Sink) openSorted(d *pipeline.Delivery) (*sortedObject, error) {
	o := &sortedObject{}
	var err error
	if o.Tags, err = s.tagsOf(template.ScopeOf(s.o.Mask.Change(d.Change))); err != nil {
		return nil, err
	}
	o.objectWriter, err = s.newObject()
	return o, err
}
