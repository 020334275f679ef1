package handoff

import (
	"context"
	"iter"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// RepairableRows is a store of rows that can be audited and repaired.
type RepairableRows interface {
	RowStore
	view.ItemRowsStore
	view.Inspector
	view.Repairer
	view.Lister
	view.GuardLister
	view.ContributionLister
	view.GroupLister
	view.GroupReader
	view.GroupRepairer
}

// RepairableDocuments is a store of documents that can be audited and repaired.
type RepairableDocuments interface {
	DocumentStore
	search.Inspector
	search.Lister
	search.Repairer
}

// pausedRows is a store of rows. Before and after each call other processes may run. Repairs through it leave out the
// protections that the rules name.
type pausedRows struct {
	RepairableRows
	w *RepairWorld
}

// paused calls do with a pause before and after it.
func paused[T any](w *RepairWorld, do func() (T, error)) (T, error) {
	w.pause()
	got, err := do()
	w.pause()
	return got, err
}

// list reads a listing with a pause before and after it.
func list[T any](w *RepairWorld, all iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		type pulled struct {
			value T
			err   error
		}
		read, _ := paused(w, func() (read []pulled, err error) {
			for v, err := range all {
				read = append(read, pulled{v, err})
			}
			return read, nil
		})
		for _, p := range read {
			if !yield(p.value, p.err) {
				return
			}
		}
	}
}

func (s pausedRows) Apply(ctx context.Context, t view.Target, ms []view.Mutation) ([]view.Result, error) {
	return paused(s.w, func() ([]view.Result, error) { return s.RepairableRows.Apply(ctx, t, ms) })
}

func (s pausedRows) Guards(ctx context.Context, t state.Target, items []item.Key) ([]state.Guard, error) {
	return paused(s.w, func() ([]state.Guard, error) { return s.RepairableRows.Guards(ctx, t, items) })
}

func (s pausedRows) RowClaims(ctx context.Context, t view.Target, rows []state.Row) ([]view.RowClaims, error) {
	return paused(s.w, func() ([]view.RowClaims, error) { return s.RepairableRows.RowClaims(ctx, t, rows) })
}

func (s pausedRows) WriteItems(ctx context.Context, t view.Target, ws []state.ItemWrite) ([]view.Result, error) {
	return paused(s.w, func() ([]view.Result, error) {
		if !s.w.repairing() {
			return s.RepairableRows.WriteItems(ctx, t, ws)
		}
		return s.w.repairClaims(ctx, s.RepairableRows, t, ws)
	})
}

func (s pausedRows) Contributions(ctx context.Context, t state.Target, items []item.Key) ([]state.Contribution, error) {
	return paused(s.w, func() ([]state.Contribution, error) { return s.RepairableRows.Contributions(ctx, t, items) })
}

func (s pausedRows) Contribute(ctx context.Context, t view.Target, ws []state.GroupWrite) ([]view.Result, error) {
	return paused(s.w, func() ([]view.Result, error) {
		if !s.w.repairing() {
			return s.RepairableRows.Contribute(ctx, t, ws)
		}
		return s.w.repairContributions(ctx, s.RepairableRows, t, ws)
	})
}

func (s pausedRows) ReplaceItemRows(ctx context.Context, t view.Target, ws []state.ItemRowsWrite) ([]view.Result, error) {
	return paused(s.w, func() ([]view.Result, error) { return s.RepairableRows.ReplaceItemRows(ctx, t, ws) })
}

func (s pausedRows) StoredRows(ctx context.Context, t view.Target, rows []state.Row) ([]view.StoredRow, error) {
	return paused(s.w, func() ([]view.StoredRow, error) { return s.RepairableRows.StoredRows(ctx, t, rows) })
}

func (s pausedRows) ReadGroups(ctx context.Context, t view.Target, values []view.Value, rows []state.Row) ([]view.Group, error) {
	return paused(s.w, func() ([]view.Group, error) { return s.RepairableRows.ReadGroups(ctx, t, values, rows) })
}

func (s pausedRows) RepairRows(ctx context.Context, t view.Target, rs []view.RowRepair) ([]view.Result, error) {
	return paused(s.w, func() ([]view.Result, error) { return s.w.repairRows(ctx, s.RepairableRows, t, rs) })
}

func (s pausedRows) RepairGroups(ctx context.Context, t view.Target, rs []view.GroupRepair) ([]view.Result, error) {
	return paused(s.w, func() ([]view.Result, error) { return s.w.repairGroups(ctx, s.RepairableRows, t, rs) })
}

func (s pausedRows) ListRows(ctx context.Context, t view.Target, l state.Listing) iter.Seq2[view.Row, error] {
	return list(s.w, s.RepairableRows.ListRows(ctx, t, l))
}

func (s pausedRows) ListGuards(ctx context.Context, t state.Target, l state.Listing) iter.Seq2[state.ItemGuard, error] {
	return list(s.w, s.RepairableRows.ListGuards(ctx, t, l))
}

func (s pausedRows) ListContributions(ctx context.Context, t state.Target, l state.Listing) iter.Seq2[state.ItemContribution, error] {
	return list(s.w, s.RepairableRows.ListContributions(ctx, t, l))
}

func (s pausedRows) ListGroups(ctx context.Context, t view.Target, values []view.Value, l state.Listing) iter.Seq2[view.Group, error] {
	return list(s.w, s.RepairableRows.ListGroups(ctx, t, values, l))
}

// pausedDocuments is the store of the documents of one sink. The names of the sink's indexes begin with prefix. Calls
// pause as in pausedRows.
type pausedDocuments struct {
	RepairableDocuments
	w      *RepairWorld
	prefix string
}

func (s pausedDocuments) Apply(ctx context.Context, ms []search.Mutation) ([]search.Result, error) {
	return paused(s.w, func() ([]search.Result, error) { return s.RepairableDocuments.Apply(ctx, ms) })
}

func (s pausedDocuments) ReadStored(ctx context.Context, index, id, routing string) (search.StoredDocument, error) {
	return paused(s.w, func() (search.StoredDocument, error) {
		return s.RepairableDocuments.ReadStored(ctx, index, id, routing)
	})
}

func (s pausedDocuments) RepairDocuments(ctx context.Context, ds []search.DocumentRepair) ([]search.Result, error) {
	return paused(s.w, func() ([]search.Result, error) { return s.w.repairDocuments(ctx, s.RepairableDocuments, ds) })
}

func (s pausedDocuments) ListDocuments(ctx context.Context, index string, l state.Listing) iter.Seq2[search.ListedDocument, error] {
	return list(s.w, s.RepairableDocuments.ListDocuments(ctx, index, l))
}

// Indexes returns the names of the indexes of the sink. A real sink has its own store, but here all sinks share one.
func (s pausedDocuments) Indexes(context.Context) ([]string, error) {
	return s.w.indexesOf(s.prefix), nil
}

// Search is not called.
func (s pausedDocuments) Search(context.Context, string, string, int) (search.Hits, error) {
	return search.Hits{}, nil
}

// auditStores opens the stores of the sinks of a world for an audit.
type auditStores struct {
	sinks.Stores // not used: a world has none
	w            *RepairWorld
}

func (s auditStores) View(context.Context, *config.Config, config.Sink) (view.Store, error) {
	return s.w.pausedRows(), nil
}

func (s auditStores) Aggregate(context.Context, *config.Config, config.Sink) (view.GroupStore, error) {
	return s.w.pausedRows(), nil
}

func (s auditStores) Search(_ context.Context, _ *config.Config, c config.Sink) (search.Store, error) {
	name, _, _ := strings.Cut(c.Search.Index.String(), "{")
	return s.w.pausedDocuments(name), nil
}

func (s auditStores) DeadLetters(context.Context, *config.Config) (pipeline.DeadLetters, error) {
	return nil, nil
}

func (s auditStores) State(_ context.Context, cfg *config.Config) (state.Store, error) {
	return auditState{w: s.w, cfg: cfg}, nil
}

// auditState is the state of a world for an audit: births, and no quarantined key.
type auditState struct {
	state.Store
	w   *RepairWorld
	cfg *config.Config
}

func (s auditState) Births(context.Context) iter.Seq2[state.Birth, error] {
	return func(yield func(state.Birth, error) bool) {
		for _, c := range s.cfg.Sinks {
			if !yield(state.Birth{Sink: c.Name, Target: sinks.Target(c), ID: s.w.id}, nil) {
				return
			}
		}
	}
}

func (s auditState) Marks(context.Context, string) iter.Seq2[state.Mark, error] {
	return func(func(state.Mark, error) bool) {}
}

// repairing reports whether a repair runs.
func (w *RepairWorld) repairing() bool { return w.running != nil && w.running.repairs }

// head returns the version of the newest change of the stream.
func (w *RepairWorld) head() record.Version {
	return w.version(epoch, sequence(len(w.table.writes)))
}
