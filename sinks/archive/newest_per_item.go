package archive

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/internal/parallel"
)

// replaceTries is the number of times that another writer may win before the pipeline has to retry the write.
const replaceTries = 8

// maxItemLabel is the longest Object.Item. S3 limits the metadata of an object to 2 KB.
const maxItemLabel = 1000

// itemLabel returns the key of an item for Object.Item. A long key is cut, and then ends in ~ and a digest. No key
// contains ~.
func itemLabel(k item.Key) string {
	if len(k) <= maxItemLabel {
		return string(k)
	}
	return string(k[:maxItemLabel-65]) + "~" + digest(string(k))
}

// writeNewest writes the objects of a sink whose key has no version. Such an object holds the newest version of its
// item.
func (s *Sink) writeNewest(ctx context.Context, ds []pipeline.Delivery) error {
	objects := make(map[string][]int) // indexes of deliveries by object name
	var names []string                // in the order of their first deliveries
	for i := range ds {
		put := plannedPut(&ds[i])
		if put == nil {
			continue
		}
		if objects[put.Name] == nil {
			names = append(names, put.Name)
		}
		objects[put.Name] = append(objects[put.Name], i)
	}

	failures := make([]error, len(ds))
	_ = parallel.Each(len(names), parallelItems, func(n int) error {
		s.writeNewestObject(ctx, ds, objects[names[n]], failures)
		return nil
	})
	var failed pipeline.BatchError
	for i, err := range failures {
		failed.Add(i, err)
	}
	return failed.OrNil()
}

// writeNewestObject writes one object with the changes at indexes (of ds). They belong to several items only if the
// names of items collide. Then it writes one item after the other.
func (s *Sink) writeNewestObject(ctx context.Context, ds []pipeline.Delivery, indexes []int, failures []error) {
	for len(indexes) > 0 {
		var sameItem []int
		sameItem, indexes = splitByFirstItem(ds, indexes)
		s.writeNewestOf(ctx, ds, sameItem, failures)
	}
}

// splitByFirstItem splits indexes (of ds) into the deliveries that have the same item as the first delivery, and the
// others.
func splitByFirstItem(ds []pipeline.Delivery, indexes []int) (sameItem, others []int) {
	first := ds[indexes[0]].Change.Key
	for _, i := range indexes {
		if ds[i].Change.Key == first {
			sameItem = append(sameItem, i)
		} else {
			others = append(others, i)
		}
	}
	return sameItem, others
}

// writeNewestOf writes the newest change of one item to its object. indexes has the indexes into ds of the item's
// changes for this object. If the newest change can never be written, writeNewestOf writes the next older change
// instead, and so on. It sets the failures and the outcomes of all these changes.
func (s *Sink) writeNewestOf(ctx context.Context, ds []pipeline.Delivery, indexes []int, failures []error) {
	slices.SortStableFunc(indexes, func(i, j int) int { return ds[j].Change.Version.Compare(ds[i].Change.Version) })
	for n, i := range indexes {
		older := indexes[n+1:]
		err := s.putNewest(ctx, &ds[i])
		failures[i] = err
		if err == nil { // the older changes need not be written
			olderOutcome := pipeline.Coalesced
			if ds[i].Outcome == pipeline.Superseded {
				olderOutcome = pipeline.Superseded
			}
			for _, j := range older {
				ds[j].Outcome = olderOutcome
			}
			return
		}
		if _, retryable := pipeline.Retryable(err); retryable {
			for _, j := range older {
				failures[j] = err
			}
			return
		}
	}
}

// putNewest writes the object of a change, unless the stored object is as new or newer.
func (s *Sink) putNewest(ctx context.Context, d *pipeline.Delivery) error {
	line, err := s.newestLine(d.Change)
	if err != nil {
		return err
	}
	put := plannedPut(d)
	o := Object{
		Name: put.Name, Body: append(line, '\n'), ContentType: "application/json", Tags: put.Tags,
		Item: itemLabel(d.Change.Key), Version: d.Change.Version.String(),
	}
	err = s.o.Store.Put(ctx, o)
	for tries := 0; isOvertaken(err); tries++ {
		if tries == replaceTries {
			return overtaken(o.Name, replaceTries)
		}
		err = s.replaceOlder(ctx, d, o)
	}
	return err
}

// overtaken returns the error of a write that other writers overtook a number of times.
func overtaken(name string, times int) error {
	return pipeline.Transient(errs.Errorf("archive: write %s: others wrote it at the same time (tries: %d)", name, times))
}

// isOvertaken reports whether a write failed because another writer wrote or removed the object.
func isOvertaken(err error) bool { return errors.Is(err, ErrExists) || errors.Is(err, ErrNoObject) }

// replaceOlder writes o, the object of a delivery, in place of the stored object, unless the stored object is as new or
// newer. It sets the outcome Superseded if the stored object is newer.
func (s *Sink) replaceOlder(ctx context.Context, d *pipeline.Delivery, o Object) error {
	stored, err := s.replacer.Describe(ctx, o.Name)
	if errors.Is(err, ErrNoObject) { // it was removed
		return s.o.Store.Put(ctx, o)
	}
	if err != nil {
		return err
	}
	owner, version := newestOf(stored, hasTable(d.Change.Key))
	if owner != o.Item {
		return notOwned(o, owner)
	}
	order := version.Compare(d.Change.Version)
	if order > 0 {
		d.Outcome = pipeline.Superseded
	}
	if order >= 0 {
		return nil
	}
	return s.replacer.Replace(ctx, o, stored)
}

// newestOf returns the item and the version of a stored object. Both are zero if the object has no newest version of an
// item.
func newestOf(stored Stored, tableInKey bool) (owner string, version record.Version) {
	isDescribed := stored.Content == nil // by Item and Version
	if isDescribed {
		v, err := record.ParseVersion(stored.Version)
		if err != nil {
			return "", record.Version{}
		}
		return stored.Item, v
	}
	e, err := parseLine(bytes.TrimSpace(stored.Content), tableInKey)
	isHistory := !isNewest(e.Line) && !isPlain(e.Line)
	if err != nil || isHistory {
		return "", record.Version{}
	}
	return itemLabel(e.Key), e.Version
}

// checkRawName returns an error if an object's name with unescaped values is invalid.
func (s *Sink) checkRawName(name string) error {
	problem := nameProblem(name)
	if problem == "" && isLog(name) {
		problem = "ends like an object of the layout log"
	}
	if problem == "" {
		return nil
	}
	return errs.Errorf("archive: key %q: the object name %q %s; write names: escaped, or |esc after the placeholder",
		redact.Safe(s.o.Key.String()), name, redact.Safe(problem))
}

// notOwned returns the error for o if the stored object of that name belongs to the item owner. owner is "" if the
// stored object names no item.
func notOwned(o Object, owner string) error {
	if owner == "" {
		return errs.Errorf("archive: the object %s exists and names no item, so %s is not written: remove the object, or "+
			"let the archive have a prefix of its own", o.Name, o.Item)
	}
	return errs.Errorf("archive: the object %s holds the item %s already, and not %s: let the archive's key tell "+
		"items apart, for example with {@key}; with names: raw two items can come to one name", o.Name, owner, o.Item)
}

// newestStart is the beginning of a record in an object that holds the newest version of its item.
const newestStart = `{"` + record.NewestOnly + `":true,`

// isNewest reports whether a line is a record that newestLine marked.
func isNewest(line []byte) bool { return bytes.HasPrefix(line, []byte(newestStart)) }

// newestLine returns the line of a change. It marks a record, so that no replay takes the record for the history of its
// item.
func (s *Sink) newestLine(c *record.Change) ([]byte, error) {
	line, err := appendLine(nil, c, s.o.Images)
	if err != nil || s.o.Images == PlainJSON || isNewest(line) {
		return line, err
	}
	return append([]byte(newestStart), line[1:]...), nil
}

// checkNewest returns an error if the store cannot replace objects, or if items share an object.
func (s *Sink) checkNewest() error {
	if !s.newestOnly {
		return nil
	}
	if s.replacer == nil {
		return errs.Errorf("archive: Key %q has no {@version}, and the store cannot replace objects: add {@version}, "+
			"or give a store that is a Replacer", redact.Safe(s.o.Key.String()))
	}
	if !s.o.Key.NamesItem() {
		return errs.Errorf("archive: Key %q is the same for all items: name the item in it, for example with {@key}",
			redact.Safe(s.o.Key.String()))
	}
	return nil
}
