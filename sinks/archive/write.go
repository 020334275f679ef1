package archive

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/bounded"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/internal/parallel"
)

// Write writes the planned objects and returns when they are durable.
func (s *Sink) Write(ctx context.Context, ds []pipeline.Delivery) error {
	for i := range ds {
		ds[i].Change = s.mask.Change(ds[i].Change)
	}
	if s.layout == PerItem {
		return s.writeItems(ctx, ds)
	}
	return s.writeLog(ctx, ds)
}

// place is where a change of a log goes: changes of one place make one object.
type place struct{ folder, table string }

// writeLog writes one object for each place. An object that fails, fails the
// changes in it.
func (s *Sink) writeLog(ctx context.Context, ds []pipeline.Delivery) error {
	places := make(map[place][]int) // deliveries by place
	for i := range ds {
		if p := planned(&ds[i]); p != nil {
			at := place{folder: p.Folder}
			if s.byTable {
				at.table = ds[i].Change.Table
			}
			places[at] = append(places[at], i)
		}
	}
	order := slices.SortedFunc(maps.Keys(places), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.folder, b.folder), cmp.Compare(a.table, b.table))
	})
	var failed pipeline.BatchError
	for _, at := range order {
		of := places[at]
		o, err := s.object(at.folder, ds, of)
		if err == nil {
			err = s.store.Put(ctx, o)
		}
		if err != nil && !errors.Is(err, ErrExists) {
			for _, i := range of {
				failed.Add(i, err)
			}
		}
	}
	return failed.OrNil()
}

// planned is what Plan made of a delivery.
func planned(d *pipeline.Delivery) *Put {
	if len(d.Ops) != 1 {
		return nil
	}
	p, _ := d.Ops[0].(*Put)
	return p
}

// object makes one object of the deliveries of, in the order of their items and
// versions; one that is there twice is Coalesced. The name is made of the lowest
// and the highest version and of the lines, before compression.
func (s *Sink) object(folder string, ds []pipeline.Delivery, of []int) (o Object, err error) {
	sorted := slices.Clone(of)
	slices.SortStableFunc(sorted, func(i, j int) int {
		a, b := ds[i].Change, ds[j].Change
		return cmp.Or(cmp.Compare(a.Key, b.Key), a.Version.Compare(b.Version))
	})
	scope := template.ScopeOf(ds[sorted[0]].Change)
	if o.Tags, err = s.tagsOf(scope); err != nil {
		return Object{}, err
	}
	body, err := s.newObject()
	if err != nil {
		return Object{}, err
	}
	defer body.free()
	var last *record.Change
	for _, i := range sorted {
		c := ds[i].Change
		if last != nil && last.Key == c.Key && last.Version == c.Version {
			ds[i].Outcome = pipeline.Coalesced
			continue
		}
		last = c
		if err := body.add(c, planned(&ds[i]).Columns); err != nil {
			return Object{}, err
		}
	}
	return o, body.finish(&o, folder)
}

// growing is an object of a log as it grows, change by change; free it.
type growing interface {
	add(c *record.Change, columns []item.Value) error
	finish(o *Object, folder string) error
	free()
}

func (s *Sink) newObject() (growing, error) {
	if s.packers.format == Parquet {
		return newParquetBody(s.columns, s.images), nil
	}
	b, err := newBody(&s.packers)
	if err != nil {
		return nil, err
	}
	return &lines{body: b, images: s.images}, nil
}

// lines is a body that changes are added to.
type lines struct {
	*body
	images Images
	line   []byte
}

func (l *lines) add(c *record.Change, _ []item.Value) (err error) {
	if l.line, err = appendLine(l.line[:0], c, l.images); err != nil {
		return err
	}
	return l.body.add(l.line, c.Version)
}

// parallelItems is how many objects of one Write are written at once.
const parallelItems = 16

// writeItems writes one object for each change.
func (s *Sink) writeItems(ctx context.Context, ds []pipeline.Delivery) error {
	var failed pipeline.BatchError
	for i, err := range parallel.Each(len(ds), parallelItems, func(i int) error { return s.writeItem(ctx, &ds[i]) }) {
		failed.Add(i, err)
	}
	return failed.OrNil()
}

func (s *Sink) writeItem(ctx context.Context, d *pipeline.Delivery) error {
	p := planned(d)
	if p == nil {
		return nil
	}
	line, err := appendLine(nil, d.Change, s.images)
	if err != nil {
		return err
	}
	err = s.store.Put(ctx, Object{Name: p.Name, Body: append(line, '\n'), ContentType: "application/json", Tags: p.Tags, Of: identity(d.Change)})
	if !errors.Is(err, ErrExists) {
		return err
	}
	return s.checkSame(ctx, p.Name, d.Change)
}

// checkSame is nil where the object is the change, though perhaps in other bytes:
// one record is written differently by the Streams API and by Lambda.
func (s *Sink) checkSame(ctx context.Context, name string, c *record.Change) error {
	if store, ok := s.store.(Identifier); ok {
		of, err := store.Of(ctx, name)
		if err != nil || of == identity(c) {
			return err
		}
		if of != "" {
			return errs.Errorf("archive: the object %s holds another version or item already, and not version %s of %s: let its key name the item and {@version}", name, c.Version, c.Key)
		}
	}
	r, err := s.store.Get(ctx, name)
	if err != nil {
		return err
	}
	body, err := bounded.ReadAll(r, bounded.Object)
	if err := errors.Join(err, r.Close()); err != nil {
		return pipeline.Transient(fmt.Errorf("archive: read %s: %w", name, err))
	}
	there, err := parseLine(bytes.TrimSpace(body), hasTable(c.Key))
	if err != nil {
		return fmt.Errorf("archive: %s: %w", name, err)
	}
	is := there.Version.String()
	if there.Version.Kinesis() {
		id, err := there.eventID(hasTable(c.Key))
		if err != nil {
			return err
		}
		is = identityOf(&record.Change{Version: there.Version, EventID: id})
	}
	if there.Key != c.Key || is != identityOf(c) {
		return errs.Errorf("archive: the object %s holds version %s of %s already, and not version %s of %s: let its key name the item and {@version}",
			name, there.Version, there.Key, c.Version, c.Key)
	}
	return nil
}

// identity tells an item's version from any other, and nothing else of it.
func identity(c *record.Change) string { return digest(string(c.Key) + "\x00" + identityOf(c)) }
