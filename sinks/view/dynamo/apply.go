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

// onlyOver is the condition to put a row: no row, or an older one of the same owner. onlyOverOrVoid also allows a
// void of the same version; it is for rows that are not void. An item without _tw meets neither.
const (
	onlyOver       = "attribute_not_exists(#pk) OR (" + ownerMatches + " AND #tw.#v < :v)"
	onlyOverOrVoid = "attribute_not_exists(#pk) OR (" + ownerMatches + " AND (#tw.#v < :v OR (#tw.#v = :v AND attribute_exists(#tw.#void))))"
)

// Apply writes each row, or its tombstone, in place with one conditional put. Up to the DB's limit of requests run
// at the same time. apply_apart.go has the writes with tombstones apart. A mutation fails permanently if its row
// belongs to another sink or to no sink, or if no item can hold the row. If DynamoDB does not respond, the
// mutations that were not sent yet fail with the same transient error.
func (s *Store) Apply(ctx context.Context, t view.Target, ms []view.Mutation) ([]view.Result, error) {
	if len(ms) == 0 {
		return nil, nil
	}
	if err := s.beforeWrite(ctx, t, noWitness); err != nil {
		return nil, err
	}
	if t.InPlace {
		return applyTo(ctx, s.views, ms, newRowWriter(s.Reader.views, t).writeInPlace)
	}
	return applyTo(ctx, s.DB, ms, newRowWriter(s.DB, t).writeApart)
}

// applyTo calls write for each mutation, or for the two mutations of a move.
func applyTo(ctx context.Context, db *dynamo.DB, ms []view.Mutation, write func(context.Context, []view.Mutation, []view.Result)) ([]view.Result, error) {
	rs := make([]view.Result, len(ms))
	starts := joinedStarts(ms)
	return runParts(db, rs, len(starts)-1, func(i int, down *outage) {
		from, to := starts[i], starts[i+1]
		if err := down.stopErr(); err != nil {
			for r := from; r < to; r++ {
				rs[r].Err = err
			}
			return
		}
		write(ctx, ms[from:to], rs[from:to])
		down.add(rs[from].Err)
	})
}

// runParts calls write for each of the n parts of a call, up to the DB's limit at the same time. It returns rs,
// which the parts set. A fatal error of a part is the error of the call.
func runParts(db *dynamo.DB, rs []view.Result, n int, write func(i int, down *outage)) ([]view.Result, error) {
	var down outage
	db.Each(n, func(i int) { write(i, &down) })
	for i := range rs {
		if pipeline.IsFatal(rs[i].Err) {
			return nil, rs[i].Err
		}
	}
	return rs, nil
}

// runEach is runParts for n writes that are each lost, or done, by themselves.
func runEach(db *dynamo.DB, n int, write func(i int) (lost bool, err error)) ([]view.Result, error) {
	rs := make([]view.Result, n)
	return runParts(db, rs, n, func(i int, down *outage) {
		if rs[i].Err = down.stopErr(); rs[i].Err == nil {
			rs[i].Lost, rs[i].Err = write(i)
			down.add(rs[i].Err)
		}
	})
}

// joinedStarts returns the index of each first mutation of those that belong together, and len(ms).
func joinedStarts(ms []view.Mutation) []int {
	starts := make([]int, 0, len(ms)+1)
	for i := range ms {
		if !ms[i].Joined || i == 0 || len(starts) > 0 && i-starts[len(starts)-1] > 1 {
			starts = append(starts, i)
		}
	}
	return append(starts, len(ms))
}

// rowWriter writes the mutations of one call. It has their common conditions, which lack the version of a mutation.
// DynamoDB refuses names that no condition uses, so each condition has only its own.
type rowWriter struct {
	*dynamo.DB
	target                     view.Target
	overOlder, overOlderOrVoid dynamo.Condition // onlyOver, onlyOverOrVoid
	overStoredOlder            dynamo.Condition // storedOlder
}

// sameItem is ownerMatches for rows that another item could write (view.Target.RefuseOtherItem): the stored row is of the item, or a
// tombstone.
const sameItem = ownerMatches + " AND (#tw.#src = :src OR attribute_exists(#expires))"

func newRowWriter(db *dynamo.DB, t view.Target) *rowWriter {
	condition := func(text string, names ...string) dynamo.Condition {
		if t.RefuseOtherItem {
			text = strings.ReplaceAll(text, ownerMatches, sameItem)
			names = append(names, "#src", metaSource, "#expires", expiresAttribute)
		}
		return withOwner(t, text, names...)
	}
	return &rowWriter{
		DB:              db,
		target:          t,
		overOlder:       condition(onlyOver, "#pk", t.PK, "#v", metaVersion),
		overOlderOrVoid: condition(onlyOverOrVoid, "#pk", t.PK, "#v", metaVersion, "#void", metaVoid),
		overStoredOlder: condition(storedOlder, "#v", metaVersion),
	}
}

// condition returns the condition to write the row of a mutation, which may be missing.
func (w *rowWriter) condition(m *view.Mutation) dynamo.Condition {
	c := w.overOlderOrVoid
	if m.Void {
		c = w.overOlder
	}
	c.Values = maps.Clone(c.Values)
	c.Values[":v"] = dynamo.S(m.Version.String())
	if w.target.RefuseOtherItem {
		c.Values[":src"] = dynamo.S(string(m.Source))
	}
	return c
}

// writeInPlace puts rows and tombstones in place.
func (w *rowWriter) writeInPlace(ctx context.Context, ms []view.Mutation, rs []view.Result) {
	for i := range ms {
		put, err := w.putAction(&ms[i])
		if err == nil {
			err = w.Write(ctx, put)
		}
		unmet, ok := errors.AsType[*dynamo.ConditionError](err)
		if !ok {
			rs[i].Err = err
			continue
		}
		rs[i] = w.refusedResult(unmet.Unmet[0].Item, &ms[i])
	}
}

// putAction returns the put of a row, or of its tombstone in place.
func (w *rowWriter) putAction(m *view.Mutation) (dynamo.Action, error) {
	return rowPut(w.target, tableItem(w.target, m, m.Version.String(), w.Expiry().Unix()), w.condition(m))
}

// refusedResult returns the result of a mutation that the stored item refused.
func (w *rowWriter) refusedResult(image dynamo.Item, m *view.Mutation) view.Result {
	stored, ok := metaOf(image)
	version := m.Version.String()
	switch {
	case !ok || !stored.belongsTo(w.target):
		row, err := state.MakeRow(m.PK, m.SK)
		return view.Result{Err: cmp.Or(err, notOwned(w.target, row, stored))}
	case w.target.RefuseOtherItem && stored.source != string(m.Source) && (image[expiresAttribute] == nil || !m.Tombstone && stored.version >= version):
		if m.Tombstone {
			return view.Result{Superseded: true}
		}
		return view.Result{Err: collision(w.target, stored.source, m)}
	case stored.version < version: // the stored row has changed since the refusal
		return view.Result{Err: errChanged}
	}
	return view.Result{Superseded: stored.version != version}
}

// collision returns the error of a mutation whose row another item has, or had in a newer version.
func collision(t view.Target, of string, m *view.Mutation) error {
	return &view.CollisionError{View: t.View, Owner: item.Key(of), Source: m.Source, NotIdentified: true}
}

// errChanged is the error if a row changed between a refused write and the next one.
var errChanged = pipeline.Transient(errs.New("dynamodb: the row changed meanwhile"))

// belongsTo reports whether the row belongs to the target.
func (m rowMeta) belongsTo(t view.Target) bool { return m.sameSink(t) && m.birth == t.Birth }

// sameSink reports whether the row belongs to the target's sink, with any birth.
func (m rowMeta) sameSink(t view.Target) bool { return m.view == t.View && m.pipeline == t.Pipeline }

// notOwned returns the error of a row that does not belong to the target: it belongs to another sink, or to another
// birth of the same sink, which is fatal.
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

// outage counts transient errors without a success in between. At maxConsecutive the rest of a call is not tried,
// because each request would wait for its timeout.
type outage struct {
	consecutive atomic.Int32
	last        atomic.Pointer[error]
}

const maxConsecutive = 32

func (o *outage) add(err error) {
	if err == nil {
		o.consecutive.Store(0)
		return
	}
	if !state.IsPermanent(err) {
		o.last.Store(&err)
		if o.consecutive.Add(1); pipeline.IsFatal(err) {
			o.consecutive.Add(maxConsecutive)
		}
	}
}

// stopErr returns the error of the rest of the call; nil if the call continues.
func (o *outage) stopErr() error {
	if o.consecutive.Load() < maxConsecutive {
		return nil
	}
	return *o.last.Load()
}
