package archive

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/internal/parallel"
)

// What a reading holds at once.
const (
	smallObject = 128 << 10 // compressed, perhaps 50 times that in memory; larger ones are merged as streams
	batchCount  = 64        // small objects that are loaded at once
	batchBytes  = 512 << 10 // compressed
	loaders     = 8         // of them in parallel
	openCost    = 64        // of the streams that are open at once, by cost
)

// cost of an object that is open: about how many megabytes it takes. Of Parquet a row
// group is held.
func cost(name string) int {
	if f, _ := formatOf(name); f == Parquet {
		return 16
	}
	return 1
}

// gathering makes sorted runs of objects in any number.
type gathering struct {
	store    Store
	o        ReadOptions
	spills   *spills
	batch    []Info // small, to be loaded
	waiting  int64  // bytes of them
	held     []Entry
	bytes    int64
	large    []Info // to be opened
	cost     int    // of them
	frozen   []Frozen
	progress ReadProgress
}

// all reads the small objects and opens what is left: the merge yields everything.
func (g *gathering) all(ctx context.Context, infos iter.Seq2[Info, error]) (*merge, error) {
	if err := g.o.check(); err != nil {
		return nil, err
	}
	for info, err := range infos {
		if err == nil {
			err = g.take(ctx, info)
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
	g.sortHeld()
	err := m.add(ctx, &memoryRun{g.held})
	if err == nil {
		err = g.openLarge(ctx, m)
	}
	if err == nil {
		err = g.spills.open(ctx, m)
	}
	if err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

// isFrozen tells whether objects of a storage class may have to be restored first.
func isFrozen(class string) bool {
	return class == "GLACIER" || class == "DEEP_ARCHIVE" || class == "INTELLIGENT_TIERING"
}

// take sorts an object into what is loaded, what is opened later, and what is left out.
func (g *gathering) take(ctx context.Context, info Info) error {
	switch {
	case g.o.tooOld(info):
		g.progress.Skipped++
		g.tell()
		return nil
	case info.Size <= smallObject || isFrozen(info.Class): // what may be frozen is asked for at once
		g.batch = append(g.batch, info)
		g.waiting += info.Size
		if len(g.batch) < batchCount && g.waiting < batchBytes {
			return nil
		}
		return g.load(ctx)
	}
	return g.later(ctx, info)
}

func (g *gathering) later(ctx context.Context, info Info) error {
	if g.cost+cost(info.Name) > openCost {
		m := &merge{}
		defer m.close()
		if err := g.openLarge(ctx, m); err != nil {
			return err
		}
		if err := g.spills.add(ctx, m); err != nil {
			return err
		}
	}
	g.large = append(g.large, info)
	g.cost += cost(info.Name)
	return nil
}

// openLarge opens the large objects that wait.
func (g *gathering) openLarge(ctx context.Context, m *merge) error {
	for _, info := range g.large {
		r, err := g.open(ctx, info)
		if err == nil {
			err = m.add(ctx, r)
		}
		if err != nil {
			return err
		}
		g.opened(info)
	}
	g.large, g.cost = nil, 0
	return nil
}

func (g *gathering) open(ctx context.Context, info Info) (run, error) {
	if f, _ := formatOf(info.Name); g.o.rows && f == Parquet {
		return openRows(ctx, g.store, info.Name)
	}
	r, err := openRun(ctx, g.store, info.Name, g.o.TableInKey)
	if err != nil {
		return nil, err
	}
	return &boundedRun{r, g.o}, nil
}

// load loads the small objects that wait. Once one is frozen, the others are asked
// for no more than whether they are, too.
func (g *gathering) load(ctx context.Context) error {
	type loaded struct {
		entries []Entry
		later   bool // it is large, and not frozen
	}
	batch := g.batch
	g.batch, g.waiting = nil, 0
	results := make([]loaded, len(batch))
	errs := parallel.Each(len(batch), loaders, func(i int) (err error) {
		r, info := &results[i], batch[i]
		if info.Size > smallObject || len(g.frozen) > 0 {
			r.later = len(g.frozen) == 0
			return g.knock(ctx, info)
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
			if err := g.later(ctx, batch[i]); err != nil {
				return err
			}
			continue
		}
		g.opened(batch[i])
		if err := g.hold(ctx, r.entries); err != nil {
			return err
		}
	}
	return nil
}

// knock asks whether an object can be read.
func (g *gathering) knock(ctx context.Context, info Info) error {
	if !isFrozen(info.Class) {
		return nil
	}
	body, err := g.store.Get(ctx, info.Name)
	if err != nil {
		return err
	}
	return body.Close()
}

// read reads an object into memory, without what its changes were decoded to.
func (g *gathering) read(ctx context.Context, info Info) (entries []Entry, err error) {
	r, err := g.open(ctx, info)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	for {
		e, err := r.next(ctx)
		if errors.Is(err, io.EOF) {
			return entries, nil
		}
		if err != nil {
			return nil, err
		}
		if e, err = bare(e); err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
}

// bare is an entry without its change, whose texts keep a whole page alive.
func bare(e Entry) (Entry, error) {
	v, err := record.ParseVersion(e.Version.String())
	return Entry{Key: item.Key(strings.Clone(string(e.Key))), Version: v, Line: slices.Clone(e.Line)}, err
}

// entryBytes is about what an entry takes beside its texts.
const entryBytes = 250

// hold keeps entries in memory, or writes all that are held where they are many.
func (g *gathering) hold(ctx context.Context, entries []Entry) error {
	for _, e := range entries {
		g.bytes += int64(len(e.Line)+len(e.Key)) + entryBytes
	}
	g.held = append(g.held, entries...)
	if g.bytes < g.o.Memory {
		return nil
	}
	g.sortHeld()
	m := &merge{}
	defer m.close()
	if err := m.add(ctx, &memoryRun{g.held}); err != nil {
		return err
	}
	g.held, g.bytes = nil, 0
	return g.spills.add(ctx, m)
}

func (g *gathering) sortHeld() { slices.SortStableFunc(g.held, compareEntries) }

func (g *gathering) opened(info Info) {
	g.progress.Objects++
	g.progress.Bytes += info.Size
	g.tell()
}

func (g *gathering) tell() {
	if g.o.Progress != nil {
		g.o.Progress(g.progress)
	}
}

// boundedRun leaves out what was not created in the time asked for.
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
		if in, err := r.o.within(e); err != nil || in {
			return e, err
		}
	}
}
