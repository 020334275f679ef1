package dynamo

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/view"
)

// onlyOver lets a row be written where nothing is, and over a lower version of the same
// view, or over a void of the same version (overVoid), unless it is void itself. An item
// without a mark meets neither half.
const (
	onlyOver = "attribute_not_exists(#pk) OR (#tw.#view = :view AND #tw.#by = :by AND #tw.#v < :v)"
	overVoid = "attribute_not_exists(#pk) OR (#tw.#view = :view AND #tw.#by = :by AND (#tw.#v < :v OR (#tw.#v = :v AND attribute_exists(#tw.#void))))"
)

// Apply puts each row, or its tombstone, in one conditional write of its own, as many
// at once as the DB may have in flight. A row that belongs to another view, to the same
// view of another pipeline, or to no sink at all, and one that no item can hold, is a
// permanent error of its mutation. Where DynamoDB doesn't answer, what was not sent yet
// fails with the same transient error.
func (s *Store) Apply(ctx context.Context, t view.Target, ms []view.Mutation) ([]view.Result, error) {
	if len(ms) == 0 {
		return nil, nil
	}
	if err := s.Touch(ctx, targetOf(t)); err != nil {
		return nil, err
	}
	rs := make([]view.Result, len(ms))
	w := writer{
		Store:  s,
		target: t,
		names: map[string]string{
			"#pk": t.PK, "#tw": markAttribute, "#view": markView, "#by": markPipeline, "#v": markVersion, "#void": markVoid,
		},
		view: str(t.View),
		by:   str(t.Pipeline),
	}
	var outage outage
	s.Each(len(ms), func(i int) {
		if err := outage.error(); err != nil {
			rs[i].Err = err
			return
		}
		rs[i] = w.write(ctx, &ms[i])
		outage.note(rs[i].Err)
	})
	for i := range rs {
		if pipeline.IsFatal(rs[i].Err) {
			return nil, rs[i].Err
		}
	}
	return rs, nil
}

// writer is what the mutations of a call have in common.
type writer struct {
	*Store
	target   view.Target
	names    map[string]string
	view, by *types.AttributeValueMemberS
}

func (w *writer) write(ctx context.Context, m *view.Mutation) view.Result {
	version := m.Version.String()
	row := item(w.target, m, version, w.Expiry().Unix())
	if err := checkKey(w.target.Table, row); err != nil {
		return view.Result{Err: err}
	}
	if n := sizeOfItem(row); n > maxItem {
		return view.Result{Err: tooLarge("the row", n)}
	}
	condition, names := overVoid, w.names
	if m.Void { // an expression names what it uses, and nothing else
		condition, names = onlyOver, maps.Clone(names)
		delete(names, "#void")
	}
	err := w.Write(ctx, dynamo.Action{Put: &types.Put{
		TableName:                &w.target.Name,
		Item:                     row,
		ConditionExpression:      &condition,
		ExpressionAttributeNames: names,
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":view": w.view, ":by": w.by, ":v": str(version),
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}})
	unmet, ok := errors.AsType[*dynamo.ConditionError](err)
	if !ok {
		return view.Result{Err: err}
	}
	have, ok := markOf(unmet.Unmet[0].Item)
	switch {
	case !ok || have.view != w.target.View || have.pipeline != w.target.Pipeline:
		row, err := state.MakeRow(m.PK, m.SK)
		return view.Result{Err: cmp.Or(err, error(foreign(w.target, row, have)))}
	case have.version < version: // it was another row when the write was refused
		return view.Result{Err: pipeline.Transient(errors.New("dynamodb: the row changed meanwhile"))}
	}
	return view.Result{Superseded: have.version != version}
}

// foreign is the error of a row that is not the target's to write.
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
	if _, again := pipeline.Retryable(err); again || pipeline.IsFatal(err) {
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
