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

// Remover is a store whose objects can be removed.
type Remover interface {
	Lister

	// Remove removes objects and blocks until they are gone for good. One that is not
	// there is removed already.
	Remove(ctx context.Context, names []string) error
}

// Tagger is a store that tells the tags of an object, sorted by key.
type Tagger interface {
	Tags(ctx context.Context, name string) ([]Tag, error)
}

// CompactOptions say what is compacted.
type CompactOptions struct {
	Store  Remover // required; what it writes are the large objects
	Prefix string  // of the object names. Default: all
	Class  string  // storage class of the objects that are looked at. Default: STANDARD
	Small  int64   // objects below it are rolled into large ones, in bytes, compressed. Default: a quarter of Target
	Target int64   // size of the large ones, about. Default: 64 MiB
	DryRun bool    // only tell what would be done

	TableInKey bool                  // as ReadOptions has it
	TempDir    string                // as ReadOptions has it
	Progress   func(CompactProgress) // told after each large object. Default: not told
}

// CompactProgress is what was done, or would be.
type CompactProgress struct {
	Objects, Bytes     int64 // small ones that were rolled up, and their sizes
	Large, LargeBytes  int64 // those that came of them; their sizes are not known in a dry run
	Left, LeftInClass  int64 // objects of the log that were left alone: for their size or lack of others, and for their storage class
	Looked, LookedSize int64 // all objects of the log, and their sizes
}

// groupCount bounds the names that are held at once.
const groupCount = 10_000

// Compact rolls small objects of a log into large ones, folder by folder and format by
// format, and keeps every line. A large object is written and read back
// before the small ones it is made of are removed, so a crash in between leaves
// changes twice, which [Read] gives once; the next run goes on. Objects of other storage
// classes, of other tags or columns than their neighbours', and those of one change each stay as
// they are.
//
// Objects that are listed by a reader while they are rolled up may be missed by it:
// compact an archive that nobody reads just then. Whoever writes to it may go on.
func Compact(ctx context.Context, o CompactOptions) (CompactProgress, error) {
	o.Class, o.Target = cmp.Or(o.Class, "STANDARD"), cmp.Or(o.Target, 64<<20)
	o.Small = cmp.Or(o.Small, o.Target/4)
	c := &compaction{o: o, groups: make(map[Format]*group)}
	switch {
	case o.Store == nil:
		return c.done, errs.New("archive: Store is nil: give the store that holds the objects")
	case o.Target < 0 || o.Small < 0 || o.Small > o.Target:
		return c.done, errs.Errorf("archive: Small is %d and Target %d: objects below the first become objects of the second", o.Small, o.Target)
	}
	for info, err := range o.Store.List(ctx, o.Prefix) {
		if err == nil {
			err = c.take(ctx, info)
		}
		if err != nil {
			return c.done, err
		}
	}
	err := c.flushAll(ctx)
	return c.done, err
}

// compaction is one run.
type compaction struct {
	o      CompactOptions
	folder string
	groups map[Format]*group // of the folder
	done   CompactProgress
}

// group is small objects of one folder and format.
type group struct {
	infos []Info
	size  int64
}

func (c *compaction) take(ctx context.Context, info Info) error {
	f, log := formatOf(info.Name)
	if !log {
		return nil
	}
	c.done.Looked++
	c.done.LookedSize += info.Size
	switch {
	case info.Class != "" && info.Class != c.o.Class:
		c.done.LeftInClass++
		return nil
	case info.Size >= c.o.Small:
		c.done.Left++
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

// flush rolls up the objects that were gathered, those that are alike together.
func (c *compaction) flush(ctx context.Context, g *group) error {
	infos := g.infos
	g.infos, g.size = nil, 0
	if len(infos) < 2 {
		c.done.Left += int64(len(infos))
		return nil
	}
	alike, err := c.alike(ctx, infos)
	if err != nil {
		return err
	}
	for _, same := range alike {
		if len(same.infos) < 2 {
			c.done.Left += int64(len(same.infos))
			continue
		}
		if err := c.roll(ctx, same); err != nil {
			return err
		}
		if c.o.Progress != nil {
			c.o.Progress(c.done)
		}
	}
	return nil
}

// like are objects of one folder and format, of the same tags, and of the same columns
// where they are Parquet.
type like struct {
	tags  []Tag
	form  form
	infos []Info
}

func (c *compaction) alike(ctx context.Context, infos []Info) ([]*like, error) {
	tagger, tagged := c.o.Store.(Tagger)
	f, _ := formatOf(infos[0].Name)
	tags, forms := make([][]Tag, len(infos)), make([]form, len(infos))
	errs := parallel.Each(len(infos), loaders, func(i int) error {
		var tagErr, formErr error
		if tagged {
			tags[i], tagErr = tagger.Tags(ctx, infos[i].Name)
		}
		if f == Parquet {
			forms[i], formErr = formOf(ctx, c.o.Store, infos[i].Name)
		}
		return errors.Join(tagErr, formErr)
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var all []*like
	for i, info := range infos {
		at := slices.IndexFunc(all, func(l *like) bool { return slices.Equal(l.tags, tags[i]) && l.form.equal(forms[i]) })
		if at < 0 {
			all = append(all, &like{tags: tags[i], form: forms[i]})
			at = len(all) - 1
		}
		all[at].infos = append(all[at].infos, info)
	}
	return all, nil
}

// roll makes one object of several.
func (c *compaction) roll(ctx context.Context, group *like) error {
	c.done.Large++
	c.done.Objects += int64(len(group.infos))
	names := make([]string, 0, len(group.infos))
	for _, info := range group.infos {
		c.done.Bytes += info.Size
		names = append(names, info.Name)
	}
	if c.o.DryRun {
		return nil
	}
	large, digest, err := c.merged(ctx, group)
	if err != nil {
		return err
	}
	c.done.LargeBytes += int64(len(large.Body))
	if err := c.o.Store.Put(ctx, large); err != nil && !errors.Is(err, ErrExists) {
		return err
	}
	verify := c.verify
	if strings.HasSuffix(large.Name, Parquet.suffix()) {
		verify = c.verifyRows
	}
	if err := verify(ctx, large.Name, digest); err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(n string) bool { return n == large.Name }) // one of them held everything
	return c.o.Store.Remove(ctx, names)
}

// growingLines is an object that is made of lines: of JSON, or of rows as bytes.
type growingLines interface {
	add(line []byte, v record.Version) error
	finish(o *Object, folder string) error
	sum() []byte
	free()
}

func (l *like) newBody() (growingLines, error) {
	f, _ := formatOf(l.infos[0].Name)
	if f == Parquet {
		return newRowsBody(l.form), nil
	}
	return newBody(&compressors{format: f})
}

// merged is the object that holds every line of the group once, and the digest of its lines.
func (c *compaction) merged(ctx context.Context, group *like) (o Object, digest []byte, err error) {
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
		// One version may be there as several lines: other bytes of the Streams API and of
		// Lambda, another form, another mask. What differs stays.
		slices.SortFunc(same, func(a, b Entry) int { return bytes.Compare(a.Line, b.Line) })
		for i, e := range same {
			if i > 0 && bytes.Equal(same[i-1].Line, e.Line) {
				continue
			}
			if err := b.add(e.Line, e.Version); err != nil {
				return Object{}, nil, err
			}
		}
	}
	o.Tags = group.tags
	err = b.finish(&o, c.folder)
	return o, b.sum(), err
}

// verify reads an object back and compares its lines with what was written.
func (c *compaction) verify(ctx context.Context, name string, digest []byte) (err error) {
	in, err := c.o.Store.Get(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	f, _ := formatOf(name)
	plain, err := decompress(f, in)
	if err != nil {
		return fmt.Errorf("archive: %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, plain.Close()) }()
	sum := sha256.New()
	if _, err := io.Copy(sum, plain); err != nil {
		return fmt.Errorf("archive: %s: %w", name, err)
	}
	if !bytes.Equal(sum.Sum(nil), digest) {
		return errs.Errorf("archive: %s is not read back as it was written: nothing was removed", name)
	}
	return nil
}
