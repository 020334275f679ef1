package archive

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/internal/parallel"
)

// Limits of a reading.
const (
	smallObject = 128 << 10 // compressed bytes, up to 50 times as much in memory; larger objects are streamed
	batchCount  = 64        // number of small objects that are loaded together
	batchBytes  = 512 << 10 // total size of these objects, in compressed bytes
	loaders     = 8         // number of these objects that are loaded concurrently
	openCost    = 64        // largest total of openMegabytes of open objects
)

// openMegabytes returns the approximate memory of an open object in megabytes. A Parquet reader keeps a whole row group
// in memory.
func openMegabytes(name string) int {
	if f, _ := formatOf(name); f == Parquet {
		return 16
	}
	return 1
}

// runBuilder turns any number of objects into sorted runs. A run is in memory, on disk, or streamed from a large
// object.
type runBuilder struct {
	store     Store
	o         ReadOptions
	spills    *spills
	batch     []Info // small objects to load
	batchSize int64  // compressed bytes of batch
	entries   []Entry
	bytes     int64  // approximate memory of entries
	large     []Info // large objects to open
	cost      int    // total of openMegabytes of large
	frozen    []Frozen
	progress  ReadProgress
}

// build returns a merge of the runs of all objects.
func (b *runBuilder) build(ctx context.Context, infos iter.Seq2[Info, error]) (*merge, error) {
	if err := b.o.check(); err != nil {
		return nil, err
	}
	for info, err := range infos {
		if err == nil {
			err = b.add(ctx, info)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := b.load(ctx); err != nil {
		return nil, err
	}
	if len(b.frozen) > 0 {
		return nil, &FrozenError{Objects: b.frozen}
	}
	m := &merge{}
	if err := b.openAll(ctx, m); err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

// openAll adds the run in memory, the large objects, and the runs on disk to m.
func (b *runBuilder) openAll(ctx context.Context, m *merge) error {
	b.sortEntries()
	if err := m.add(ctx, &memoryRun{b.entries}); err != nil {
		return err
	}
	if err := b.openLarge(ctx, m); err != nil {
		return err
	}
	return b.spills.openRuns(ctx, m)
}

// isFrozen reports whether objects of a storage class may have to be restored before they can be read.
func isFrozen(class string) bool {
	return class == "GLACIER" || class == "DEEP_ARCHIVE" || class == "INTELLIGENT_TIERING"
}

// add adds an object of the listing: it queues the object, and loads or merges queued objects if enough are queued.
func (b *runBuilder) add(ctx context.Context, info Info) error {
	if b.o.tooOld(info) {
		b.progress.Skipped++
		b.reportProgress()
		return nil
	}
	canOpenLater := !isFrozen(info.Class) // all frozen objects must be reported before the first entry
	if info.Size > smallObject && canOpenLater {
		return b.queueLarge(ctx, info)
	}
	b.batch = append(b.batch, info)
	b.batchSize += info.Size
	if len(b.batch) < batchCount && b.batchSize < batchBytes {
		return nil
	}
	return b.load(ctx)
}

// queueLarge queues a large object. If too many are queued, it first merges these into a run on disk.
func (b *runBuilder) queueLarge(ctx context.Context, info Info) error {
	if b.cost+openMegabytes(info.Name) > openCost {
		m := &merge{}
		defer m.close()
		if err := b.openLarge(ctx, m); err != nil {
			return err
		}
		if err := b.spills.put(ctx, m, 0); err != nil {
			return err
		}
	}
	b.large = append(b.large, info)
	b.cost += openMegabytes(info.Name)
	return nil
}

// openLarge opens the queued large objects, and adds their runs to m.
func (b *runBuilder) openLarge(ctx context.Context, m *merge) error {
	for _, info := range b.large {
		r, err := b.openRun(ctx, info)
		if err != nil {
			return err
		}
		if err := m.add(ctx, r); err != nil {
			return err
		}
		b.noteOpened(info)
	}
	b.large, b.cost = nil, 0
	return nil
}

// openRun opens an object as a run of the entries that the options select.
func (b *runBuilder) openRun(ctx context.Context, info Info) (run, error) {
	if f, _ := formatOf(info.Name); b.o.rows && f == Parquet {
		r, err := openParquet(ctx, b.store, info.Name, false)
		return rowRun{r}, err
	}
	r, err := openRun(ctx, b.store, info.Name, b.o.TableInKey)
	if err != nil {
		return nil, err
	}
	return &boundedRun{r, b.o}, nil
}

// load loads the queued small objects. After the first frozen object it only checks whether the other objects are
// frozen, so that the error names all frozen objects.
func (b *runBuilder) load(ctx context.Context) error {
	batch, foundFrozen := b.batch, len(b.frozen) > 0
	b.batch, b.batchSize = nil, 0
	entries := make([][]Entry, len(batch))
	failures := parallel.Each(len(batch), loaders, func(i int) (err error) {
		if foundFrozen || batch[i].Size > smallObject {
			return b.checkFrozen(ctx, batch[i])
		}
		entries[i], err = b.read(ctx, batch[i])
		return err
	})
	for i, info := range batch {
		if frozen, isFrozen := errors.AsType[*FrozenError](failures[i]); isFrozen {
			b.frozen = append(b.frozen, frozen.Objects...)
			continue
		}
		if failures[i] != nil {
			return failures[i]
		}
		isLarge := info.Size > smallObject
		if isLarge && !foundFrozen { // it is not frozen, although its class may be
			if err := b.queueLarge(ctx, info); err != nil {
				return err
			}
			continue
		}
		b.noteOpened(info)
		if err := b.keepEntries(ctx, entries[i]); err != nil {
			return err
		}
	}
	return nil
}

// checkFrozen returns the store's [FrozenError] if an object must be restored first.
func (b *runBuilder) checkFrozen(ctx context.Context, info Info) error {
	if !isFrozen(info.Class) {
		return nil
	}
	body, err := b.store.Get(ctx, info.Name)
	if err != nil {
		return err
	}
	return body.Close()
}

// read reads an object into memory, as entries without decoded changes.
func (b *runBuilder) read(ctx context.Context, info Info) (entries []Entry, err error) {
	r, err := b.openRun(ctx, info)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	for {
		e, err := r.next(ctx)
		if pipeline.IsEnd(err) {
			return entries, nil
		}
		if err != nil {
			return nil, err
		}
		if e, err = copyEntry(e); err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
}

// copyEntry copies an entry without its change, because the strings of the change would keep a whole page in memory.
func copyEntry(e Entry) (Entry, error) {
	v, err := record.ParseVersion(e.Version.String())
	return Entry{Key: item.Key(strings.Clone(string(e.Key))), Version: v, Line: slices.Clone(e.Line)}, err
}

// entryBytes is the approximate memory of an entry without its strings.
const entryBytes = 250

// keepEntries keeps entries in memory. If there are too many, it writes all kept entries to disk.
func (b *runBuilder) keepEntries(ctx context.Context, entries []Entry) error {
	for _, e := range entries {
		b.bytes += int64(len(e.Line)+len(e.Key)) + entryBytes
	}
	b.entries = append(b.entries, entries...)
	if b.bytes < b.o.Memory {
		return nil
	}
	b.sortEntries()
	m := &merge{}
	defer m.close()
	if err := m.add(ctx, &memoryRun{b.entries}); err != nil {
		return err
	}
	b.entries, b.bytes = nil, 0
	return b.spills.put(ctx, m, 0)
}

func (b *runBuilder) sortEntries() { slices.SortStableFunc(b.entries, compareEntries) }

// noteOpened counts an opened object in the progress.
func (b *runBuilder) noteOpened(info Info) {
	b.progress.Objects++
	b.progress.Bytes += info.Size
	b.reportProgress()
}

func (b *runBuilder) reportProgress() {
	if b.o.Progress != nil {
		b.o.Progress(b.progress)
	}
}

// boundedRun returns only the entries within the time bounds of o.
type boundedRun struct {
	run
	o ReadOptions
}

// next returns the next entry that is within the time bounds.
func (r *boundedRun) next(ctx context.Context) (Entry, error) {
	for {
		e, err := r.run.next(ctx)
		if err != nil {
			return Entry{}, err
		}
		included, err := r.o.includesEntry(e)
		if err != nil || included {
			return e, err
		}
	}
}
