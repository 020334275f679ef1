package archive

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/internal/parallel"
)

// Remover is a store that can remove objects.
type Remover interface {
	Lister

	// Remove removes objects, and returns after they are permanently gone. It ignores a missing object.
	Remove(ctx context.Context, names []string) error
}

// Tagger is a store that returns the tags of an object, sorted by key.
type Tagger interface {
	Tags(ctx context.Context, name string) ([]Tag, error)
}

// CompactOptions configure a compaction.
type CompactOptions struct {
	Store  Remover // required; has the small objects, and gets the large ones
	Prefix string  // beginning of the object names. Default: all objects
	Class  string  // only objects of this storage class are compacted. Default: STANDARD
	Small  int64   // objects below this size are compacted, in compressed bytes. Default: a quarter of Target
	Target int64   // approximate size of the large objects. Default: 64 MiB
	DryRun bool    // only report the work

	TableInKey bool                  // the same as in ReadOptions
	TempDir    string                // the same as in ReadOptions
	Progress   func(CompactProgress) // called after each large object. Default: no call
}

// CompactProgress counts objects and bytes of a compaction, or of a dry run.
type CompactProgress struct {
	Objects, Bytes    int64 // small objects that were merged, and their sizes
	Large, LargeBytes int64 // resulting objects, and their sizes; a dry run does not know the sizes
	// Left and LeftInClass count objects of the log that were not changed. Left are too large, or have no other object
	// to be merged with. LeftInClass have another storage class.
	Left, LeftInClass  int64
	Looked, LookedSize int64 // all listed objects of the log, and their sizes
}

// groupCount limits the number of object names in memory.
const groupCount = 10_000

// Compact merges small objects of a log into large ones, for each folder and format, and keeps every line. It writes a
// large object and reads it back before it removes the small ones. A crash in between leaves changes in two objects.
// Then [Read] returns each of them once, and the next Compact continues.
//
// Compact changes neither PerItem objects, nor objects of other storage classes, nor an object that no other object
// shares its tags and columns with.
//
// A reader that runs at the same time may miss objects, so an archive should not be read while it is compacted. Writers
// may continue.
func Compact(ctx context.Context, o CompactOptions) (CompactProgress, error) {
	o.Class, o.Target = cmp.Or(o.Class, "STANDARD"), cmp.Or(o.Target, 64<<20)
	o.Small = cmp.Or(o.Small, o.Target/4)
	c := &compaction{o: o, groups: make(map[Format]*group)}
	switch {
	case o.Store == nil:
		return c.progress, errs.New("archive: Store is nil: give the store that holds the objects")
	case o.Target < 0 || o.Small < 0 || o.Small > o.Target:
		return c.progress, errs.Errorf("archive: Small is %d and Target %d: objects below the first become objects of the second",
			o.Small, o.Target)
	}
	for info, err := range o.Store.List(ctx, o.Prefix) {
		if err == nil {
			err = c.addObject(ctx, info)
		}
		if err != nil {
			return c.progress, err
		}
	}
	err := c.flushAll(ctx)
	return c.progress, err
}

// compaction is the state of one call of Compact.
type compaction struct {
	o        CompactOptions
	folder   string
	groups   map[Format]*group // groups of the current folder
	progress CompactProgress
}

// group has the small objects of one folder and format.
type group struct {
	infos []Info
	size  int64
}

func (c *compaction) addObject(ctx context.Context, info Info) error {
	f, log := formatOf(info.Name)
	if !log {
		return nil
	}
	c.progress.Looked++
	c.progress.LookedSize += info.Size
	switch {
	case info.Class != "" && info.Class != c.o.Class:
		c.progress.LeftInClass++
		return nil
	case info.Size >= c.o.Small:
		c.progress.Left++
		return nil
	}
	if folder, _ := path.Split(info.Name); folder != c.folder {
		if err := c.flushAll(ctx); err != nil {
			return err
		}
		c.folder = folder
	}
	g := c.groups[f]
	if g == nil {
		g = &group{}
		c.groups[f] = g
	}
	if g.size+info.Size > c.o.Target || len(g.infos) == groupCount {
		if err := c.flush(ctx, g); err != nil {
			return err
		}
	}
	g.infos = append(g.infos, info)
	g.size += info.Size
	return nil
}

func (c *compaction) flushAll(ctx context.Context) error {
	for _, f := range formats {
		if g := c.groups[f]; g != nil {
			if err := c.flush(ctx, g); err != nil {
				return err
			}
		}
	}
	return nil
}

// flush merges the objects of a group. It merges only objects with the same tags and columns.
func (c *compaction) flush(ctx context.Context, g *group) error {
	infos := g.infos
	g.infos, g.size = nil, 0
	if len(infos) < 2 {
		c.progress.Left += int64(len(infos))
		return nil
	}
	sets, err := c.sets(ctx, infos)
	if err != nil {
		return err
	}
	for _, same := range sets {
		if len(same.infos) < 2 {
			c.progress.Left += int64(len(same.infos))
			continue
		}
		if err := c.mergeSet(ctx, same); err != nil {
			return err
		}
		if c.o.Progress != nil {
			c.o.Progress(c.progress)
		}
	}
	return nil
}

// objectSet has objects of one folder and format that can be merged. They have the same tags and, if they are Parquet,
// the same columns.
type objectSet struct {
	tags   []Tag
	schema parquetSchema
	infos  []Info
}

func (c *compaction) sets(ctx context.Context, infos []Info) ([]*objectSet, error) {
	tagger, tagged := c.o.Store.(Tagger)
	f, _ := formatOf(infos[0].Name)
	tags, schemas := make([][]Tag, len(infos)), make([]parquetSchema, len(infos))
	errs := parallel.Each(len(infos), loaders, func(i int) error {
		var tagErr, schemaErr error
		if tagged {
			tags[i], tagErr = tagger.Tags(ctx, infos[i].Name)
		}
		if f == Parquet {
			schemas[i], schemaErr = schemaOf(ctx, c.o.Store, infos[i].Name)
		}
		return errors.Join(tagErr, schemaErr)
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var all []*objectSet
	for i, info := range infos {
		at := slices.IndexFunc(all, func(l *objectSet) bool {
			return slices.Equal(l.tags, tags[i]) && l.schema.plain == schemas[i].plain &&
				slices.Equal(l.schema.columns, schemas[i].columns)
		})
		if at < 0 {
			all = append(all, &objectSet{tags: tags[i], schema: schemas[i]})
			at = len(all) - 1
		}
		all[at].infos = append(all[at].infos, info)
	}
	return all, nil
}

// mergeSet replaces the objects of a set by one object.
func (c *compaction) mergeSet(ctx context.Context, group *objectSet) error {
	c.progress.Large++
	c.progress.Objects += int64(len(group.infos))
	names := make([]string, 0, len(group.infos))
	for _, info := range group.infos {
		c.progress.Bytes += info.Size
		names = append(names, info.Name)
	}
	if c.o.DryRun {
		return nil
	}
	large, digest, err := c.largeObject(ctx, group)
	if err != nil {
		return err
	}
	c.progress.LargeBytes += int64(len(large.Body))
	if err := putUnlessExists(ctx, c.o.Store, large); err != nil {
		return err
	}
	read := c.linesDigest
	if strings.HasSuffix(large.Name, Parquet.suffix()) {
		read = c.rowsDigest
	}
	switch stored, err := read(ctx, large.Name); {
	case err != nil:
		return err
	case !bytes.Equal(stored, digest):
		return errs.Errorf("archive: %s is not read back as it was written: nothing was removed", large.Name)
	}
	// the large object has this name if one small object already had all lines
	names = slices.DeleteFunc(names, func(n string) bool { return n == large.Name })
	return c.o.Store.Remove(ctx, names)
}

// lineWriter builds an object of lines. A line is JSON, or an encoded row.
type lineWriter interface {
	add(line []byte, v record.Version) error
	finish(o *Object, folder string) error
	sum() []byte
	free()
}

func (l *objectSet) newBody() (lineWriter, error) {
	f, _ := formatOf(l.infos[0].Name)
	if f == Parquet {
		return newRowsBody(l.schema), nil
	}
	return newJSONLBody(&compressorPool{format: f})
}

// largeObject returns an object that has every line of the set once, and the digest of its lines.
func (c *compaction) largeObject(ctx context.Context, group *objectSet) (o Object, digest []byte, err error) {
	b, err := group.newBody()
	if err != nil {
		return Object{}, nil, err
	}
	defer b.free()
	infos := func(yield func(Info, error) bool) {
		for _, info := range group.infos {
			if !yield(info, nil) {
				return
			}
		}
	}
	read := ReadOptions{TableInKey: c.o.TableInKey, TempDir: c.o.TempDir, rows: true}
	for same, err := range readGroups(ctx, c.o.Store, read, iter.Seq2[Info, error](infos)) {
		if err != nil {
			return Object{}, nil, err
		}
		// One version may have several different lines. The Streams API and Lambda send different bytes, and the format
		// or the mask may have changed. Only equal lines are merged.
		slices.SortFunc(same, func(a, b Entry) int { return bytes.Compare(a.Line, b.Line) })
		for _, e := range slices.CompactFunc(same, func(a, b Entry) bool { return bytes.Equal(a.Line, b.Line) }) {
			if err := b.add(e.Line, e.Version); err != nil {
				return Object{}, nil, err
			}
		}
	}
	o.Tags = group.tags
	err = b.finish(&o, c.folder)
	return o, b.sum(), err
}

// linesDigest reads an object back, and returns the digest of its lines.
func (c *compaction) linesDigest(ctx context.Context, name string) (digest []byte, err error) {
	in, err := c.o.Store.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	f, _ := formatOf(name)
	plain, err := decompress(f, in)
	if err != nil {
		return nil, fmt.Errorf("archive: %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, plain.Close()) }()
	sum := sha256.New()
	if _, err := io.Copy(sum, plain); err != nil {
		return nil, fmt.Errorf("archive: %s: %w", name, err)
	}
	return sum.Sum(nil), nil
}
