package dynamo

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"sync/atomic"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/view"
)

// onlyOver lets a row be written where nothing is, and over a lower version of the same
// view, or over a void of the same version (overVoid), unless it is void itself. An item
// without a mark meets neither half.
const (
	onlyOver = "attribute_not_exists(#pk) OR (" + owned + " AND #tw.#v < :v)"
	overVoid = "attribute_not_exists(#pk) OR (" + owned + " AND (#tw.#v < :v OR (#tw.#v = :v AND attribute_exists(#tw.#void))))"
)

// Apply puts each row, or its tombstone, in one conditional write of its own, as many
// at once as the DB may have in flight; where tombstones are apart see apart.go. A row that
// belongs to another view, to the same view of another pipeline, or to no sink at all, and
// one that no item can hold, is a permanent error of its mutation. Where DynamoDB doesn't
// answer, what was not sent yet fails with the same transient error.
func (s *Store) Apply(ctx context.Context, t view.Target, ms []view.Mutation) ([]view.Result, error) {
	if len(ms) == 0 {
		return nil, nil
	}
	if err := s.beforeWrite(ctx, t, noWitness); err != nil {
		return nil, err
	}
	if t.InPlace {
		return applyWith(ctx, s.views, ms, newWriter(s.Reader.views, t).write)
	}
	return applyWith(ctx, s.DB, ms, newWriter(s.DB, t).writeApart)
}

// applyWith writes mutations, those that belong together in one call of write.
func applyWith(ctx context.Context, db *dynamo.DB, ms []view.Mutation, write func(context.Context, []view.Mutation, []view.Result)) ([]view.Result, error) {
	rs := make([]view.Result, len(ms))
	starts := joined(ms)
	return writeParts(db, rs, len(starts)-1, func(i int, down *outage) {
		from, to := starts[i], starts[i+1]
		if err := down.error(); err != nil {
			for r := from; r < to; r++ {
				rs[r].Err = err
			}
			return
		}
		write(ctx, ms[from:to], rs[from:to])
		down.note(rs[from].Err)
	})
}

// writeParts calls write for each of the n parts of a call, as many at once as the DB may have in flight, and returns
// rs, which they set. The first fatal error is that of the call.
func writeParts(db *dynamo.DB, rs []view.Result, n int, write func(i int, down *outage)) ([]view.Result, error) {
	var down outage
	db.Each(n, func(i int) { write(i, &down) })
	for i := range rs {
		if pipeline.IsFatal(rs[i].Err) {
			return nil, rs[i].Err
		}
	}
	return rs, nil
}

// joined is where each of the mutations that belong together begins, and the end of all.
func joined(ms []view.Mutation) []int {
	starts := make([]int, 0, len(ms)+1)
	for i := range ms {
		if !ms[i].Joined || i == 0 || len(starts) > 0 && i-starts[len(starts)-1] > 1 {
			starts = append(starts, i)
		}
	}
	return append(starts, len(ms))
}

// writer is what the mutations of a call have in common: conditions, which need the version of a mutation. DynamoDB
// refuses a name that is in no condition.
type writer struct {
	*dynamo.DB
	target       view.Target
	older, voids dynamo.Condition // onlyOver, overVoid
	stored       dynamo.Condition // storedOlder
}

func newWriter(db *dynamo.DB, t view.Target) *writer {
	return &writer{
		DB:     db,
		target: t,
		older:  ownedBy(t, onlyOver, "#pk", t.PK, "#v", markVersion),
		voids:  ownedBy(t, overVoid, "#pk", t.PK, "#v", markVersion, "#void", markVoid),
		stored: ownedBy(t, storedOlder, "#v", markVersion),
	}
}

// over is the condition on the row of a mutation that may be missing.
func (w *writer) over(m *view.Mutation) dynamo.Condition {
	c := w.voids
	if m.Void {
		c = w.older
	}
	c.Values = maps.Clone(c.Values)
	c.Values[":v"] = dynamo.S(m.Version.String())
	return c
}

// write puts rows and tombstones in place.
func (w *writer) write(ctx context.Context, ms []view.Mutation, rs []view.Result) {
	for i := range ms {
		put, err := w.put(&ms[i])
		if err == nil {
			err = w.Write(ctx, put)
		}
		unmet, ok := errors.AsType[*dynamo.ConditionError](err)
		if !ok {
			rs[i].Err = err
			continue
		}
		rs[i] = w.refused(unmet.Unmet[0].Item, &ms[i])
	}
}

// put puts a row, or its tombstone in place, over what is older. The error is of a row that no
// item can hold.
func (w *writer) put(m *view.Mutation) (dynamo.Action, error) {
	row := tableItem(w.target, m, m.Version.String(), w.Expiry().Unix())
	if err := checkKey(w.target.Table, row); err != nil {
		return dynamo.Action{}, err
	}
	if n := dynamo.SizeOfItem(row); n > dynamo.MaxItem {
		return dynamo.Action{}, dynamo.TooLarge("the row", n)
	}
	return dynamo.Put(w.target.Name, row, w.over(m)), nil
}

// refused is what became of a write that the row which is there refused.
func (w *writer) refused(item dynamo.Item, m *view.Mutation) view.Result {
	have, ok := markOf(item)
	version := m.Version.String()
	switch {
	case !ok || !have.of(w.target):
		row, err := state.MakeRow(m.PK, m.SK)
		return view.Result{Err: cmp.Or(err, refused(w.target, row, have))}
	case have.version < version: // it was another row when the write was refused
		return view.Result{Err: errChanged}
	}
	return view.Result{Superseded: have.version != version}
}

var errChanged = pipeline.Transient(errs.New("dynamodb: the row changed meanwhile"))

// of tells whether a row is the target's.
func (m mark) of(t view.Target) bool { return m.ofSink(t) && m.birth == t.Birth }

// ofSink tells whether a row is of the target's sink, under whatever birth.
func (m mark) ofSink(t view.Target) bool { return m.view == t.View && m.pipeline == t.Pipeline }

// refused is the error of a row that is not the target's to write: it belongs to another sink, or
// to the same one as another state knew it, which is fatal.
func refused(t view.Target, row state.Row, have mark) error {
	if have.ofSink(t) {
		return state.BirthMismatch(t.View, "a row of table "+t.Name, have.birth, t.Birth)
	}
	return foreign(t, row, have)
}

// foreign is the error of a row that belongs to another sink.
func foreign(t view.Target, row state.Row, have mark) *view.ForeignRowError {
	return &view.ForeignRowError{Target: t, Row: row, View: have.view, Pipeline: have.pipeline}
}

// outage counts transient errors without a success between them. At so many the rest
// of a call is not tried: each request would wait for its timeout.
type outage struct {
	row  atomic.Int32
	last atomic.Pointer[error]
}

const enough = 32

func (o *outage) note(err error) {
	if err == nil {
		o.row.Store(0)
		return
	}
	if !state.IsPermanent(err) {
		o.last.Store(&err)
		if o.row.Add(1); pipeline.IsFatal(err) {
			o.row.Add(enough)
		}
	}
}

// error is what the rest of the call fails with; nil where it is tried.
func (o *outage) error() error {
	if o.row.Load() < enough {
		return nil
	}
	return *o.last.Load()
}
