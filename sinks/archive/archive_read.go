package archive

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/tablewake/tablewake/sinks/internal/seq"
)

// ReadOptions select the objects and the changes to read.
type ReadOptions struct {
	Prefix     string // beginning of the object names. Default: all objects
	TableInKey bool   // keys begin with their table; see DecoderOptions.TableInKey

	// From and To select changes by their creation times: not before From, and before To. A change without a time is
	// always included. Objects that were written before From are not opened. The zero time means no limit.
	From, To time.Time

	TempDir  string             // folder for data beyond Memory; its files are removed at the end. Default: os.TempDir
	Memory   int64              // bytes of changes in memory before they are written to TempDir. Default: 32 MiB
	Progress func(ReadProgress) // called after each object, not concurrently. Default: no call

	rows bool // the lines of Parquet objects are encoded rows, for a compaction
}

// ReadProgress is the progress of reading an archive.
type ReadProgress struct {
	Objects, Bytes int64 // number of opened objects, and their sizes
	Skipped        int64 // number of objects that are too old for From
}

// skew is the largest difference between the clocks of the changes' source and of the store.
const skew = 5 * time.Minute

// Read yields every archived change once, sorted by item key and version. The sequence ends after the first error. If
// Kinesis delivered a change twice with different sequence numbers, Read yields the first of the two.
//
// Read needs about 150 MB at most, for any number and size of objects. It loads and sorts small objects, and writes
// them to TempDir if there are many. Large objects are already sorted, so it merges them as streams, in several rounds
// if there are many. If objects must be restored first, Read yields one [*FrozenError] that lists all of them, before
// the first change.
//
// Objects that are written or compacted while Read runs may be missing, or end the reading with an error. So an archive
// should be read when nothing writes to it.
func Read(ctx context.Context, l Lister, o ReadOptions) iter.Seq2[Entry, error] {
	groups := readGroups(ctx, l, o, l.List(ctx, o.Prefix))
	return seq.Map(groups, func(same []Entry) (Entry, bool, error) {
		e, err := withChange(mostComplete(same), o.TableInKey)
		return e, true, err
	})
}

// withChange returns an entry with its change, unless the line is plain JSON.
func withChange(e Entry, tableInKey bool) (Entry, error) {
	if e.Change != nil || isPlain(e.Line) {
		return e, nil
	}
	return parseLine(e.Line, tableInKey)
}

// readGroups yields the entries of objects, grouped by item and version. A group is valid until the next group.
func readGroups(ctx context.Context, s Store, o ReadOptions, infos iter.Seq2[Info, error]) iter.Seq2[[]Entry, error] {
	return func(yield func([]Entry, error) bool) {
		b := &runBuilder{store: s, o: o, spills: &spills{dir: o.TempDir}}
		b.o.Memory = cmp.Or(o.Memory, 32<<20)
		defer func() { _ = b.spills.close() }()
		m, err := b.build(ctx, infos)
		if err != nil {
			yield(nil, err)
			return
		}
		defer m.close()

		duplicates := kinesisDuplicates{o: o}
		distinct := seq.Map(m.groups(ctx), func(group []Entry) ([]Entry, bool, error) {
			isDuplicate, err := duplicates.note(group[0])
			return group, !isDuplicate, err
		})
		distinct(yield)
	}
}

// mostComplete returns the entry with the most information about a version. A record of an item's history comes first,
// then a record of an archive of newest versions, then plain JSON.
func mostComplete(same []Entry) Entry {
	return slices.MinFunc(same, func(a, b Entry) int { return cmp.Compare(incompleteness(a), incompleteness(b)) })
}

// incompleteness returns a number that is smaller for an entry with more information.
func incompleteness(e Entry) int {
	switch {
	case isPlain(e.Line):
		return 2
	case isNewest(e.Line):
		return 1
	}
	return 0
}

func compareEntries(a, b Entry) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), a.Version.Compare(b.Version))
}

// includesEntry reports whether an entry was created within the time bounds.
func (o ReadOptions) includesEntry(e Entry) (bool, error) {
	if o.From.IsZero() && o.To.IsZero() {
		return true, nil
	}
	created, err := e.time()
	if err != nil || created.IsZero() {
		return true, err
	}
	isBeforeTo := o.To.IsZero() || created.Before(o.To)
	return isBeforeTo && !created.Before(o.From), nil
}

// tooOld reports whether an object was written before From. All changes of such an object were created before From.
func (o ReadOptions) tooOld(info Info) bool {
	return !o.From.IsZero() && !info.Modified.IsZero() && info.Modified.Before(o.From.Add(-skew))
}

// check returns an error if From is not before To.
func (o ReadOptions) check() error {
	if !o.From.IsZero() && !o.To.IsZero() && !o.From.Before(o.To) {
		return fmt.Errorf("archive: From %s is not before To %s", o.From.Format(time.RFC3339), o.To.Format(time.RFC3339))
	}
	return nil
}
