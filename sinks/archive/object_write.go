package archive

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"hash/crc32"
	"maps"
	"slices"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/internal/parallel"
)

// Write writes the planned objects, and returns when they are durable.
func (s *Sink) Write(ctx context.Context, ds []pipeline.Delivery) error {
	for i := range ds {
		ds[i].Change = s.o.Mask.Change(ds[i].Change)
	}
	switch {
	case s.newestOnly:
		return s.writeNewest(ctx, ds)
	case s.o.Layout == PerItem:
		return s.writeItems(ctx, ds)
	}
	return s.writeLog(ctx, ds)
}

// objectGroup identifies the changes of a batch that go into one object. table is "" unless tags name the table.
type objectGroup struct{ folder, table string }

// groupOf returns the group of a delivery with the planned put.
func (s *Sink) groupOf(d *pipeline.Delivery, put *Put) objectGroup {
	if s.splitByTable {
		return objectGroup{put.Folder, d.Change.Table}
	}
	return objectGroup{folder: put.Folder}
}

// putOrRestore writes an object whose name has a digest of its lines. So an existing object of this name has the same
// lines, and counts as success. If the existing object is damaged, putOrRestore replaces it. If the server cannot, the
// error tells the user to remove the object and then to do what next says.
func putOrRestore(ctx context.Context, store Store, o Object, next redact.Safe) error {
	err := store.Put(ctx, o)
	if !errors.Is(err, ErrExists) {
		return err
	}
	replacer, ok := store.(Replacer)
	if !ok {
		return nil
	}
	stored, err := replacer.Describe(ctx, o.Name)
	if err == nil && !stored.isBody(o.Body) {
		// Another version of the program may compress the same lines to other bytes. Such an object stays as it is, with
		// its age and storage class.
		readErr := verifyLog(ctx, store, o.Name)
		err = replaceDamaged(ctx, replacer, o, stored, readErr, next)
	}
	if isOvertaken(err) {
		return overtaken(o.Name, 1)
	}
	return err
}

// isBody reports whether a stored object has the given bytes. Without the stored bytes, isBody compares size and
// checksum.
func (s *Stored) isBody(body []byte) bool {
	switch {
	case s.Content != nil:
		return bytes.Equal(s.Content, body)
	case s.Size != int64(len(body)):
		return false
	}
	return s.CRC32C == nil || *s.CRC32C == crc32.Checksum(body, castagnoli)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// redriveNext is what the user must do after removing an object whose changes are dead letters.
const redriveNext = redact.Safe("redrive the dead letters of its changes")

// replaceDamaged replaces a stored object by o if readErr, the error of reading the stored object, means that it is
// damaged.
func replaceDamaged(
	ctx context.Context, replacer Replacer, o Object, stored Stored, readErr error, next redact.Safe,
) error {
	if damaged, err := isDamaged(ctx, readErr); err != nil || !damaged {
		return err
	}
	err := replacer.Replace(ctx, o, stored)
	if errors.Is(err, ErrNoConditions) {
		// This error is not fatal, since all other objects can still be written. It is no success either, since the
		// archive does not have these changes.
		return errs.Errorf("archive: the object %s is damaged, and this server cannot replace it: remove the object, and "+
			"then %s", o.Name, next)
	}
	return err
}

// isDamaged reports whether err, the error of reading an object, means that the object is damaged. If the object could
// not be read for another reason, isDamaged returns the error. An object that must be restored first counts as
// undamaged.
func isDamaged(ctx context.Context, err error) (bool, error) {
	if err == nil {
		return false, nil
	}
	if ctx.Err() != nil {
		return false, pipeline.Transient(context.Cause(ctx))
	}
	if _, frozen := errors.AsType[*FrozenError](err); frozen {
		return false, nil
	}
	_, retryable := pipeline.Retryable(err)
	isOtherReason := retryable || pipeline.IsFatal(err) || isOvertaken(err)
	if isOtherReason {
		return false, err
	}
	return true, nil
}

// writeLog writes one object for each group. If an object fails, its changes fail.
func (s *Sink) writeLog(ctx context.Context, ds []pipeline.Delivery) error {
	groups := make(map[objectGroup][]int) // indexes of deliveries
	for i := range ds {
		if p := plannedPut(&ds[i]); p != nil {
			group := s.groupOf(&ds[i], p)
			groups[group] = append(groups[group], i)
		}
	}
	order := slices.SortedFunc(maps.Keys(groups), func(a, b objectGroup) int {
		return cmp.Or(cmp.Compare(a.folder, b.folder), cmp.Compare(a.table, b.table))
	})
	var failed pipeline.BatchError
	for _, group := range order {
		o, err := s.buildObject(group.folder, ds, groups[group])
		if err == nil {
			err = putOrRestore(ctx, s.o.Store, o, redriveNext)
		}
		if err != nil {
			for _, i := range groups[group] {
				failed.Add(i, err)
			}
		}
	}
	return failed.OrNil()
}

// plannedPut returns the Put of a delivery; nil if the delivery has none.
func plannedPut(d *pipeline.Delivery) *Put {
	if len(d.Ops) != 1 {
		return nil
	}
	p, _ := d.Ops[0].(*Put)
	return p
}

// buildObject builds the object of the deliveries at indexes. It sorts them by item and version. A change that occurs
// twice is Coalesced. The name has the lowest and the highest version and a digest of the lines before compression.
func (s *Sink) buildObject(folder string, ds []pipeline.Delivery, indexes []int) (o Object, err error) {
	sorted := slices.Clone(indexes)
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
	var last *record.Change
	for _, i := range sorted {
		c := ds[i].Change
		if last != nil && last.Key == c.Key && last.Version == c.Version {
			ds[i].Outcome = pipeline.Coalesced
			continue
		}
		last = c
		if err := body.add(c, plannedPut(&ds[i]).Columns); err != nil {
			return Object{}, err
		}
	}
	err = body.finish(&o, folder)
	return o, err
}

// objectWriter builds an object of a log, change by change.
type objectWriter interface {
	add(c *record.Change, columns []item.Value) error
	finish(o *Object, folder string) error
}

func (s *Sink) newObject() (objectWriter, error) {
	if s.compressors.format == Parquet {
		return newParquetBody(s.o.Columns, s.o.Images), nil
	}
	b, err := newJSONLBody(&s.compressors)
	if err != nil {
		return nil, err
	}
	return &jsonlChanges{jsonlBody: b, images: s.o.Images}, nil
}

// jsonlChanges adds changes to a jsonlBody.
type jsonlChanges struct {
	*jsonlBody
	images LineFormat
	line   []byte
}

func (l *jsonlChanges) add(c *record.Change, _ []item.Value) (err error) {
	if l.line, err = appendLine(l.line[:0], c, l.images); err != nil {
		return err
	}
	return l.jsonlBody.add(l.line, c.Version)
}

// parallelItems is the number of objects that one Write writes concurrently.
const parallelItems = 16

// writeItems writes one object for each change.
func (s *Sink) writeItems(ctx context.Context, ds []pipeline.Delivery) error {
	var failed pipeline.BatchError
	for i, err := range parallel.Each(len(ds), parallelItems, func(i int) error { return s.writeItem(ctx, &ds[i]) }) {
		failed.Add(i, err)
	}
	return failed.OrNil()
}

// writeItem writes the object of one change.
func (s *Sink) writeItem(ctx context.Context, d *pipeline.Delivery) error {
	put := plannedPut(d)
	if put == nil {
		return nil
	}
	line, err := appendLine(nil, d.Change, s.o.Images)
	if err != nil {
		return err
	}
	o := Object{Name: put.Name, Body: append(line, '\n'), ContentType: "application/json", Tags: put.Tags,
		Identity: changeDigest(d.Change)}
	err = s.o.Store.Put(ctx, o)
	if !errors.Is(err, ErrExists) {
		return err
	}
	if err = s.checkSame(ctx, o, d.Change); isOvertaken(err) {
		return overtaken(o.Name, 1)
	}
	return err
}

// checkSame returns an error if the existing object is not the same change. The bytes of the same change may differ,
// since the Streams API and Lambda write a record differently. If the object is the same change and is damaged,
// checkSame replaces it.
func (s *Sink) checkSame(ctx context.Context, o Object, c *record.Change) error {
	described, err := s.describe(ctx, o.Name)
	if err != nil {
		return err
	}
	hasIdentity := described.Identity != ""
	if hasIdentity && described.Identity != o.Identity {
		return errs.Errorf(
			"archive: the object %s holds another version or item already, and not version %s of %s: let its key name the item and {@version}", o.Name, c.Version, c.Key)
	}
	isKnown := hasIdentity || described.Content != nil // otherwise the description may have only the size
	if isKnown && described.isBody(o.Body) {
		return nil
	}

	stored, err := readItem(ctx, s.o.Store, o.Name, hasTable(c.Key))
	if err != nil {
		return s.replaceUnreadable(ctx, o, described, err)
	}
	identity, err := stored.versionIdentity(hasTable(c.Key))
	if err != nil {
		return err
	}
	if stored.Key != c.Key || identity != versionIdentity(c) {
		return errs.Errorf(
			"archive: the object %s holds version %s of %s already, and not version %s of %s: let its key name the item and {@version}",
			o.Name, stored.Version, stored.Key, c.Version, c.Key)
	}
	return nil
}

// changeDigest returns a digest of the key and the version of a change.
func changeDigest(c *record.Change) string {
	return digest(string(c.Key) + "\x00" + versionIdentity(c))
}

// describe returns what the store knows of an object without reading it; zero if the store cannot describe objects.
func (s *Sink) describe(ctx context.Context, name string) (Stored, error) {
	if describer, ok := s.o.Store.(Describer); ok {
		return describer.Describe(ctx, name)
	}
	return Stored{}, nil
}

// replaceUnreadable replaces a stored object by o, if what is stored shows that it was o. Otherwise it returns readErr,
// the error of reading the object.
func (s *Sink) replaceUnreadable(ctx context.Context, o Object, stored Stored, readErr error) error {
	wasSame := stored.Identity != "" || isUnfinished(stored.Content, o.Body)
	if s.replacer == nil || !wasSame {
		return readErr
	}
	return replaceDamaged(ctx, s.replacer, o, stored, readErr, redriveNext)
}

// isUnfinished reports whether content may be what a crash left of a file with the given body: its start, or zero
// bytes. content is nil if it is unknown.
func isUnfinished(content, body []byte) bool {
	return content != nil && (bytes.HasPrefix(body, content) || len(bytes.Trim(content, "\x00")) == 0)
}
