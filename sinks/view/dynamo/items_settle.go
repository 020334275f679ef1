package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/view"
)

// Settle writes those of ws together that build on each other, as far as they fit into
// one transaction, and those that have neither an item nor a row in common at the same
// time. Where a transaction of several is refused, they are written one by one, so that
// each is lost or fails by itself.
func (s *Store) Settle(ctx context.Context, t view.Target, ws []state.ItemWrite) ([]view.Result, error) {
	if len(ws) == 0 {
		return nil, nil
	}
	if err := s.beforeWrite(ctx, t, entering(ws)); err != nil {
		return nil, err
	}
	rs := make([]view.Result, len(ws))
	groups := together(ws)
	return writeParts(s.DB, rs, len(groups), func(i int, down *outage) { s.settle(ctx, t, ws, groups[i], rs, down) })
}

// settle writes those of ws that group names, in order, unless it is known by now that
// DynamoDB does not answer.
func (s *Store) settle(ctx context.Context, t view.Target, ws []state.ItemWrite, group []int, rs []view.Result, outage *outage) {
	for len(group) > 0 {
		m := s.NewMergedWrite(t.State())
		n := 0
		for n < len(group) && m.Add(&ws[group[n]]) {
			n++
		}
		r := view.Result{Err: outage.error()}
		switch {
		case r.Err != nil:
			n = len(group)
		case n == 0:
			n, r.Err = 1, errs.Errorf("dynamodb: an item of the view %s has more to write than the %d actions of a transaction", redact.Safe(t.View), dynamo.MaxActions)
		default:
			r = s.commit(ctx, t, m)
			outage.note(r.Err)
		}
		alone := n > 1 && (r.Lost || state.IsPermanent(r.Err))
		for _, i := range group[:n] {
			rs[i] = r
			if alone {
				one := s.NewMergedWrite(t.State())
				one.Add(&ws[i])
				rs[i] = s.commit(ctx, t, one)
			}
		}
		group = group[n:]
	}
}

// commit writes what was merged.
func (s *Store) commit(ctx context.Context, t view.Target, m *dynamo.MergedWrite) view.Result {
	actions, on, err := transactionOf(t, m)
	if err != nil {
		return view.Result{Err: err}
	}
	err = s.Transact(ctx, actions)
	unmet, ok := errors.AsType[*dynamo.ConditionError](err)
	if !ok {
		if e, ok := errors.AsType[*dynamo.Error](err); ok && e.Action >= 0 && errors.Is(e, dynamo.ErrTooLarge) {
			err = pipeline.Permanent(fmt.Errorf("%s of the view %s: %w", on[e.Action], t.View, err))
		}
		return view.Result{Err: err}
	}
	rows := m.Rows()
	first := len(actions) - len(rows) // of the actions on rows
	for _, u := range unmet.Unmet {
		// Of a row that nobody claimed, reading again shows whose it is.
		if u.Action < first || !rows[u.Action-first].Claimed() {
			return view.Result{Lost: true}
		}
	}
	u := unmet.Unmet[0]
	have, _ := markOf(u.Item)
	return view.Result{Err: refused(t, rows[u.Action-first].Row, have)}
}

// together are the indexes of ws in groups, in order: what is in different ones has
// neither an item nor a row in common.
func together(ws []state.ItemWrite) [][]int {
	group := make([]int, len(ws)) // each points at an earlier one of its group, or at itself
	find := func(i int) int {
		for group[i] != i {
			group[i] = group[group[i]]
			i = group[i]
		}
		return i
	}
	last := make(map[string]int, 2*len(ws))
	for i := range ws {
		group[i] = i
		join := func(key string) {
			if before, ok := last[key]; ok {
				a, b := find(before), find(i)
				group[max(a, b)] = min(a, b)
			}
			last[key] = i
		}
		join("item " + string(ws[i].Source))
		for _, sw := range ws[i].Rows {
			join("row " + string(sw.Row))
		}
	}
	at := make(map[int]int) // in groups
	var groups [][]int
	for i := range ws {
		root := find(i)
		if _, ok := at[root]; !ok {
			at[root] = len(groups)
			groups = append(groups, nil)
		}
		groups[at[root]] = append(groups[at[root]], i)
	}
	return groups
}
