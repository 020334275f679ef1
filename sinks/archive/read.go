package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"
)

// ReadOptions say what of a store is read.
type ReadOptions struct {
	Prefix     string // of the object names. Default: all
	TableInKey bool   // keys are prefixed by their table, as DecoderOptions.TableInKey made them

	// From and To bound the creation times of the changes: from From on, before To. A
	// change that tells no time is within any bounds. Objects written before From are not
	// opened. Default (zero): no bound
	From, To time.Time

	TempDir  string             // folder of what does not fit into memory, removed in the end. Default: os.TempDir
	Memory   int64              // bytes of changes that are held before they go to TempDir. Default: 32 MiB
	Progress func(ReadProgress) // told after each object, one call at a time. Default: not told

	rows bool // the lines of Parquet objects are rows as bytes
}

// ReadProgress is how far a reading has come.
type ReadProgress struct {
	Objects, Bytes int64 // opened, and their sizes
	Skipped        int64 // objects that cannot hold a change of the time asked for
}

// skew is how much the clocks of what stamps changes and what stamps objects may differ.
const skew = 5 * time.Minute

// Read yields every archived change once, the versions of an item in their
// order, items in the order of their keys. A pulled error ends the sequence. Of a change that Kinesis held
// twice, with a sequence number for each, the first is yielded.
//
// It holds some 150 MB at most, however many objects there are and however large:
// small objects are gathered, sorted, and written to TempDir when there are many; large
// ones, which are sorted, are merged as streams; what is more than can be merged
// at once is merged in rounds. Objects that have to be restored first are all named
// by one [*FrozenError], before the first change.
//
// An object that is written or compacted away while it runs may be missed or end it
// with an error: read what is at rest.
func Read(ctx context.Context, l Lister, o ReadOptions) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for same, err := range readGroups(ctx, l, o, l.List(ctx, o.Prefix)) {
			e := best(same)
			if err == nil && e.Change == nil && !isPlain(e.Line) {
				e, err = parseLine(e.Line, o.TableInKey)
			}
			if err != nil {
				yield(Entry{}, err)
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// readGroups yields the entries of objects, those of one version of an item
// together. A group is valid until the next.
func readGroups(ctx context.Context, s Store, o ReadOptions, infos iter.Seq2[Info, error]) iter.Seq2[[]Entry, error] {
	return func(yield func([]Entry, error) bool) {
		g := &gathering{store: s, o: o, spills: &spills{dir: o.TempDir}}
		g.o.Memory = cmp.Or(o.Memory, 32<<20)
		m, err := g.all(ctx, infos)
		defer func() { _ = g.spills.close() }()
		if m != nil {
			defer m.close()
		}
		var same []Entry
		copies := copies{o: o}
		for err == nil {
			var e Entry
			if e, err = m.next(ctx); err != nil {
				break
			}
			if len(same) > 0 && compareEntries(same[0], e) != 0 {
				var again bool
				if again, err = copies.has(same[0]); err != nil {
					break
				}
				if !again && !yield(same, nil) {
					return
				}
				same = same[:0]
			}
			same = append(same, e)
		}
		switch {
		case !errors.Is(err, io.EOF):
			yield(nil, err)
		case len(same) > 0:
			if again, err := copies.has(same[0]); err != nil || !again {
				yield(same, err)
			}
		}
	}
}

// best is the entry that tells most of a version: a record rather than a projection.
func best(same []Entry) Entry {
	for _, e := range same {
		if !isPlain(e.Line) {
			return e
		}
	}
	if len(same) == 0 {
		return Entry{}
	}
	return same[0]
}

func compareEntries(a, b Entry) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), a.Version.Compare(b.Version))
}

// within tells whether an entry was created in the time asked for.
func (o ReadOptions) within(e Entry) (bool, error) {
	if o.From.IsZero() && o.To.IsZero() {
		return true, nil
	}
	t, err := e.time()
	if err != nil || t.IsZero() {
		return true, err
	}
	return !t.Before(o.From) && (o.To.IsZero() || t.Before(o.To)), nil
}

// tooOld tells whether an object was written before anything asked for was.
func (o ReadOptions) tooOld(info Info) bool {
	return !o.From.IsZero() && !info.Modified.IsZero() && info.Modified.Before(o.From.Add(-skew))
}

// check is an error where the bounds leave nothing.
func (o ReadOptions) check() error {
	if !o.From.IsZero() && !o.To.IsZero() && !o.From.Before(o.To) {
		return fmt.Errorf("archive: From %s is not before To %s", o.From.Format(time.RFC3339), o.To.Format(time.RFC3339))
	}
	return nil
}
