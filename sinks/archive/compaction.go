package archive

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/archive/internal/columnar"
	"github.com/tablewake/tablewake/sinks/internal/parallel"
	"github.com/tablewake/tablewake/sinks/internal/seq"
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
	Progress   func(CompactProgress) // called after each large object. Default: no call
}

// CompactProgress counts objects and bytes of a compaction, or of a dry run.
type CompactProgress struct {
	Objects, Bytes    int64 // small objects that were merged, and their sizes
	Large, LargeBytes int64 // resulting objects, and their sizes; a dry run does not know the sizes
	// Unchanged and UnchangedByClass count objects of the log that were not changed. Unchanged counts objects that are
	// too large, or that cannot be merged with another object. UnchangedByClass counts objects of another storage
	// class.
	Unchanged, UnchangedByClass int64
}

// groupCount limits the number of object names in memory.
const groupCount = 10_000

// Compact merges small objects of a log into large ones, for each folder and format, and keeps every line. It writes a
// large object and reads it back before it removes the small ones. A crash in between leaves changes in two objects.
// Then [Read] returns each of them once, and the next Compact continues.
//
// Compact does not change PerItem objects or objects of other storage classes. It also does not change an object if no
// other object has the same tags and columns.
//
// A reader that runs at the same time may miss objects, so an archive should not be read while it is compacted. Writers
// may continue.
func Compact(ctx context.Context, o CompactOptions) (CompactProgress, error) {
	o.Class, o.Target = cmp.Or(o.Class, "STANDARD"), cmp.Or(o.Target, 64<<20)
	o.Small = cmp.Or(o.Small, o.Target/4)
	c := &compaction{o: o, groups: make(map[Format]*smallObjects)}
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
	err := c.mergeAll(ctx)
	return c.progress, err
}

// compaction is the state of one call of Compact.
type compaction struct {
	o        CompactOptions
	folder   string
	groups   map[Format]*smallObjects // objects of the current folder that are not merged yet
	progress CompactProgress
}

// smallObjects are small objects of one folder and format.
type smallObjects struct {
	infos []Info
	size  int64
}

// addObject adds an object of the listing, if it is small and belongs to the log. Before that, it merges the objects of
// the last folder if the object is in another folder. It also merges the object's group first if the group is full.
func (c *compaction) addObject(ctx context.Context, info Info) error {
	f, isLog := formatOf(info.Name)
	if !isLog {
		return nil
	}
	if info.Class != "" && info.Class != c.o.Class {
		c.progress.UnchangedByClass++
		return nil
	}
	if info.Size >= c.o.Small {
		c.progress.Unchanged++
		return nil
	}

	if folder, _ := path.Split(info.Name); folder != c.folder {
		if err := c.mergeAll(ctx); err != nil {
			return err
		}
		c.folder = folder
	}
	group := c.groups[f]
	if group == nil {
		group = &smallObjects{}
		c.groups[f] = group
	}
	if group.size+info.Size > c.o.Target || len(group.infos) == groupCount {
		if err := c.mergeGroup(ctx, group); err != nil {
			return err
		}
	}
	group.infos = append(group.infos, info)
	group.size += info.Size
	return nil
}

// mergeAll merges the objects of all groups.
func (c *compaction) mergeAll(ctx context.Context) error {
	for _, f := range formats {
		if group := c.groups[f]; group != nil {
			if err := c.mergeGroup(ctx, group); err != nil {
				return err
			}
		}
	}
	return nil
}

// mergeGroup merges the objects of a group, and empties the group. It merges only objects with the same tags and
// columns.
func (c *compaction) mergeGroup(ctx context.Context, group *smallObjects) error {
	infos := group.infos
	group.infos, group.size = nil, 0
	if len(infos) < 2 {
		c.progress.Unchanged += int64(len(infos))
		return nil
	}
	sets, err := c.mergeableSets(ctx, infos)
	if err != nil {
		return err
	}
	for _, set := range sets {
		if len(set.infos) < 2 {
			c.progress.Unchanged += int64(len(set.infos))
			continue
		}
		if err := c.mergeSet(ctx, set); err != nil {
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

// matches reports whether an object with these tags and this schema can be merged with the set.
func (s *objectSet) matches(tags []Tag, schema parquetSchema) bool {
	return slices.Equal(s.tags, tags) && s.schema.plain == schema.plain && slices.Equal(s.schema.columns, schema.columns)
}

// mergeableSets divides objects of one folder and format into sets that can be merged.
func (c *compaction) mergeableSets(ctx context.Context, infos []Info) ([]*objectSet, error) {
	tagger, hasTags := c.o.Store.(Tagger)
	f, _ := formatOf(infos[0].Name)
	tags, schemas := make([][]Tag, len(infos)), make([]parquetSchema, len(infos))
	failures := parallel.Each(len(infos), loaders, func(i int) error {
		var tagErr, schemaErr error
		if hasTags {
			tags[i], tagErr = tagger.Tags(ctx, infos[i].Name)
		}
		if f == Parquet {
			schemas[i], schemaErr = schemaOf(ctx, c.o.Store, infos[i].Name)
		}
		return errors.Join(tagErr, schemaErr)
	})
	if err := errors.Join(failures...); err != nil {
		return nil, err
	}
	var sets []*objectSet
	for i, info := range infos {
		n := slices.IndexFunc(sets, func(s *objectSet) bool { return s.matches(tags[i], schemas[i]) })
		if n < 0 {
			n = len(sets)
			sets = append(sets, &objectSet{tags: tags[i], schema: schemas[i]})
		}
		sets[n].infos = append(sets[n].infos, info)
	}
	return sets, nil
}

// mergeSet replaces the objects of a set by one object.
func (c *compaction) mergeSet(ctx context.Context, set *objectSet) error {
	if c.o.DryRun {
		c.progress.addMerged(set, 0)
		return nil
	}
	large, err := c.largeObject(ctx, set)
	if err != nil {
		return err
	}
	if err := putOrRestore(ctx, c.o.Store, large, "compact again: nothing was removed"); err != nil {
		return err
	}
	if err := verifyLog(ctx, c.o.Store, large.Name); err != nil {
		return fmt.Errorf("%w: nothing was removed", err)
	}
	var names []string
	for _, info := range set.infos {
		if info.Name != large.Name { // otherwise one small object already has all lines
			names = append(names, info.Name)
		}
	}
	if err := c.o.Store.Remove(ctx, names); err != nil {
		return err
	}
	c.progress.addMerged(set, int64(len(large.Body)))
	return nil
}

// addMerged counts the objects of a set as replaced by one object of size bytes.
func (p *CompactProgress) addMerged(set *objectSet, size int64) {
	p.Large++
	p.LargeBytes += size
	p.Objects += int64(len(set.infos))
	for _, info := range set.infos {
		p.Bytes += info.Size
	}
}

// lineWriter builds an object of lines. A line is JSON, or an encoded row.
type lineWriter interface {
	add(line []byte, v record.Version) error
	finish(o *Object, folder string) error
}

// newBody returns an empty object for the lines of the set.
func (s *objectSet) newBody() (lineWriter, error) {
	f, _ := formatOf(s.infos[0].Name)
	if f == Parquet {
		b := &rowsBody{&parquetBody{}, len(s.schema.columns)}
		b.writer = columnar.NewWriter(&b.out, s.schema.columns, s.schema.plain)
		return b, nil
	}
	return newJSONLBody(&compressorPool{format: f})
}

// largeObject returns an object that has every line of the set once.
func (c *compaction) largeObject(ctx context.Context, set *objectSet) (Object, error) {
	body, err := set.newBody()
	if err != nil {
		return Object{}, err
	}
	read := ReadOptions{TableInKey: c.o.TableInKey, rows: true}
	for same, err := range readGroups(ctx, c.o.Store, read, seq.Of(set.infos, nil)) {
		if err != nil {
			return Object{}, err
		}
		// One version may have several different lines. The Streams API and Lambda send different bytes, and the format
		// or the mask may have changed. Only equal lines are merged.
		slices.SortFunc(same, func(a, b Entry) int { return bytes.Compare(a.Line, b.Line) })
		for _, e := range slices.CompactFunc(same, func(a, b Entry) bool { return bytes.Equal(a.Line, b.Line) }) {
			if err := body.add(e.Line, e.Version); err != nil {
				return Object{}, err
			}
		}
	}
	o := Object{Tags: set.tags}
	err = body.finish(&o, c.folder)
	return o, err
}

// verifyLog reads an object of a log to its end. It returns an error if the object does not have the lines or rows
// whose digest is in its name.
func verifyLog(ctx context.Context, s Store, name string) error {
	f, _ := formatOf(name)
	readDigest := linesDigest
	if f == Parquet {
		readDigest = rowsDigest
	}
	digest, err := readDigest(ctx, s, name)
	if err == nil && !strings.HasSuffix(name, nameEnd(digest, f)) {
		err = errs.Errorf("archive: %s: it does not have the lines whose digest is in its name", name)
	}
	return err
}

// linesDigest reads an object of lines back, and returns the digest of its lines.
func linesDigest(ctx context.Context, s Store, name string) (digest []byte, err error) {
	lines, err := openLines(ctx, s, name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lines.Close()) }()
	sum := sha256.New()
	if _, err := io.Copy(sum, lines); err != nil {
		return nil, fmt.Errorf("archive: %s: %w", name, err)
	}
	return sum.Sum(nil), nil
}
