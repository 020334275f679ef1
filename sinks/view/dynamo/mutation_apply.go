package dynamo

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"strings"
	"sync/atomic"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/view"
)

// onlyOver is the condition for a put of a row. It is met if no row is stored, or if the stored row has the same owner
// and a lower version. onlyOverOrVoid is for mutations that are not void: they also replace a void tombstone of their
// own version. A void tombstone belongs to a change that could not be mapped to a row. An item without _tw, which no
// sink wrote, meets neither condition.
const (
	onlyOver       = "attribute_not_exists(#pk) OR (" + ownerMatches + " AND #tw.#v < :v)"
	onlyOverOrVoid = "attribute_not_exists(#pk) OR (" + ownerMatches +
		" AND (#tw.#v < :v OR (#tw.#v = :v AND attribute_exists(#tw.#void))))"
)

// Apply writes mutations. If tombstones are in place, each row or tombstone is one conditional put.
// separate_tombstones.go has the writes for tombstones apart. Requests run at the same time, up to the DB's limit.
//
// A mutation fails permanently if its row belongs to another sink or to no sink, or if no item can hold the row. If
// DynamoDB does not respond, the mutations that were not sent yet fail with the same transient error.
func (s *Store) Apply(ctx context.Context, t view.Target, ms []view.Mutation) ([]view.Result, error) {
	if len(ms) == 0 {
		return nil, nil
	}
	if err := s.beforeWrite(ctx, t, noWitnesses); err != nil {
		return nil, err
	}
	if t.InPlace {
		return applyTo(ctx, s.views, ms, newRowWriter(s.views, t).writeInPlace)
	}
	return applyTo(ctx, s.DB, ms, newRowWriter(s.DB, t).writeApart)
}

// applyTo calls write for each part of ms: a single mutation, or the two mutations of a move.
func applyTo(
	ctx context.Context, db *dynamo.DB, ms []view.Mutation, write func(context.Context, []view.Mutation, []view.Result),
) ([]view.Result, error) {
	rs := make([]view.Result, len(ms))
	starts := joinedStarts(ms)
	return runParts(db, rs, len(starts)-1, func(i int, streak *failureStreak) {
		from, to := starts[i], starts[i+1]
		streak.try(rs[from:to], func() { write(ctx, ms[from:to], rs[from:to]) })
	})
}

// runParts divides a call into n parts, and calls write for each part, up to the DB's limit at the same time. write
// sets the results of its part in rs, and runParts returns rs. If a part has a fatal error, runParts returns that error
// instead.
func runParts(db *dynamo.DB, rs []view.Result, n int, write func(i int, streak *failureStreak)) ([]view.Result, error) {
	var streak failureStreak
	db.Each(n, func(i int) { write(i, &streak) })
	for i := range rs {
		if pipeline.IsFatal(rs[i].Err) {
			return nil, rs[i].Err
		}
	}
	return rs, nil
}

// runEach is runParts for n independent writes. write returns whether write i is lost, and its error.
func runEach(db *dynamo.DB, n int, write func(i int) (lost bool, err error)) ([]view.Result, error) {
	rs := make([]view.Result, n)
	return runParts(db, rs, n, func(i int, streak *failureStreak) {
		streak.try(rs[i:i+1], func() { rs[i].Lost, rs[i].Err = write(i) })
	})
}

// joinedStarts returns the index of the first mutation of each part: a single mutation, or the two mutations of a move.
// The last value is len(ms).
func joinedStarts(ms []view.Mutation) []int {
	starts := make([]int, 0, len(ms)+1)
	for i := 0; i < len(ms); i++ {
		starts = append(starts, i)
		if i+1 < len(ms) && ms[i+1].EndsMove {
			i++
		}
	}
	return append(starts, len(ms))
}

// rowWriter writes the mutations of one call. It has the conditions that its mutations share; the version to compare
// with is added for each mutation. DynamoDB refuses names that a condition does not use, so each condition has only the
// names that it uses.
type rowWriter struct {
	*dynamo.DB
	target         view.Target
	onlyOver       dynamo.Condition
	onlyOverOrVoid dynamo.Condition
	storedOlder    dynamo.Condition
}

// sameItem replaces ownerMatches if another item could write the row (view.Target.RefuseOtherItem). It also requires
// that the stored row belongs to the item of the mutation, or is a tombstone.
const sameItem = ownerMatches + " AND (#tw.#src = :src OR attribute_exists(#expires))"

func newRowWriter(db *dynamo.DB, t view.Target) *rowWriter {
	condition := func(text string, names ...string) dynamo.Condition { // text contains ownerMatches
		if t.RefuseOtherItem {
			text = strings.ReplaceAll(text, ownerMatches, sameItem)
			names = append(names, "#src", metaSource, "#expires", expiresAttribute)
		}
		return withOwner(t, text, names...)
	}
	return &rowWriter{
		DB:             db,
		target:         t,
		onlyOver:       condition(onlyOver, "#pk", t.PK, "#v", metaVersion),
		onlyOverOrVoid: condition(onlyOverOrVoid, "#pk", t.PK, "#v", metaVersion, "#void", metaVoid),
		storedOlder:    condition(storedOlder, "#v", metaVersion),
	}
}

// condition returns the condition for the write of a mutation. The condition is also met if no row is stored.
func (w *rowWriter) condition(m *view.Mutation) dynamo.Condition {
	c := w.onlyOverOrVoid
	if m.Void {
		c = w.onlyOver
	}
	c.Values = maps.Clone(c.Values)
	c.Values[":v"] = dynamo.S(m.Version.String())
	if w.target.RefuseOtherItem {
		c.Values[":src"] = dynamo.S(string(m.Source))
	}
	return c
}

// writeInPlace puts rows, or tombstones at the rows' keys.
func (w *rowWriter) writeInPlace(ctx context.Context, ms []view.Mutation, rs []view.Result) {
	for i := range ms {
		put, err := w.putAction(&ms[i])
		if err == nil {
			err = w.Write(ctx, put)
		}
		if unmet, refused := errors.AsType[*dynamo.ConditionError](err); refused {
			rs[i] = w.refusedResult(unmet.Unmet[0].Item, &ms[i])
		} else {
			rs[i].Err = err
		}
	}
}

// putAction returns the put of a row, or of its tombstone in place.
func (w *rowWriter) putAction(m *view.Mutation) (dynamo.Action, error) {
	return rowPut(w.target, tableItem(w.target, m, m.Version.String(), w.Expiry().Unix()), w.condition(m))
}

// refusedResult returns the result of a mutation whose condition is not met. image is the stored item.
func (w *rowWriter) refusedResult(image dynamo.Item, m *view.Mutation) view.Result {
	stored, ok := metaOf(image)
	if !ok || !stored.belongsTo(w.target) {
		row, err := state.MakeRow(m.PK, m.SK)
		return view.Result{Err: cmp.Or(err, notOwned(w.target, row, stored))}
	}

	// The condition has let a void tombstone of the same version pass, so the flag is not needed here.
	entry := state.Tombstone{Version: stored.version, Source: item.Key(stored.source)}
	return w.refusal(view.StoredEntry{Tombstone: entry, IsRow: image[expiresAttribute] == nil}, m)
}

// refusal returns the result of a mutation that a stored row or tombstone refused.
func (w *rowWriter) refusal(stored view.StoredEntry, m *view.Mutation) view.Result {
	r, refused := w.target.Refusal(stored, m)
	if !refused { // the entry has changed since the refusal
		r.Err = errChanged
	}
	return r
}

// errChanged is the error of a write that was refused although the stored row would meet its condition now.
var errChanged = pipeline.Transient(errs.New("dynamodb: the row changed meanwhile"))

// belongsTo reports whether the row belongs to the target's sink and birth.
func (m rowMeta) belongsTo(t view.Target) bool { return m.sameSink(t) && m.birth == t.Birth }

// sameSink reports whether the row belongs to the target's sink, whatever its birth.
func (m rowMeta) sameSink(t view.Target) bool { return m.view == t.View && m.pipeline == t.Pipeline }

// notOwned returns the error of a row that does not belong to the target. If the row belongs to the target's sink but
// has another birth, it belongs to another output of the sink, and the error is fatal. Otherwise it is the error of
// foreignRow.
func notOwned(t view.Target, row state.Row, stored rowMeta) error {
	if stored.sameSink(t) {
		return state.BirthMismatch(t.View, "a row of table "+t.Name, stored.birth, t.Birth)
	}
	return foreignRow(t, row, stored)
}

// foreignRow returns the error of a row that belongs to another sink.
func foreignRow(t view.Target, row state.Row, stored rowMeta) *view.ForeignRowError {
	return &view.ForeignRowError{Target: t, Row: row, View: stored.view, Pipeline: stored.pipeline}
}

// failureStreak counts consecutive transient errors of a call. After maxConsecutive errors the rest of the call is not
// tried, because each request would wait for its timeout.
type failureStreak struct {
	consecutive atomic.Int32
	last        atomic.Pointer[error]
}

const maxConsecutive = 32

// try calls write, which sets rs, and counts the error of the first result. If the call does not continue, try sets the
// error of stopErr in rs instead.
func (s *failureStreak) try(rs []view.Result, write func()) {
	if err := s.stopErr(); err != nil {
		for i := range rs {
			rs[i].Err = err
		}
		return
	}
	write()
	s.add(rs[0].Err)
}

// add counts the error of a request. A fatal error ends the call at once.
func (s *failureStreak) add(err error) {
	if err == nil {
		s.consecutive.Store(0)
		return
	}
	if state.IsPermanent(err) {
		return
	}
	s.last.Store(&err)
	s.consecutive.Add(1)
	if pipeline.IsFatal(err) {
		s.consecutive.Add(maxConsecutive)
	}
}

// stopErr returns the error for the rest of the call; nil if the call continues.
func (s *failureStreak) stopErr() error {
	if s.consecutive.Load() < maxConsecutive {
		return nil
	}
	return *s.last.Load()
}
