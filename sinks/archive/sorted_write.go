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

// WriteSorted writes the same objects as Write, and returns the number of changes that repeat the change before them.
// The caller must pass the changes in the order of key and version. With PerItem, WriteSorted returns
// errors.ErrUnsupported.
func (s *Sink) WriteSorted(
	ctx context.Context, all iter.Seq2[*pipeline.Delivery, error],
) (coalesced int, err error) {
	if s.o.Layout == PerItem {
		return 0, errors.ErrUnsupported
	}
	written := make(map[objectGroup]bool)
	for range maxPasses {
		pass := sortedPass{sink: s, written: written, open: make(map[objectGroup]*sortedObject),
			postponed: make(map[objectGroup]bool)}
		for d, err := range all {
			if err == nil {
				err = pass.add(d)
			}
			if err != nil {
				return 0, err
			}
		}
		coalesced += pass.coalesced
		if err := pass.write(ctx); err != nil || len(pass.postponed) == 0 {
			return coalesced, err
		}
	}
	return 0, errTooManyGroups
}

// sortedPass is one pass over sorted changes. It builds the objects of up to maxOpenObjects groups.
type sortedPass struct {
	sink      *Sink
	written   map[objectGroup]bool // groups that are finished
	open      map[objectGroup]*sortedObject
	order     []objectGroup        // open groups in the order of their first changes
	postponed map[objectGroup]bool // groups for a later pass
	coalesced int                  // changes that repeat the change before them
}

// add adds a change to the object of its group, unless the group belongs to another pass.
func (p *sortedPass) add(d *pipeline.Delivery) error {
	put := plannedPut(d)
	if put == nil {
		return nil
	}
	if _, hidden := p.sink.o.Mask.HiddenKey(d.Change); hidden {
		return errHiddenKeys
	}
	group := p.sink.groupOf(d, put)
	if p.written[group] {
		return nil
	}
	o, isOpen := p.open[group]
	if !isOpen && len(p.open) == maxOpenObjects {
		return p.postpone(group)
	}
	if !isOpen {
		var err error
		if o, err = p.sink.openSorted(d); err != nil {
			return err
		}
		p.open[group] = o
		p.order = append(p.order, group)
	}
	isRepeated := isOpen && o.key == d.Change.Key && o.version == d.Change.Version
	if isRepeated {
		p.coalesced++
		return nil
	}
	o.key, o.version = d.Change.Key, d.Change.Version
	return o.add(p.sink.o.Mask.Change(d.Change), put.Columns)
}

// postpone leaves a group to a later pass. It returns an error if the later passes cannot build so many objects.
func (p *sortedPass) postpone(group objectGroup) error {
	p.postponed[group] = true
	if len(p.postponed) > (maxPasses-1)*maxOpenObjects {
		return errTooManyGroups
	}
	return nil
}

// write writes the open objects, and adds their groups to written.
func (p *sortedPass) write(ctx context.Context) error {
	for _, group := range p.order {
		o := p.open[group]
		if err := o.finish(&o.Object, group.folder); err != nil {
			return err
		}
		if err := putOrRestore(ctx, p.sink.o.Store, o.Object, redriveNext); err != nil {
			return err
		}
		delete(p.open, group)
		p.written[group] = true
	}
	return nil
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
