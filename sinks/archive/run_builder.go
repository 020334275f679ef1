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
	store    Store
	o        ReadOptions
	spills   *spills
	batch    []Info // small objects to load
	waiting  int64  // compressed bytes of batch
	entries  []Entry
	bytes    int64
	large    []Info // large objects to open
	cost     int    // total of openMegabytes of large
	frozen   []Frozen
	progress ReadProgress
}

func (g *runBuilder) build(ctx context.Context, infos iter.Seq2[Info, error]) (*merge, error) {
	if err := g.o.check(); err != nil {
		return nil, err
	}
	for info, err := range infos {
		if err == nil {
			err = g.add(ctx, info)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := g.load(ctx); err != nil {
		return nil, err
	}
	if len(g.frozen) > 0 {
		return nil, &FrozenError{Objects: g.frozen}
	}
	m := &merge{}
	g.sortKept()
	err := m.add(ctx, &memoryRun{g.entries})
	if err == nil {
		err = g.openLarge(ctx, m)
	}
	if err == nil {
		err = g.spills.openRuns(ctx, m)
	}
	if err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

// isFrozen reports whether objects of a storage class may have to be restored before they can be read.
func isFrozen(class string) bool {
	return class == "GLACIER" || class == "DEEP_ARCHIVE" || class == "INTELLIGENT_TIERING"
}

func (g *runBuilder) add(ctx context.Context, info Info) error {
	switch {
	case g.o.tooOld(info):
		g.progress.Skipped++
		g.reportProgress()
		return nil
	case info.Size <= smallObject || isFrozen(info.Class): // all frozen objects must be reported before the first entry
		g.batch = append(g.batch, info)
		g.waiting += info.Size
		if len(g.batch) < batchCount && g.waiting < batchBytes {
			return nil
		}
		return g.load(ctx)
	}
	return g.queueLarge(ctx, info)
}

func (g *runBuilder) queueLarge(ctx context.Context, info Info) error {
	if g.cost+openMegabytes(info.Name) > openCost {
		m := &merge{}
		defer m.close()
		if err := g.openLarge(ctx, m); err != nil {
			return err
		}
		if err := g.spills.put(ctx, m, 0); err != nil {
			return err
		}
	}
	g.large = append(g.large, info)
	g.cost += openMegabytes(info.Name)
	return nil
}

// openLarge opens the queued large objects.
func (g *runBuilder) openLarge(ctx context.Context, m *merge) error {
	for _, info := range g.large {
		r, err := g.openRun(ctx, info)
		if err == nil {
			err = m.add(ctx, r)
		}
		if err != nil {
			return err
		}
		g.noteOpened(info)
	}
	g.large, g.cost = nil, 0
	return nil
}

func (g *runBuilder) openRun(ctx context.Context, info Info) (run, error) {
	if f, _ := formatOf(info.Name); g.o.rows && f == Parquet {
		r, err := openParquet(ctx, g.store, info.Name, false)
		return rowRun{r}, err
	}
	r, err := openRun(ctx, g.store, info.Name, g.o.TableInKey)
	if err != nil {
		return nil, err
	}
	return &boundedRun{r, g.o}, nil
}

// load loads the queued small objects. After the first frozen object it only checks whether the other objects are
// frozen, so that the error names all frozen objects.
func (g *runBuilder) load(ctx context.Context) error {
	type loaded struct {
		entries []Entry
		later   bool // the object is large, and not frozen: it is queued
	}
	batch := g.batch
	g.batch, g.waiting = nil, 0
	results := make([]loaded, len(batch))
	errs := parallel.Each(len(batch), loaders, func(i int) (err error) {
		r, info := &results[i], batch[i]
		if info.Size > smallObject || len(g.frozen) > 0 {
			r.later = len(g.frozen) == 0
			return g.checkFrozen(ctx, info)
		}
		r.entries, err = g.read(ctx, info)
		return err
	})
	for i, r := range results {
		if frozen, ok := errors.AsType[*FrozenError](errs[i]); ok {
			g.frozen = append(g.frozen, frozen.Objects...)
			continue
		}
		if errs[i] != nil {
			return errs[i]
		}
		if r.later {
			if err := g.queueLarge(ctx, batch[i]); err != nil {
				return err
			}
			continue
		}
		g.noteOpened(batch[i])
		if err := g.keepEntries(ctx, r.entries); err != nil {
			return err
		}
	}
	return nil
}

func (g *runBuilder) checkFrozen(ctx context.Context, info Info) error {
	if !isFrozen(info.Class) {
		return nil
	}
	body, err := g.store.Get(ctx, info.Name)
	if err != nil {
		return err
	}
	return body.Close()
}

// read reads an object into memory, as entries without decoded changes.
func (g *runBuilder) read(ctx context.Context, info Info) (entries []Entry, err error) {
	r, err := g.openRun(ctx, info)
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

func (g *runBuilder) keepEntries(ctx context.Context, entries []Entry) error {
	for _, e := range entries {
		g.bytes += int64(len(e.Line)+len(e.Key)) + entryBytes
	}
	g.entries = append(g.entries, entries...)
	if g.bytes < g.o.Memory {
		return nil
	}
	g.sortKept()
	m := &merge{}
	defer m.close()
	if err := m.add(ctx, &memoryRun{g.entries}); err != nil {
		return err
	}
	g.entries, g.bytes = nil, 0
	return g.spills.put(ctx, m, 0)
}

func (g *runBuilder) sortKept() { slices.SortStableFunc(g.entries, compareEntries) }

func (g *runBuilder) noteOpened(info Info) {
	g.progress.Objects++
	g.progress.Bytes += info.Size
	g.reportProgress()
}

func (g *runBuilder) reportProgress() {
	if g.o.Progress != nil {
		g.o.Progress(g.progress)
	}
}

// boundedRun returns only the entries within the time bounds of o.
type boundedRun struct {
	run
	o ReadOptions
}

func (r *boundedRun) next(ctx context.Context) (Entry, error) {
	for {
		e, err := r.run.next(ctx)
		if err != nil {
			return Entry{}, err
		}
		if in, err := r.o.includesEntry(e); err != nil || in {
			return e, err
		}
	}
}
